// SPDX-License-Identifier: Apache-2.0
#include "cluster/program.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

typedef struct weir__cluster_buffer {
  weir__mpi_table table;
  uint32_t owner;
  uint64_t known[]; // ranks that have used it: a bit for each
} weir__cluster_buffer;

#define MOST (UINT32_MAX - 1) // of a list that grows

// Makes room for one more in an array that grows.
static void *room(weir__cluster_program *program, void *array, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return array;
  uint64_t larger = *capacity == 0 ? 64 : 2 * (uint64_t)*capacity;
  void *grown = larger < MOST ? realloc(array, (size_t)larger * size) : NULL;
  if (grown == NULL) {
    program->failed = true;
    return array;
  }
  *capacity = (uint32_t)larger;
  return grown;
}

bool weir__cluster_program_create(weir__cluster_program *program, uint32_t ranks) {
  *program = (weir__cluster_program){.rank_count = ranks, .ranks = calloc(ranks, sizeof *program->ranks)};
  for (uint32_t i = 0; i < ranks && program->ranks != NULL; i++)
    program->ranks[i].first = program->ranks[i].last = WEIR__CLUSTER_NONE;
  program->failed = program->ranks == NULL;
  return !program->failed;
}

void weir__cluster_program_free(weir__cluster_program *program) {
  for (uint32_t i = 0; i < program->buffer_count; i++) weir__cluster_program_release(program, i);
  free(program->buffers);
  free(program->buffer_bytes);
  free(program->ranks);
  free(program->ops);
  free(program->accesses);
  free(program->messages);
  free(program->known.slots);
  *program = (weir__cluster_program){0};
}

static weir__cluster_buffer *create_buffer(uint64_t bytes, uint32_t owner, uint32_t ranks) {
  size_t words = (ranks + 63) / 64;
  weir__cluster_buffer *buffer = calloc(1, sizeof *buffer + words * sizeof *buffer->known);
  if (buffer == NULL) return NULL;
  buffer->owner = owner;
  if (weir__mpi_table_create(&buffer->table, bytes, ranks)) return buffer;
  free(buffer);
  return NULL;
}

uint32_t weir__cluster_program_buffer(weir__cluster_program *program, uint64_t bytes, uint32_t owner) {
  if (program->buffer_count == program->buffer_capacity) {
    uint32_t both = program->buffer_capacity;
    program->buffers = room(program, program->buffers, program->buffer_count, &both, sizeof *program->buffers);
    program->buffer_bytes = room(program, program->buffer_bytes, program->buffer_count, &program->buffer_capacity,
                                 sizeof *program->buffer_bytes);
  }
  weir__cluster_buffer *buffer = program->failed ? NULL : create_buffer(bytes, owner, program->rank_count);
  if (buffer == NULL) {
    program->failed = true;
    return 0;
  }
  program->buffers[program->buffer_count] = buffer;
  program->buffer_bytes[program->buffer_count] = bytes;
  return program->buffer_count++;
}

void weir__cluster_program_release(weir__cluster_program *program, uint32_t index) {
  if (index >= program->buffer_count || program->buffers[index] == NULL) return;
  weir__mpi_table_release(&program->buffers[index]->table);
  free(program->buffers[index]);
  program->buffers[index] = NULL;
}

// Whether it is the first time that a rank uses a buffer.
static bool meets(weir__cluster_buffer *buffer, uint32_t rank) {
  uint64_t *word = &buffer->known[rank / 64], bit = UINT64_C(1) << (rank % 64);
  bool is_new = (*word & bit) == 0;
  *word |= bit;
  return is_new;
}

// Adds an op of a rank, and counts the calls since the one before. `seen`: tasks of the sequence that the rank has passed
// before it submits the op; `known`: the one in which it has a part by this op, from 1, or 0.
static weir__cluster_op *add_op(weir__cluster_program *program, weir__cluster_kind kind, uint32_t rank, uint64_t seen,
                                uint64_t known) {
  program->ops = room(program, program->ops, program->op_count, &program->op_capacity, sizeof *program->ops);
  bool is_new = false;
  if (known != 0 && !weir__cluster_pairs_add(&program->known, rank, known, &is_new)) program->failed = true;
  if (program->failed) return NULL;
  weir__cluster_rank_ops *own = &program->ranks[rank];
  uint32_t index = program->op_count++;
  weir__cluster_op *op = &program->ops[index];
  *op = (weir__cluster_op){.kind = kind,
                           .rank = rank,
                           .next = WEIR__CLUSTER_NONE,
                           .message = WEIR__CLUSTER_NONE,
                           .accesses = program->access_count,
                           .passed = (uint32_t)(seen - own->passed),
                           .buffers = (uint32_t)(program->buffer_count - own->buffers),
                           .known_passed = is_new};
  own->passed = seen;
  own->buffers = program->buffer_count;
  if (own->last == WEIR__CLUSTER_NONE)
    own->first = index;
  else
    program->ops[own->last].next = index;
  own->last = index;
  own->count++;
  return op;
}

static void add_access(weir__cluster_program *program, weir__cluster_op *op, weir__plan_access access) {
  program->accesses =
      room(program, program->accesses, program->access_count, &program->access_capacity, sizeof *program->accesses);
  if (program->failed) return;
  program->accesses[program->access_count++] = access;
  op->access_count++;
  op->known_buffers += meets(program->buffers[access.buffer], op->rank);
}

// One half of a message, whose number is that of the next one.
static void add_half(weir__cluster_program *program, weir__cluster_kind kind, uint32_t rank, uint64_t seen,
                     uint64_t known, weir__plan_access access) {
  weir__cluster_op *op = add_op(program, kind, rank, seen, known);
  if (op == NULL) return;
  op->message = program->message_count;
  add_access(program, op, access);
}

static void carry(weir__cluster_program *program, uint32_t buffer, const weir__mpi_segment *missing, uint32_t to) {
  weir__plan_access access = {
      .mode = WEIR_READ, .buffer = buffer, .offset = missing->first, .bytes = missing->end - missing->first};
  uint64_t call = program->tasks; // the task is not counted yet
  add_half(program, WEIR__CLUSTER_SEND, missing->writer, call + 1, call + 1, access);
  access.mode = WEIR_WRITE;
  add_half(program, WEIR__CLUSTER_RECEIVE, to, call, missing->version, access);
  program->messages =
      room(program, program->messages, program->message_count, &program->message_capacity, sizeof *program->messages);
  if (program->failed) return;
  program->messages[program->message_count++] = (weir__cluster_message){
      .from = missing->writer, .to = to, .receive = program->op_count - 1, .bytes = access.bytes};
  program->bytes_sent += access.bytes;
}

static void supply(weir__cluster_program *program, const weir__plan_access *access, uint32_t rank) {
  weir__mpi_table *table = &program->buffers[access->buffer]->table;
  uint64_t offset = access->offset, end = access->offset + access->bytes;
  weir__mpi_segment missing;
  while (!program->failed && offset < end &&
         weir__mpi_table_missing(table, offset, end, rank, &missing) != UINT32_MAX) {
    carry(program, access->buffer, &missing, rank);
    weir__mpi_table_add_holder(table, missing.first, missing.end, rank);
    offset = missing.end;
  }
}

static uint32_t find_rank(const weir__cluster_program *program, const weir__plan_access *accesses, uint32_t count) {
  const weir__plan_access *chosen = NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (chosen == NULL || (chosen->mode == WEIR_READ && accesses[i].mode != WEIR_READ)) chosen = &accesses[i];
    if (chosen->mode != WEIR_READ) break;
  }
  return chosen == NULL ? 0 : program->buffers[chosen->buffer]->owner;
}

static void reserve(weir__cluster_program *program, const weir__plan_access *accesses, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir__mpi_table *table = &program->buffers[accesses[i].buffer]->table;
    uint64_t end = accesses[i].offset + accesses[i].bytes;
    if (!weir__mpi_table_is_whole(table, accesses[i].offset, end) && !weir__mpi_table_reserve(table, 2 * count))
      program->failed = true;
  }
}

void weir__cluster_program_task(weir__cluster_program *program, const weir__plan_access *accesses, uint32_t count,
                                double ns, bool host_wait) {
  if (!program->failed) reserve(program, accesses, count);
  if (program->failed) return;
  uint32_t rank = find_rank(program, accesses, count);
  for (uint32_t i = 0; i < count; i++) {
    if (accesses[i].mode != WEIR_WRITE) supply(program, &accesses[i], rank);
  }
  weir__cluster_op *op = program->failed ? NULL : add_op(program, WEIR__CLUSTER_TASK, rank, program->tasks, 0);
  if (op == NULL) return;
  op->ns = ns;
  op->host_wait = host_wait;
  for (uint32_t i = 0; i < count; i++) add_access(program, op, accesses[i]);
  program->tasks++;
  program->ranks[rank].passed++; // it is no task of another rank
  for (uint32_t i = 0; i < count && !program->failed; i++) {
    uint64_t end = accesses[i].offset + accesses[i].bytes;
    if (accesses[i].mode != WEIR_READ)
      weir__mpi_table_write(&program->buffers[accesses[i].buffer]->table, accesses[i].offset, end, rank,
                            program->tasks);
  }
}

bool weir__cluster_program_end(weir__cluster_program *program) {
  for (uint32_t i = 0; i < program->buffer_count; i++) weir__cluster_program_release(program, i);
  for (uint32_t i = 0; i < program->rank_count && program->ranks != NULL; i++) {
    program->ranks[i].passed = program->tasks - program->ranks[i].passed;
    program->ranks[i].buffers = program->buffer_count - program->ranks[i].buffers;
  }
  return !program->failed;
}
