// SPDX-License-Identifier: Apache-2.0
//
// Recorded streams: what a program issued, in program order, as a file of one JSON object a line.
// examples/streams/README.md describes the format; this header says what the reader makes of it.
//
// What the reader refuses, besides text that is not the format: numbers that are negative, not whole or too large,
// ids used twice, buffers of no bytes, addresses that wrap or that overlap those of a buffer not yet freed, ranges that
// leave their buffer, use of a buffer that is unknown or freed, keys given twice, a header whose counts are not those
// of the file. Unknown fields are ignored. Blank lines are skipped. So a file that is cut short is refused as soon as
// it has lost a task or part of a line; one that has lost only whole lines after the last task still loads.
#ifndef WEIR_STREAM_STREAM_H
#define WEIR_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/weir.h"

// Limits of the reader. None of them is near what a recorder writes; they bound what a hostile file can cost.
#define WEIR__STREAM_MAX_LINE (1u << 20)     // bytes in a line
#define WEIR__STREAM_MAX_EVENTS (1u << 26)   // buffers, and tasks, in a stream
#define WEIR__STREAM_MAX_BLOCKS (1ull << 40) // blocks in a launch
#define WEIR__STREAM_MAX_THREADS 1024u       // threads in a block
#define WEIR__STREAM_MAX_REGISTERS 1024u     // per thread
#define WEIR__STREAM_MAX_SHARED (1u << 30)   // bytes of shared memory per block
#define WEIR__STREAM_MAX_US 1e9              // microseconds in a kernel
#define WEIR__STREAM_MAX_SMS 65536u

// A storage of the program, in the order in which the stream shows them.
typedef struct weir__stream_buffer {
  uint64_t id;      // as in the file
  uint64_t bytes;   // at least 1
  uint64_t address; // where the recorded allocator put it
  uint32_t line;    // of the file
  bool freed;       // the program drops it later in the stream
  bool accessed;    // some task reads or writes at least a byte of it
  bool parameter;   // an input that outlives a pass: the first task that touches it reads it, and it is never freed.
                    // A replay of several passes makes parameters once; all other buffers are new in each pass
                    // (--storage fresh) or made once as well (--storage kept)
} weir__stream_buffer;

// A byte range as the file has it. Ranges of no bytes are allowed and mean nothing.
typedef struct weir__stream_range {
  uint32_t buffer; // index in weir__stream.buffers
  uint64_t offset, bytes;
} weir__stream_range;

// An access in normal form, see weir__stream_task.accesses.
typedef struct weir__stream_access {
  weir_mode mode; // READ, WRITE, READ_WRITE or COMMUTE
  uint32_t buffer;
  uint64_t offset, bytes;
} weir__stream_access;

// One launch, or one copy or memset, on the recorded device.
typedef struct weir__stream_kernel {
  char *name;
  uint32_t grid[3], block[3]; // blocks, threads; all 0 for a copy
  uint32_t registers;         // per thread
  uint32_t shared_bytes;      // per block
  double us;                  // measured
  uint64_t copy_bytes;        // not 0: a copy or memset of this many bytes
} weir__stream_kernel;

typedef struct weir__stream_task {
  char *op;
  uint64_t number; // as the file has it; else tasks count from 1. No two tasks have the same
  uint32_t line;
  weir__stream_range *reads, *writes, *commutes; // as in the file
  uint32_t read_count, write_count, commute_count;
  // What the task accesses, each byte once: pairwise disjoint, none empty, as long as possible, sorted by buffer (its
  // index) and then offset. A byte in `reads` and `writes` is READ_WRITE, one only in `writes` is WRITE, one only in
  // `reads` is READ. One in `commutes` is COMMUTE, or, if it is in another list, too, READ_WRITE. At most WEIR_MAX_ARGS. A replay passes them to weir_submit in this order, and timelines have them in this
  // order.
  weir__stream_access *accesses;
  uint32_t access_count;
  weir__stream_kernel *kernels; // run one after another; may be none
  uint32_t kernel_count;
  bool host_wait; // the program read the result back before it issued the next task
} weir__stream_task;

typedef enum weir__stream_event_kind {
  WEIR__STREAM_BUFFER = 0, // buffers[index] is seen for the first time
  WEIR__STREAM_FREE = 1,   // freed[index], ..., freed[index + count - 1] are dropped
  WEIR__STREAM_TASK = 2,   // tasks[index] is issued
} weir__stream_event_kind;

// What happened, in program order.
typedef struct weir__stream_event {
  weir__stream_event_kind kind;
  uint32_t index;
  uint32_t count; // FREE: number of buffers; else 1
  uint32_t line;
} weir__stream_event;

typedef struct weir__stream {
  char *name;
  char *source, *device; // NULL: not given
  uint32_t sms;          // of the recorded device
  uint64_t kernel_count; // in all tasks
  double kernel_us;      // these five: negative when not given, or null in the file
  double eager_us, serial_graph_us;
  double critical_us_by_address, critical_us_by_buffer;
  weir__stream_buffer *buffers;
  uint32_t buffer_count;
  weir__stream_task *tasks;
  uint32_t task_count;
  uint32_t *freed; // indices of buffers
  uint32_t freed_count;
  weir__stream_event *events;
  uint32_t event_count;
} weir__stream;

// The index of the task with a number; task_count if there is none.
uint32_t weir__stream_find(const weir__stream *stream, uint64_t number);

// Reads the stream in a file, or in `bytes` bytes of memory (`name` stands for the file in messages).
// On failure *out_stream is NULL and `message` (cut at message_size, always ended) says "FILE:LINE: what is wrong", with
// the task, buffer and byte range where there is one.
// Errors: INVALID_ARGUMENT (the file is not a stream), IO (it cannot be read), OUT_OF_MEMORY (but the JSON parser may call
// a lack of memory a syntax error).
weir_status weir__stream_read(const char *path, char *message, size_t message_size, weir__stream **out_stream);
weir_status weir__stream_read_memory(const char *name, const void *data, size_t bytes, char *message,
                                     size_t message_size, weir__stream **out_stream);

// Writes a stream; reading it back gives the same model (line numbers aside).
// Errors: IO (the message says why), OUT_OF_MEMORY.
weir_status weir__stream_write(const weir__stream *stream, const char *path, char *message, size_t message_size);

// NULL is allowed.
void weir__stream_destroy(weir__stream *stream);

// ---------------------------------------------------------------------------------------------------------------
// What a kernel costs a device that has `sms` multiprocessors

typedef struct weir__stream_cost {
  uint32_t
      blocks_per_sm; // that fit at a time: the least of 2048 / threads (whole warps), 32, 65536 / (registers, rounded
                     // up to 8, times those threads) and 227 KiB / (shared memory + 1 KiB); at least 1
  uint64_t blocks;   // of the launch
  uint64_t capacity; // blocks that the device holds
  uint64_t waves;    // blocks / capacity, rounded up
  double us;         // when it has the device to itself
  double work_us;    // us times the part of the device that it occupies; a copy or memset: 5 % of us
} weir__stream_cost;

// For a copy or memset the four counts are 0.
void weir__stream_kernel_cost(const weir__stream_kernel *kernel, uint32_t sms, weir__stream_cost *out_cost);

// Sum over the kernels of a task: the time one after another, and the work.
double weir__stream_task_us(const weir__stream_task *task);
double weir__stream_task_work_us(const weir__stream_task *task, uint32_t sms);

#endif // WEIR_STREAM_STREAM_H
