// SPDX-License-Identifier: Apache-2.0
//
// One program over the ranks of an MPI job: a library of its own, libweir-mpi, beside libweir.
//
// Every rank runs the same program and submits the same *sequence*: buffers, tasks and the other calls below, in the
// same order with the same arguments. From that sequence each rank computes the same table, of which rank holds which
// bytes of which buffer. So each rank knows by itself which tasks are its own, which bytes it must send, and which it
// will get: ranks do not negotiate. A task runs on one rank. Bytes travel only if a task reads them that its rank
// lacks, once for each version and rank. docs/guide/mpi.md is the guide.
//
// A distributed buffer is a weir_buffer of this rank's context, whose contents are valid where the table says so. It is
// used by the calls of this header; weir_mpi_fetch and weir_mpi_written say how other calls of Weir may use it.
//
// Threads: the calls that make the sequence must be made in the same order on all ranks, so one thread makes them. They
// must not be made in tasks and callbacks. Calls of MPI are made by the calls of this header, by workers of the
// context and by a thread of the library, one at a time.
//
// MPI: the program initialises MPI (MPI_Init_thread) with MPI_THREAD_MULTIPLE, or with MPI_THREAD_SERIALIZED if nothing
// else calls MPI from weir_mpi_create to weir_mpi_release, nor the process takes part in a second job meanwhile: jobs
// do not wait for each other's calls. Messages travel on communicators of the library's own.
//
// Faults: a failed task poisons its outputs, and tasks that read them are skipped, on all ranks. If ranks submit
// different sequences, or a rank is lost, the *job* has failed: receives in flight fail, so that nothing waits any
// more, the calls below return the job's status, and weir_last_error() names the ranks and the task. A receive that MPI
// has matched cannot be cancelled: it fails a fifth of a second later, and its memory is not freed unless it ends.
//
// Errors: as in weir.h. Each call of the sequence can return the job's failure: INVALID_ARGUMENT (ranks submit
// different sequences), DEVICE_LOST (a rank is lost), OUT_OF_MEMORY. An argument that can never be right is refused
// on all ranks, and is then no part of the sequence.
#ifndef WEIR_MPI_H
#define WEIR_MPI_H

#include "weir/reduce.h"
#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A context that takes part in a job. Its members are private.
typedef struct weir_mpi weir_mpi;

// In place of a rank.
enum {
  WEIR_MPI_OWNER = -1, // the owner of the first buffer that the task writes, or of the first one that it reads
  WEIR_MPI_ALL = -2,   // all ranks (weir_mpi_fetch)
};

// Whether MPI is given addresses in the memory of CUDA devices. If it is, a message needs no copies through the host:
// MPI takes contents from the device that has them, and brings them to the device whose task is to read them.
typedef enum weir_mpi_direct {
  // If MPI says that it takes them (MPIX_Query_cuda_support of Open MPI and MPICH), unless the environment variable
  // WEIR_MPI_DIRECT is "never" or "always".
  WEIR_MPI_DIRECT_AUTO = 0,
  WEIR_MPI_DIRECT_NEVER = 1,
  // Also if MPI does not say so, as Open MPI does not where only UCX below it is built for CUDA. If it is wrong, MPI
  // reads and writes addresses that are none.
  WEIR_MPI_DIRECT_ALWAYS = 2,
} weir_mpi_direct;

// Options of weir_mpi_create, the same on all ranks. A member that is 0 has its default.
typedef struct weir_mpi_options {
  // Points to the MPI_Comm whose ranks take part. The library duplicates it. NULL: MPI_COMM_WORLD.
  const void *communicator;
  // Nanoseconds after which a rank is lost: of which nothing was heard for so long, or which does not go on to submit
  // something that another rank waits for, be it a message or a collective. A rank that runs a long task is not lost;
  // one that submits nothing because it computes between two submissions is. WEIR_FOREVER: never. Default: 60 s.
  uint64_t timeout_ns;
  // Most bytes that wait to be sent. At the limit, submissions wait. Receives of 512 KiB and more have as much memory
  // of the host at a time, or 256 MiB if that is less; those behind wait for it, and submissions do not. Default:
  // 1 GiB, and 512 MiB where contents of a CUDA device go through pinned memory of the host.
  uint64_t send_limit;
  // Most bytes of one message of MPI; longer contents travel in pieces. At least 320. Default and upper limit: 1 GiB.
  uint64_t piece_bytes;
  // Submissions after which ranks compare what they submitted, at the latest. Default: 64.
  uint32_t check_every;
  // Contents of at least so many bytes go directly from the memory of a CUDA device and to it, where `direct` lets
  // them. Others go through memory of the host. Default: 512 KiB.
  uint64_t direct_bytes;
  // A weir_mpi_direct. May differ from rank to rank. Default: AUTO.
  uint32_t direct;
} weir_mpi_options;

// Makes a context take part in a job. All ranks of the communicator call it, and wait for each other. The context has a
// CPU device. `options` may be NULL: all defaults.
// Errors: INVALID_ARGUMENT (MPI is not initialised, or without support for threads; WEIR_MPI_DIRECT or `direct` is none
// of its values), UNAVAILABLE (a context without a CPU device; a failure of MPI), OUT_OF_MEMORY.
WEIR_API weir_status weir_mpi_create_sized(weir_context *context, const weir_mpi_options *options, size_t options_size,
                                           weir_mpi **out_mpi);
static inline weir_status weir_mpi_create(weir_context *context_, const weir_mpi_options *options_,
                                          weir_mpi **out_mpi_) {
  return weir_mpi_create_sized(context_, options_, sizeof *options_, out_mpi_);
}

// Finishes as weir_mpi_finish, waits for all ranks to do so, and frees the object. The context and the local buffers
// are left, and are the caller's to release afterwards: weir_context_release is refused with INVALID_ARGUMENT before.
// (Not if the context takes part in several jobs and the first one of them was released.) After a job has failed it
// waits for nobody; MPI_Finalize may then wait for the lost rank, so that the program ends by MPI_Abort. `mpi` may be
// NULL.
// Errors: as weir_mpi_finish. The object is freed in any case.
WEIR_API weir_status weir_mpi_release(weir_mpi *mpi);

// Return the number of this rank, and of all ranks; 0 for NULL.
WEIR_API uint32_t weir_mpi_rank(const weir_mpi *mpi);
WEIR_API uint32_t weir_mpi_size(const weir_mpi *mpi);

// Returns whether MPI is given addresses in the memory of CUDA devices on this rank. `reason`, `reason_bytes` bytes
// long, gets a text that says why or why not; it may be NULL. weir_mpi_statistics counts the messages.
WEIR_API bool weir_mpi_is_direct(const weir_mpi *mpi, char *reason, uint64_t reason_bytes);

// Creates a buffer of `bytes` bytes on every rank, whose storage is allocated where it is used. `owner` is the rank
// that computes it. Its contents are undefined until a task writes them.
// Errors: INVALID_ARGUMENT (0 or UINT64_MAX bytes; no such rank), OUT_OF_MEMORY.
WEIR_API weir_status weir_mpi_buffer_create(weir_mpi *mpi, uint64_t bytes, uint32_t owner, weir_buffer **out_buffer);

// Releases a buffer, at any time. weir_buffer_release refuses such buffers before weir_mpi_release.
// Errors: INVALID_ARGUMENT (no buffer of weir_mpi_buffer_create, or released before).
WEIR_API weir_status weir_mpi_buffer_release(weir_mpi *mpi, weir_buffer *buffer);

// Makes another rank the owner of a buffer, for tasks that are submitted later. Contents travel when a task reads them.
// Errors: INVALID_ARGUMENT (as weir_mpi_buffer_release; no such rank).
WEIR_API weir_status weir_mpi_buffer_move(weir_mpi *mpi, weir_buffer *buffer, uint32_t owner);

// Submits a task to the job. `rank` is the rank that runs it, or WEIR_MPI_OWNER. On that rank the task is submitted
// as by weir_submit, behind what it must receive; other ranks note it, and send what it lacks.
// - All buffers are of weir_mpi_buffer_create. Boxes and modes AUTO are refused. COMMUTE and REDUCE keep their meaning
//   among the tasks of one rank; between ranks they are as READ_WRITE.
// - `kernel`, `host`, `user`, `device`, `after`, `priority` and `group` concern the rank that runs the task, and may be
//   NULL on others. Two ranks that name kernels name the same. `label`, `tag`, `groups` and `args` are the same on all
//   ranks, the contents of values excepted.
// - `*out_event` is an event on the rank that runs the task, and NULL on others. `after` may name such events: entries
//   that are NULL are left out.
// - `destroy` is called on all ranks; where the task does not run, before the call returns.
// A refusal that only the running rank sees is returned there, and counts as a failure of the task: its outputs are
// poisoned. Such are NO_CODE, OUT_OF_MEMORY, and INVALID_ARGUMENT where there is neither kernel nor function, where
// arguments disagree (weir_submit), and where a value has no address or a wrong size.
// Errors: as weir_submit; INVALID_ARGUMENT (no buffers and no rank; another rank than there is).
WEIR_API weir_status weir_mpi_submit_sized(weir_mpi *mpi, const weir_task *task, size_t task_size, int32_t rank,
                                           weir_event **out_event);
static inline weir_status weir_mpi_submit(weir_mpi *mpi_, const weir_task *task_, int32_t rank_,
                                          weir_event **out_event_) {
  return weir_mpi_submit_sized(mpi_, task_, sizeof *task_, rank_, out_event_);
}

// Makes a range valid on a rank, or, with WEIR_MPI_ALL, on all ranks by a binomial tree, so that calls of Weir that
// this header does not know may read it there: weir_read, weir_copy_out, graphs, enqueue functions. It does not wait.
// `bytes` may be WEIR_WHOLE.
// weir_read, weir_copy_out and weir_copy refuse bytes that this rank lacks, with INVALID_ARGUMENT and a text that says
// which bytes, who has them since which call, and that this call is missing. Tasks of weir_submit, graphs and enqueue
// functions are not refused: they read what was here last. Nor is what a rank lacks by a call that it left out
// (weir_mpi_skip), of which it knows nothing.
// Errors: INVALID_ARGUMENT (as weir_mpi_buffer_release; no such rank), OUT_OF_RANGE.
WEIR_API weir_status weir_mpi_fetch(weir_mpi *mpi, weir_buffer *buffer, uint64_t offset, uint64_t bytes, int32_t rank);

// Says that calls of Weir that this header does not know overwrite or update a range on a rank: weir_copy_in,
// weir_fill, graphs. All ranks call it, just before or after the calls themselves, which `rank` alone makes. From
// here on that rank alone holds the bytes. To update bytes, fetch them first. `bytes` may be WEIR_WHOLE.
// Errors: as weir_mpi_fetch; INVALID_ARGUMENT (WEIR_MPI_ALL).
WEIR_API weir_status weir_mpi_written(weir_mpi *mpi, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                      int32_t rank);

// Combines `count` buffers of equal size into the first one, in a binomial tree of tasks: `combine` is submitted with
// two arguments, of which it updates the first and reads the second. Each runs at the owner of the buffer that it
// updates. The order is the same for any number of ranks. The other buffers hold sums of parts afterwards. `args` and
// `arg_count` of `combine` are ignored; `destroy` is refused. With weir_mpi_fetch to all ranks behind it, each rank
// has the result.
// Errors: as weir_mpi_submit; INVALID_ARGUMENT (no buffers, one that is none of weir_mpi_buffer_create, buffers that
// differ in size, `destroy`), which submits nothing.
WEIR_API weir_status weir_mpi_reduce_sized(weir_mpi *mpi, const weir_task *combine, size_t task_size,
                                           weir_buffer *const *parts, uint32_t count);
static inline weir_status weir_mpi_reduce(weir_mpi *mpi_, const weir_task *combine_, weir_buffer *const *parts_,
                                          uint32_t count_) {
  return weir_mpi_reduce_sized(mpi_, combine_, sizeof *combine_, parts_, count_);
}

// Leaves out `count` calls of the sequence that do not concern this rank, so that submission does not grow with the
// number of ranks. Each call of this header that makes the sequence counts 1, weir_mpi_reduce one less than there are
// buffers. Calls may be left out under these conditions; nobody checks them, but a data message that only one side
// expects ends in an error, after the time-out at the latest.
// - They do not run here, and read nothing elsewhere that this rank wrote last.
// - A rank that later uses a byte has submitted the call that last wrote it, and those that fetched it since.
// - weir_mpi_finish, weir_mpi_release and weir_mpi_fetch to all ranks are never left out.
// Errors: those of the job; INVALID_ARGUMENT (more calls than a number of 64 bits counts).
WEIR_API weir_status weir_mpi_skip(weir_mpi *mpi, uint64_t count);

// Waits until all tasks of this rank are done and what it sends is on its way, and until the rank before it has come to
// the same call and is known to have submitted the same sequence. Returns OK, the job's failure, or what weir_finish
// returns: the first task of this rank that failed since the last report.
WEIR_API weir_status weir_mpi_finish(weir_mpi *mpi);

// A communicator of NCCL over ranks, each with a CUDA device: collectives between cards (weir/nccl.h). Its members are
// private.
typedef struct weir_mpi_nccl weir_mpi_nccl;

// Creates a communicator of a CUDA device of each rank. NULL: the first CUDA device of the rank's context. All ranks
// call it, and wait for each other.
// Errors: UNAVAILABLE (a rank has no CUDA device, names one that is none of its context's, or has no NCCL; the text
// names it), on all ranks; others are failures of the job: a rank that is lost or that NCCL refuses, and NCCL that
// waits for a quarter longer than the time-out.
WEIR_API weir_status weir_mpi_nccl_create(weir_mpi *mpi, weir_device *device, weir_mpi_nccl **out_nccl);

// Waits until its collectives are done on this rank, or have failed with the job, then frees it: before
// weir_mpi_release. `nccl` may be NULL.
WEIR_API weir_status weir_mpi_nccl_release(weir_mpi_nccl *nccl);

// Submit a collective to the job. `buffers` has a buffer for each rank, all different, whose range is used on that
// rank: contents come there first if it reads them, and it alone holds what it writes. Else as weir_nccl_all_reduce,
// weir_nccl_reduce and weir_nccl_broadcast, with ranks in place of devices. A collective of which a rank lacks its
// contents fails on all of them. One that fails when others may have begun makes the job fail, and a job that fails
// ends them.
// Errors: as weir_mpi_fetch; INVALID_ARGUMENT (as weir_nccl_all_reduce).
WEIR_API weir_status weir_mpi_nccl_all_reduce(weir_mpi_nccl *nccl, weir_buffer *const *buffers, uint64_t offset,
                                              uint64_t bytes, weir_reduce_operation operation, weir_reduce_type type);
WEIR_API weir_status weir_mpi_nccl_reduce(weir_mpi_nccl *nccl, weir_buffer *const *buffers, uint64_t offset,
                                          uint64_t bytes, weir_reduce_operation operation, weir_reduce_type type,
                                          uint32_t root);
WEIR_API weir_status weir_mpi_nccl_broadcast(weir_mpi_nccl *nccl, weir_buffer *const *buffers, uint64_t offset,
                                             uint64_t bytes, uint32_t root);

// Counts of a rank. Bytes are those of contents.
typedef struct weir_mpi_statistics {
  uint64_t submitted;     // calls of the sequence so far, those left out included
  uint64_t skipped;       // those left out
  uint64_t tasks;         // tasks that this rank runs
  uint64_t messages_sent; // contents that were sent; pieces count as one
  uint64_t bytes_sent;    // bytes of these
  uint64_t messages_received;
  uint64_t bytes_received;
  uint64_t poisoned;         // messages that said in place of contents that these are poisoned, sent and received
  uint64_t control_messages; // other messages sent: comparisons, signs of life
  uint64_t direct_sent;      // messages_sent whose contents MPI took from the memory of a CUDA device
  uint64_t direct_received;  // messages_received whose contents it brought there
} weir_mpi_statistics;

// Reads the counts of a rank. Does not wait. Any thread may call it, in tasks and callbacks too.
WEIR_API weir_status weir_mpi_get_statistics_sized(weir_mpi *mpi, weir_mpi_statistics *out_statistics,
                                                   size_t statistics_size);
static inline weir_status weir_mpi_get_statistics(weir_mpi *mpi_, weir_mpi_statistics *out_statistics_) {
  return weir_mpi_get_statistics_sized(mpi_, out_statistics_, sizeof *out_statistics_);
}

#ifdef __cplusplus
}
#endif
#endif // WEIR_MPI_H
