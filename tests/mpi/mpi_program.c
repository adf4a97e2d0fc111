// SPDX-License-Identifier: Apache-2.0
#include "mpi_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "weir/opencl.h"

enum { ARGS = 3, TEXT = 300 };

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
  weir_device *device;        // runs some of the tasks; NULL: there is none but the CPU
  weir_kernel *kernels[ARGS]; // for it, by number of buffers
  weir_buffer *buffers[MPI_BUFFERS];
  uint32_t bytes[MPI_BUFFERS], owners[MPI_BUFFERS];
  byte model[MPI_BUFFERS][MPI_LARGEST];
  uint64_t received; // bytes that this rank lacked, by the model
  char text[TEXT];
} program;

typedef struct use {
  weir_mode mode;
  uint32_t buffer, offset, bytes;
} use;

// What a task does; a copy goes with it as a value.
typedef struct work_of {
  uint64_t seed;
  uint32_t count, fails;
  use accesses[ARGS];
} work_of;

static uint64_t digest(uint64_t hash, const uint8_t *bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) hash = random_mix(hash + bytes[i] + 1);
  return hash;
}

static void produce(uint64_t hash, uint8_t *bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) bytes[i] = (uint8_t)random_mix(hash + i);
}

// Reads all that is read, then writes all that is written.
static void perform(const work_of *job, uint8_t *const *args) {
  uint64_t hash = job->seed;
  for (uint32_t i = 0; i < job->count; i++) {
    if (job->accesses[i].mode != WEIR_WRITE) hash = digest(hash, args[i], job->accesses[i].bytes);
  }
  for (uint32_t i = 0; i < job->count; i++) {
    if (job->accesses[i].mode != WEIR_READ) produce(hash + i, args[i], job->accesses[i].bytes);
  }
}

static void run_task(const weir_work *work) {
  const work_of *description = work->args[0];
  uint8_t *args[ARGS];
  for (uint32_t i = 0; i < description->count; i++) args[i] = work->args[i + 1];
  if (description->fails)
    weir_work_fail(work, "as it was told");
  else
    perform(description, args);
}

// The same for an OpenCL device.
static const char source[] =
    "typedef struct { int mode; uint buffer, offset, bytes; } use;\n"
    "typedef struct { ulong seed; uint count, fails; use accesses[3]; } work_of;\n"
    "ulong mix(ulong x) {\n"
    "  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;\n"
    "  x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;\n"
    "  return x ^ (x >> 31);\n"
    "}\n"
    "void perform(work_of d, global uchar **args) {\n"
    "  ulong hash = d.seed;\n"
    "  for (uint i = 0; i < d.count; i++)\n"
    "    for (uint k = 0; d.accesses[i].mode != WRITE && k < d.accesses[i].bytes; k++) hash = mix(hash + args[i][k] + "
    "1);\n"
    "  for (uint i = 0; i < d.count; i++)\n"
    "    for (uint k = 0; d.accesses[i].mode != READ && k < d.accesses[i].bytes; k++) args[i][k] = (uchar)mix(hash + i "
    "+ k);\n"
    "}\n"
    "kernel void perform1(work_of d, global uchar *a) { global uchar *args[] = {a}; perform(d, args); }\n"
    "kernel void perform2(work_of d, global uchar *a, global uchar *b) { global uchar *args[] = {a, b}; perform(d, "
    "args); }\n"
    "kernel void perform3(work_of d, global uchar *a, global uchar *b, global uchar *c) {\n"
    "  global uchar *args[] = {a, b, c};\n"
    "  perform(d, args);\n"
    "}\n";

static void note(program *p, const char *what, weir_status status) {
  if (status == WEIR_OK || p->text[0] != '\0') return;
  snprintf(p->text, TEXT, "rank %u: %s: %s, %.200s", p->rank, what, weir_status_name(status), weir_last_error());
}

// A rank gets what it lacks, in the model.
static void model_supply(program *p, const use *access, uint32_t rank) {
  for (uint32_t i = access->offset; i < access->offset + access->bytes; i++) {
    byte *at = &p->model[access->buffer][i];
    if (!at->written || (at->holders >> rank & 1) != 0) continue;
    at->holders |= 1u << rank;
    if (at->poisoned) continue; // the message says so
    p->received += rank == p->rank;
  }
}

static void model_write(program *p, const use *access, uint32_t rank, const uint8_t *values, bool poisoned) {
  for (uint32_t i = 0; i < access->bytes; i++) {
    byte *at = &p->model[access->buffer][access->offset + i];
    *at = (byte){.value = values[i], .poisoned = poisoned, .written = true, .holders = 1u << rank, .writer = rank};
  }
}

static bool model_read(const program *p, const use *access, uint8_t *values) {
  bool poisoned = false;
  for (uint32_t i = 0; i < access->bytes; i++) {
    values[i] = p->model[access->buffer][access->offset + i].value;
    poisoned = poisoned || p->model[access->buffer][access->offset + i].poisoned;
  }
  return poisoned;
}

static void model_task(program *p, const work_of *job, uint32_t rank) {
  uint8_t values[ARGS][MPI_LARGEST], *args[ARGS];
  bool skipped = job->fails != 0;
  for (uint32_t i = 0; i < job->count; i++) {
    args[i] = values[i];
    if (job->accesses[i].mode != WEIR_WRITE) model_supply(p, &job->accesses[i], rank);
    bool poisoned = model_read(p, &job->accesses[i], values[i]);
    if (job->accesses[i].mode != WEIR_WRITE) skipped = skipped || poisoned;
  }
  if (!skipped) perform(job, args);
  for (uint32_t i = 0; i < job->count; i++) {
    if (job->accesses[i].mode != WEIR_READ) model_write(p, &job->accesses[i], rank, values[i], skipped);
  }
}

static use choose_access(program *p) {
  use chosen = {.buffer = random_below(&p->random, MPI_BUFFERS)};
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
static work_of choose_job(program *p) {
  work_of chosen = {.seed = random_next(&p->random)};
  uint32_t wanted = random_between(&p->random, 1, ARGS), used = 0;
  for (uint32_t i = 0; i < wanted; i++) {
    use one = choose_access(p);
    if ((used >> one.buffer & 1) != 0) continue;
    used |= 1u << one.buffer;
    chosen.accesses[chosen.count++] = one;
  }
  chosen.fails = p->failures && random_chance(&p->random, 8);
  return chosen;
}

static uint32_t owner_of(const program *p, const work_of *job) {
  for (uint32_t i = 0; i < job->count; i++) {
    if (job->accesses[i].mode != WEIR_READ) return p->owners[job->accesses[i].buffer];
  }
  return p->owners[job->accesses[0].buffer];
}

static void find_device(program *p) {
  for (uint32_t i = 0; i < weir_context_device_count(p->context); i++) {
    weir_device *device = weir_context_device(p->context, i);
    if (strcmp(weir_device_information(device)->kind, "opencl") == 0) p->device = device;
  }
  char options[64], entry[16];
  snprintf(options, sizeof options, "-DREAD=%d -DWRITE=%d", WEIR_READ, WEIR_WRITE);
  const weir_opencl_code code = {.source = source, .options = options};
  for (uint32_t i = 0; i < ARGS && p->device != NULL; i++) {
    snprintf(entry, sizeof entry, "perform%u", i + 1);
    const weir_opencl_launch launch = {.entry = entry, .groups = {1, 1, 1}};
    note(p, "kernel", weir_kernel_create(p->context, entry, &p->kernels[i]));
    note(p, "code", weir_kernel_set_opencl(p->kernels[i], &code, &launch));
  }
}

static void step_task(program *p) {
  work_of chosen = choose_job(p);
  bool on_device = random_chance(&p->random, 50) && p->device != NULL && !chosen.fails;
  bool named = random_chance(&p->random, 25);
  uint32_t other = random_below(&p->random, p->size), rank = named ? other : owner_of(p, &chosen);
  weir_arg args[ARGS + 1] = {weir_value(&chosen, sizeof chosen)};
  for (uint32_t i = 0; i < chosen.count; i++) {
    const use *one = &chosen.accesses[i];
    args[i + 1] = weir_reads_range(p->buffers[one->buffer], one->offset, one->bytes);
    args[i + 1].mode = one->mode;
  }
  weir_task task = {.host = run_task, .args = args, .arg_count = chosen.count + 1, .label = "step"};
  if (on_device) {
    task.host = NULL;
    task.kernel = p->kernels[chosen.count - 1];
    task.device = p->device;
  }
  note(p, "task", weir_mpi_submit(p->mpi, &task, named ? (int32_t)other : WEIR_MPI_OWNER, NULL));
  model_task(p, &chosen, rank);
}

static void step_fetch(program *p) {
  use one = choose_access(p);
  bool all = random_chance(&p->random, 50);
  uint32_t rank = random_below(&p->random, p->size);
  note(p, "fetch",
       weir_mpi_fetch(p->mpi, p->buffers[one.buffer], one.offset, one.bytes, all ? WEIR_MPI_ALL : (int32_t)rank));
  if (!all) model_supply(p, &one, rank);
  for (uint32_t i = 0; all && i < p->size; i++) model_supply(p, &one, i);
}

static void step_written(program *p) {
  use one = choose_access(p);
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

// Bytes that this rank holds are as in the model.
static void compare_run(program *p, uint32_t buffer, uint32_t offset, uint32_t bytes) {
  const byte *at = &p->model[buffer][offset];
  if (!at->written || (at->holders >> p->rank & 1) == 0 || p->text[0] != '\0') return;
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
  find_device(p);
  weir_mpi_statistics before;
  weir_mpi_get_statistics(mpi, &before);
  for (uint32_t b = 0; b < MPI_BUFFERS; b++) {
    p->bytes[b] = random_between(&p->random, 1, random_chance(&p->random, 30) ? 8 : MPI_LARGEST);
    p->owners[b] = random_below(&p->random, p->size);
    note(p, "create", weir_mpi_buffer_create(mpi, p->bytes[b], p->owners[b], &p->buffers[b]));
    if (p->text[0] != '\0') return p->text;
    // Nobody reads bytes that nobody wrote: they would differ from rank to rank.
    use all = {.mode = WEIR_WRITE, .buffer = b, .bytes = p->bytes[b]};
    work_of fill = {.seed = seed + b, .count = 1, .accesses = {all}};
    const weir_arg args[] = {weir_value(&fill, sizeof fill), weir_writes(p->buffers[b])};
    const weir_task task = {.host = run_task, .args = args, .arg_count = 2, .label = "fill"};
    note(p, "fill", weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL));
    model_task(p, &fill, p->owners[b]);
  }
  for (uint32_t i = 0; i < MPI_STEPS; i++) step(p);
  weir_mpi_finish(mpi);
  weir_finish(context);
  compare(p, &before);
  for (uint32_t b = 0; b < MPI_BUFFERS; b++) note(p, "release", weir_mpi_buffer_release(mpi, p->buffers[b]));
  for (uint32_t i = 0; i < ARGS; i++) note(p, "release", weir_kernel_release(p->kernels[i]));
  return p->text;
}
