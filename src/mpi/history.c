// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool push(weir__mpi_pairs *pairs, weir__mpi_pair pair) {
  if (pairs->first + pairs->count == pairs->capacity) {
    if (pairs->first > pairs->capacity / 2) {
      memmove(pairs->all, pairs->all + pairs->first, pairs->count * sizeof *pairs->all);
      pairs->first = 0;
    } else {
      size_t capacity = pairs->capacity * 2 + 256;
      weir__mpi_pair *grown = realloc(pairs->all, capacity * sizeof *grown);
      if (grown == NULL) return false;
      pairs->all = grown;
      pairs->capacity = capacity;
    }
  }
  pairs->all[pairs->first + pairs->count++] = pair;
  return true;
}

static const weir__mpi_pair *front(const weir__mpi_pairs *pairs) {
  return pairs->count == 0 ? NULL : &pairs->all[pairs->first];
}

static void pop(weir__mpi_pairs *pairs) {
  pairs->first++;
  if (--pairs->count == 0) pairs->first = 0;
}

void weir__mpi_history_release(weir__mpi_history *history) {
  free(history->own.all);
  free(history->other.all);
}

bool weir__mpi_history_add(weir__mpi_history *history, const weir__mpi_call *call) {
  history->own_through = call->number;
  history->recent[call->number % WEIR__MPI_RECENT] = *call;
  return push(&history->own, (weir__mpi_pair){call->number, call->hash, call->code});
}

bool weir__mpi_history_add_other(weir__mpi_history *history, const weir__mpi_pair *pairs, uint32_t count,
                                 uint64_t through) {
  for (uint32_t i = 0; i < count; i++) {
    if (!push(&history->other, pairs[i])) return false;
  }
  history->other_through = through;
  return true;
}

// Ranks that do not run a task may leave out what runs.
static bool differ(const weir__mpi_pair *a, const weir__mpi_pair *b) {
  return a->hash != b->hash || (a->code != 0 && b->code != 0 && a->code != b->code);
}

uint64_t weir__mpi_history_compare(weir__mpi_history *history) {
  for (;;) {
    const weir__mpi_pair *own = front(&history->own), *other = front(&history->other);
    if (own != NULL && other != NULL && own->number == other->number) {
      if (differ(own, other)) return own->number;
      pop(&history->own);
      pop(&history->other);
    } else if (own != NULL && own->number <= history->other_through && (other == NULL || own->number < other->number)) {
      pop(&history->own);
    } else if (other != NULL && other->number <= history->own_through && (own == NULL || other->number < own->number)) {
      pop(&history->other);
    } else {
      return 0;
    }
  }
}

uint64_t weir__mpi_hash(uint64_t hash, uint64_t word) {
  uint64_t x = ((hash ^ word) + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
  return x ^ (x >> 32);
}

uint64_t weir__mpi_hash_text(uint64_t hash, const char *text) {
  size_t length = strlen(text);
  hash = weir__mpi_hash(hash, length);
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, length - i < 8 ? length - i : 8);
    hash = weir__mpi_hash(hash, word);
  }
  return hash;
}

static const weir__mpi_call *recent(const weir__mpi_history *history, uint64_t number) {
  const weir__mpi_call *call = &history->recent[number % WEIR__MPI_RECENT];
  return number != 0 && call->number == number ? call : NULL;
}

bool weir__mpi_history_hash(const weir__mpi_history *history, uint64_t number, uint64_t *out_hash) {
  const weir__mpi_call *call = recent(history, number);
  if (call != NULL) *out_hash = call->hash;
  return call != NULL;
}

static const char *const names[] = {
    "weir_mpi_buffer_create", "weir_mpi_buffer_release", "weir_mpi_buffer_move", "task",
    "weir_mpi_fetch",         "weir_mpi_written",        "a collective of NCCL", "weir_mpi_finish",
    "weir_mpi_release",
};

const char *weir__mpi_kind_name(weir__mpi_kind kind) {
  return names[kind];
}

void weir__mpi_history_describe(const weir__mpi_history *history, uint64_t number, char *out_text, size_t size) {
  const weir__mpi_call *call = recent(history, number);
  if (call == NULL) {
    snprintf(out_text, size, "a call that is not known any more");
    return;
  }
  int at = snprintf(out_text, size, "%s", names[call->kind]);
  char *rest = out_text + at;
  size_t room = size - (size_t)at;
  const char *label = call->label;
  char code[WEIR__MPI_LABEL + 16] = "";
  if (call->kernel[0] != '\0')
    snprintf(code, sizeof code, "kernel '%s', ", call->kernel);
  else if (call->code != 0)
    snprintf(code, sizeof code, "a host function, ");
  if (call->kind == WEIR__MPI_SUBMIT)
    snprintf(rest, room, " '%s' (%s%u arguments, rank %d, buffer %" PRIu64 ", bytes %" PRIu64 " to %" PRIu64 ")", label,
             code, call->args, call->rank, call->buffer, call->offset, call->offset + call->bytes);
  else if (call->kind == WEIR__MPI_BUFFER_CREATE)
    snprintf(rest, room, " (%" PRIu64 " bytes, rank %d)", call->bytes, call->rank);
  else if (call->kind < WEIR__MPI_FINISH)
    snprintf(rest, room, " (buffer %" PRIu64 ", bytes %" PRIu64 " to %" PRIu64 ", rank %d)", call->buffer, call->offset,
             call->offset + call->bytes, call->rank);
}
