// SPDX-License-Identifier: Apache-2.0
//
// The calls of this rank, and their comparison with those of the rank before it. Each call has a number and a hash of
// all that must be the same on all ranks. Numbers that one of the two left out (weir_mpi_skip) are not compared.
#ifndef WEIR_MPI_HISTORY_H
#define WEIR_MPI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weir__mpi_kind {
  WEIR__MPI_BUFFER_CREATE,
  WEIR__MPI_BUFFER_RELEASE,
  WEIR__MPI_BUFFER_MOVE,
  WEIR__MPI_SUBMIT,
  WEIR__MPI_FETCH,
  WEIR__MPI_WRITTEN,
  WEIR__MPI_COLLECTIVE, // of NCCL, on a buffer of each rank
  WEIR__MPI_FINISH,
  WEIR__MPI_END,
} weir__mpi_kind;

enum { WEIR__MPI_LABEL = 48, WEIR__MPI_RECENT = 1024 };

// A call, as messages describe it.
typedef struct weir__mpi_call {
  uint64_t number, hash;
  uint64_t buffer, offset, bytes; // the first one that it writes, or else uses; buffer 0: none
  weir__mpi_kind kind;
  int32_t rank; // that it names
  uint32_t args;
  char label[WEIR__MPI_LABEL];
  uint64_t code; // hash of the kernel's name, or of there being a host function; 0: this rank has neither
  char kernel[WEIR__MPI_LABEL]; // the kernel's name; "" is a host function
} weir__mpi_call;

typedef struct weir__mpi_pair {
  uint64_t number, hash, code;
} weir__mpi_pair;

// Pairs in the order of their numbers, from `first` on.
typedef struct weir__mpi_pairs {
  weir__mpi_pair *all;
  size_t first, count, capacity;
} weir__mpi_pairs;

typedef struct weir__mpi_history {
  weir__mpi_pairs own, other;
  uint64_t own_through, other_through;     // numbers up to these are all in, or left out
  weir__mpi_call recent[WEIR__MPI_RECENT]; // by number modulo their count
} weir__mpi_history;

void weir__mpi_history_release(weir__mpi_history *history);

// Notes a call of this rank, or of the other one. False: no memory.
bool weir__mpi_history_add(weir__mpi_history *history, const weir__mpi_call *call);
bool weir__mpi_history_add_other(weir__mpi_history *history, const weir__mpi_pair *pairs, uint32_t count,
                                 uint64_t through);

// Compares what both have submitted, and forgets it. Returns the number of the first call that differs; 0: none.
uint64_t weir__mpi_history_compare(weir__mpi_history *history);

// Starts, and goes on with, a hash.
uint64_t weir__mpi_hash(uint64_t hash, uint64_t word);
uint64_t weir__mpi_hash_text(uint64_t hash, const char *text);

// Describes the call with a number, as far as it is known.
void weir__mpi_history_describe(const weir__mpi_history *history, uint64_t number, char *out_text, size_t size);

// What messages call a kind: the function's name, mostly.
const char *weir__mpi_kind_name(weir__mpi_kind kind);

// The hash of a recent call; false: it is not known any more, or was left out.
bool weir__mpi_history_hash(const weir__mpi_history *history, uint64_t number, uint64_t *out_hash);

#endif // WEIR_MPI_HISTORY_H
