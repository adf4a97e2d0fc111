// SPDX-License-Identifier: Apache-2.0
#include "mpi_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_devices.h"
#include "random.h"

enum { TEXT = 300 };

// One byte of a buffer in the serial model: its value, whether it is poisoned, which ranks hold it.
typedef struct byte {
  uint8_t value;
  bool poisoned, written;
  uint32_t holders, writer;
} byte;

typedef struct program {
  weir_context *context;
  weir_mpi *mpi;
  random_state random;
  uint32_t size, rank;
  bool failures;
  mpi_devices devices; // run some of the tasks
  weir_buffer *buffers[MPI_BUFFERS];
  uint32_t bytes[MPI_BUFFERS], owners[MPI_BUFFERS];
  byte model[MPI_BUFFERS][MPI_LARGEST];
  uint64_t received; // bytes that this rank lacked, by the model
  char text[TEXT];
} program;

static void note(program *p, const char *what, weir_status status) {
  if (status == WEIR_OK || p->text[0] != '\0') return;
  snprintf(p->text, TEXT, "rank %u: %s: %s, %.200s", p->rank, what, weir_status_name(status), weir_last_error());
}

// A rank gets what it lacks, in the model.
static void model_supply(program *p, const mpi_use *access, uint32_t rank) {
  for (uint32_t i = access->offset; i < access->offset + access->bytes; i++) {
    byte *at = &p->model[access->buffer][i];
    if (!at->written || (at->holders >> rank & 1) != 0) continue;
    at->holders |= 1u << rank;
    if (at->poisoned) continue; // the message says so
    p->received += rank == p->rank;
  }
}

static void model_write(program *p, const mpi_use *access, uint32_t rank, const uint8_t *values, bool poisoned) {
  for (uint32_t i = 0; i < access->bytes; i++) {
    byte *at = &p->model[access->buffer][access->offset + i];
    *at = (byte){.value = values[i], .poisoned = poisoned, .written = true, .holders = 1u << rank, .writer = rank};
  }
}

static bool model_read(const program *p, const mpi_use *access, uint8_t *values) {
  bool poisoned = false;
  for (uint32_t i = 0; i < access->bytes; i++) {
    values[i] = p->model[access->buffer][access->offset + i].value;
    poisoned = poisoned || p->model[access->buffer][access->offset + i].poisoned;
  }
  return poisoned;
}

static void model_task(program *p, const mpi_work *job, uint32_t rank) {
  uint8_t values[MPI_ARGS][MPI_LARGEST], *args[MPI_ARGS];
  bool skipped = job->fails != 0;
  for (uint32_t i = 0; i < job->count; i++) {
    args[i] = values[i];
    if (job->accesses[i].mode != WEIR_WRITE) model_supply(p, &job->accesses[i], rank);
    bool poisoned = model_read(p, &job->accesses[i], values[i]);
    if (job->accesses[i].mode != WEIR_WRITE) skipped = skipped || poisoned;
  }
  if (!skipped) mpi_work_perform(job, args);
  for (uint32_t i = 0; i < job->count; i++) {
    if (job->accesses[i].mode != WEIR_READ) model_write(p, &job->accesses[i], rank, values[i], skipped);
  }
}

static mpi_use choose_access(program *p) {
  mpi_use chosen = {.buffer = random_below(&p->random, MPI_BUFFERS)};
  uint32_t size = p->bytes[chosen.buffer];
  chosen.mode = (weir_mode)random_between(&p->random, WEIR_READ, WEIR_READ_WRITE);
  if (random_chance(&p->random, 50)) {
    chosen.bytes = size;
  } else {
    chosen.offset = random_below(&p->random, size);
    chosen.bytes = random_between(&p->random, 1, size - chosen.offset);
  }
  return chosen;
}

// Accesses of one task are to different buffers, so that they agree.
static mpi_work choose_job(program *p) {
  mpi_work chosen = {.seed = random_next(&p->random)};
  uint32_t wanted = random_between(&p->random, 1, MPI_ARGS), used = 0;
  for (uint32_t i = 0; i < wanted; i++) {
    mpi_use one = choose_access(p);
    if ((used >> one.buffer & 1) != 0) continue;
    used |= 1u << one.buffer;
    chosen.accesses[chosen.count++] = one;
  }
  chosen.fails = p->failures && random_chance(&p->random, 8);
  return chosen;
}

static uint32_t owner_of(const program *p, const mpi_work *job) {
  for (uint32_t i = 0; i < job->count; i++) {
    if (job->accesses[i].mode != WEIR_READ) return p->owners[job->accesses[i].buffer];
  }
  return p->owners[job->accesses[0].buffer];
}

// A kernel of one of this rank's devices, or a function. Other ranks need not know which: they may have other devices.
static void choose_code(program *p, const mpi_work *chosen, uint32_t rank, uint32_t choice, weir_task *task) {
  if (rank != p->rank) return;
  uint32_t device = p->devices.count == 0 ? UINT32_MAX : choice % (2 * p->devices.count);
  if (chosen->fails || device >= p->devices.count) {
    task->host = mpi_work_function;
    return;
  }
  task->kernel = mpi_devices_kernel(&p->devices, chosen);
  task->device = p->devices.devices[device];
}

static void step_task(program *p) {
  mpi_work chosen = choose_job(p);
  uint32_t choice = random_below(&p->random, 1 << 16);
  bool named = random_chance(&p->random, 25);
  uint32_t other = random_below(&p->random, p->size), rank = named ? other : owner_of(p, &chosen);
  weir_arg args[MPI_ARGS + 1] = {weir_value(&chosen, sizeof chosen)};
  for (uint32_t i = 0; i < chosen.count; i++) {
    const mpi_use *one = &chosen.accesses[i];
    args[i + 1] = weir_reads_range(p->buffers[one->buffer], one->offset, one->bytes);
    args[i + 1].mode = one->mode;
  }
  weir_task task = {.args = args, .arg_count = chosen.count + 1, .label = "step"};
  choose_code(p, &chosen, rank, choice, &task);
  note(p, "task", weir_mpi_submit(p->mpi, &task, named ? (int32_t)other : WEIR_MPI_OWNER, NULL));
  model_task(p, &chosen, rank);
}

static void step_fetch(program *p) {
  mpi_use one = choose_access(p);
  bool all = random_chance(&p->random, 50);
  uint32_t rank = random_below(&p->random, p->size);
  note(p, "fetch",
       weir_mpi_fetch(p->mpi, p->buffers[one.buffer], one.offset, one.bytes, all ? WEIR_MPI_ALL : (int32_t)rank));
  if (!all) model_supply(p, &one, rank);
  for (uint32_t i = 0; all && i < p->size; i++) model_supply(p, &one, i);
}

static void step_written(program *p) {
  mpi_use one = choose_access(p);
  uint32_t rank = random_below(&p->random, p->size), pattern = random_below(&p->random, 256);
  uint8_t values[MPI_LARGEST];
  memset(values, (int)pattern, sizeof values);
  note(p, "written", weir_mpi_written(p->mpi, p->buffers[one.buffer], one.offset, one.bytes, (int32_t)rank));
  if (rank == p->rank) {
    weir_event *event;
    note(p, "copy in", weir_copy_in(p->buffers[one.buffer], one.offset, one.bytes, values, &event));
    weir_event_wait(event, WEIR_FOREVER);
    weir_event_release(event);
  }
  model_write(p, &one, rank, values, false);
}

static void step_move(program *p) {
  uint32_t buffer = random_below(&p->random, MPI_BUFFERS);
  p->owners[buffer] = random_below(&p->random, p->size);
  note(p, "move", weir_mpi_buffer_move(p->mpi, p->buffers[buffer], p->owners[buffer]));
}

static void step(program *p) {
  uint32_t choice = random_below(&p->random, 100);
  if (choice < 80)
    step_task(p);
  else if (choice < 87)
    step_fetch(p);
  else if (choice < 92)
    step_written(p);
  else if (choice < 98)
    step_move(p);
  else
    weir_mpi_finish(p->mpi); // reports tasks that failed as they were told
}

static bool is_alike(const program *p, const byte *a, const byte *b) {
  return a->written == b->written && a->poisoned == b->poisoned && ((a->holders ^ b->holders) >> p->rank & 1) == 0;
}

// Bytes that this rank lacks are not read.
static void compare_lacking(program *p, uint32_t buffer, uint32_t offset, uint32_t bytes) {
  uint8_t values[MPI_LARGEST];
  char expected[64];
  snprintf(expected, sizeof expected, "read: rank %u lacks bytes %u to ", p->rank, offset);
  weir_status status = weir_read(p->buffers[buffer], offset, bytes, values);
  if (status != WEIR_ERROR_INVALID_ARGUMENT || strncmp(weir_last_error(), expected, strlen(expected)) != 0)
    snprintf(p->text, TEXT, "rank %u: byte %u of buffer %u, which it lacks: %s: %.100s", p->rank, offset, buffer,
             weir_status_name(status), status == WEIR_OK ? "" : weir_last_error());
}

// Bytes that this rank holds are as in the model.
static void compare_run(program *p, uint32_t buffer, uint32_t offset, uint32_t bytes) {
  const byte *at = &p->model[buffer][offset];
  if (!at->written || p->text[0] != '\0') return;
  if ((at->holders >> p->rank & 1) == 0) {
    compare_lacking(p, buffer, offset, bytes);
    return;
  }
  uint8_t values[MPI_LARGEST] = {0};
  weir_status status = weir_read(p->buffers[buffer], offset, bytes, values);
  uint32_t i = 0;
  while (!at->poisoned && status == WEIR_OK && i < bytes && values[i] == at[i].value) i++;
  if (at->poisoned ? status == WEIR_OK : i < bytes)
    snprintf(p->text, TEXT, "rank %u: byte %u of buffer %u: %s, %u instead of %u%s: %.100s", p->rank, offset + i,
             buffer, weir_status_name(status), values[i], at[i].value, at->poisoned ? ", poisoned" : "",
             status == WEIR_OK ? "" : weir_last_error());
}

// Runs of bytes that are alike, but the poisoned ones one by one: each of them must be.
static void compare_buffer(program *p, uint32_t buffer) {
  const byte *all = p->model[buffer];
  for (uint32_t i = 0, end; i < p->bytes[buffer]; i = end) {
    for (end = i + 1; end < p->bytes[buffer] && !all[i].poisoned && is_alike(p, &all[i], &all[end]);) end++;
    compare_run(p, buffer, i, end - i);
  }
}

static void compare(program *p, const weir_mpi_statistics *before) {
  for (uint32_t b = 0; b < MPI_BUFFERS; b++) compare_buffer(p, b);
  weir_mpi_statistics now;
  weir_mpi_get_statistics(p->mpi, &now);
  uint64_t received = now.bytes_received - before->bytes_received;
  if (p->text[0] == '\0' && received != p->received)
    snprintf(p->text, TEXT, "rank %u received %llu bytes, and lacked %llu", p->rank, (unsigned long long)received,
             (unsigned long long)p->received);
}

const char *mpi_program_run(weir_context *context, weir_mpi *mpi, uint64_t seed, bool failures) {
  static _Thread_local program state;
  program *p = &state;
  memset(p, 0, sizeof *p);
  *p = (program){.context = context, .mpi = mpi, .random = {seed}, .failures = failures};
  p->size = weir_mpi_size(mpi);
  p->rank = weir_mpi_rank(mpi);
  note(p, "devices", mpi_devices_open(context, &p->devices));
  weir_mpi_statistics before;
  weir_mpi_get_statistics(mpi, &before);
  for (uint32_t b = 0; b < MPI_BUFFERS; b++) {
    p->bytes[b] = random_between(&p->random, 1, random_chance(&p->random, 30) ? 8 : MPI_LARGEST);
    p->owners[b] = random_below(&p->random, p->size);
    note(p, "create", weir_mpi_buffer_create(mpi, p->bytes[b], p->owners[b], &p->buffers[b]));
    if (p->text[0] != '\0') return p->text;
    // Nobody reads bytes that nobody wrote: they would differ from rank to rank.
    mpi_use all = {.mode = WEIR_WRITE, .buffer = b, .bytes = p->bytes[b]};
    mpi_work fill = {.seed = seed + b, .count = 1, .accesses = {all}};
    const weir_arg args[] = {weir_value(&fill, sizeof fill), weir_writes(p->buffers[b])};
    const weir_task task = {.host = mpi_work_function, .args = args, .arg_count = 2, .label = "fill"};
    note(p, "fill", weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL));
    model_task(p, &fill, p->owners[b]);
  }
  for (uint32_t i = 0; i < MPI_STEPS; i++) step(p);
  weir_mpi_finish(mpi);
  weir_finish(context);
  compare(p, &before);
  for (uint32_t b = 0; b < MPI_BUFFERS; b++) note(p, "release", weir_mpi_buffer_release(mpi, p->buffers[b]));
  note(p, "release", mpi_devices_close(&p->devices));
  if (mpi_devices_violations() > 0 && p->text[0] == '\0') snprintf(p->text, TEXT, "the stub driver was used wrongly");
  return p->text;
}
