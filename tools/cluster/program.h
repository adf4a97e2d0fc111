// SPDX-License-Identifier: Apache-2.0
//
// One program over ranks, as libweir-mpi would run it: what each rank submits to its own context. The sequence is given as
// it is to weir_mpi_*: buffers that are created and released, and tasks. Who sends which bytes to whom is found by the
// library's own table (src/mpi/table.h).
#ifndef WEIR_TOOLS_CLUSTER_PROGRAM_H
#define WEIR_TOOLS_CLUSTER_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/pairs.h"
#include "plan/hazards.h"

#define WEIR__CLUSTER_NONE UINT32_MAX

typedef enum weir__cluster_kind {
  WEIR__CLUSTER_TASK,
  WEIR__CLUSTER_SEND,    // copies contents and sends them
  WEIR__CLUSTER_RECEIVE, // takes contents that have come
} weir__cluster_kind;

// Something that a rank submits to its own context.
typedef struct weir__cluster_op {
  weir__cluster_kind kind;
  bool host_wait; // the program of the rank goes on when it is done
  uint32_t rank;
  uint32_t next;     // op of the same rank, or NONE
  uint32_t message;  // of a send or receive
  double ns;         // TASK: its time
  uint32_t accesses; // of memory of this rank, from here on in the program's list,
  uint32_t access_count;
  // Calls that the rank makes between the op before and this one: tasks of other ranks and buffers; of a rank that leaves
  // out calls, those in which it has a part.
  uint32_t passed, buffers, known_passed, known_buffers;
} weir__cluster_op;

typedef struct weir__cluster_message {
  uint32_t from, to; // ranks
  uint32_t receive;  // op
  uint64_t bytes;    // of the contents
} weir__cluster_message;

typedef struct weir__cluster_rank_ops {
  uint32_t first, last, count; // ops
  uint64_t passed, buffers;    // calls so far that are counted in ops; at the end, those behind the last op
} weir__cluster_rank_ops;

struct weir__cluster_buffer;

typedef struct weir__cluster_program {
  uint32_t rank_count;
  weir__cluster_rank_ops *ranks;
  weir__cluster_op *ops; // in the order of the sequence; at a task, receives before it and sends before these
  uint32_t op_count, op_capacity;
  weir__plan_access *accesses;
  uint32_t access_count, access_capacity;
  weir__cluster_message *messages;
  uint32_t message_count, message_capacity;
  struct weir__cluster_buffer **buffers; // NULL: released
  uint64_t *buffer_bytes;
  uint32_t buffer_count, buffer_capacity;
  weir__cluster_pairs known;  // ranks with the tasks of others in which they have a part
  uint64_t tasks, bytes_sent; // so far
  bool failed;                // no memory, or more ops than there can be
} weir__cluster_program;

// False: no memory. In any case the program is to be freed.
bool weir__cluster_program_create(weir__cluster_program *program, uint32_t ranks);
void weir__cluster_program_free(weir__cluster_program *program);

// The calls of the sequence. Ranges lie within their buffers, and those of a task are disjoint. A failure is kept in
// `failed`. weir__cluster_program_buffer returns the number of the buffer. A task without accesses is rank 0's.
uint32_t weir__cluster_program_buffer(weir__cluster_program *program, uint64_t bytes, uint32_t owner);
void weir__cluster_program_release(weir__cluster_program *program, uint32_t buffer);
void weir__cluster_program_task(weir__cluster_program *program, const weir__plan_access *accesses, uint32_t count,
                                double ns, bool host_wait);

// Releases the buffers and counts what is behind the last ops. Returns whether nothing failed.
bool weir__cluster_program_end(weir__cluster_program *program);

#endif // WEIR_TOOLS_CLUSTER_PROGRAM_H
