// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ways_kernels.kernels.h"

enum { BUFFERS = 6, HOSTS = 5, SCRIBBLED = 0x5a, MOST_LINES = 8, PAUSE_NS = 100000 };

// ---------------------------------------------------------------------------------------------------------------
// The job

static job_step steps[RIG_STEPS];
static weir_kernel_code codes[RIG_KERNELS];

const weir_kernel_code *rig_code(const char *name) {
  const weir_kernel_code *const all[RIG_KERNELS] = {&ways_scale, &ways_mix, &ways_join, &ways_bump, &ways_fold};
  for (int i = 0; i < RIG_KERNELS; i++)
    if (strcmp(all[i]->name, name) == 0) return all[i];
  return NULL;
}

static const weir_kernel_code *code_with(const weir_kernel_code *code, const char *source) {
  for (int i = 0; i < RIG_KERNELS; i++) {
    if (codes[i].name && strcmp(codes[i].name, code->name) != 0) continue;
    codes[i] = *code;
    if (source) codes[i].source = source;
    return &codes[i];
  }
  return NULL;
}

static void add_buffer(job_step *step, uint32_t buffer, weir_mode mode) {
  step->args[step->arg_count++] = (job_arg){.buffer = buffer, .mode = mode};
}

static void add_value(job_step *step, int32_t value) {
  job_arg *arg = &step->args[step->arg_count++];
  *arg = (job_arg){.is_value = true, .mode = WEIR_VALUE, .bytes = sizeof value};
  memcpy(arg->value, &value, sizeof value);
}

// A launch that reads `first` and `second` (or not: BUFFERS) and writes `out`.
static job_step launch(const weir_kernel_code *code, const char *source, uint32_t first, uint32_t second,
                       uint32_t out) {
  job_step step = {.kind = JOB_KERNEL, .code = code_with(code, source)};
  step.groups[0] = code == &ways_fold ? 1 : (RIG_COUNT + 63) / 64;
  add_buffer(&step, first, WEIR_READ);
  if (second < BUFFERS) add_buffer(&step, second, WEIR_READ);
  add_buffer(&step, out, WEIR_WRITE);
  return step;
}

static job_step scale(const char *source, uint32_t in, uint32_t out, int32_t factor) {
  job_step step = launch(&ways_scale, source, in, BUFFERS, out);
  add_value(&step, factor);
  add_value(&step, RIG_COUNT);
  return step;
}

static job_step with_count(job_step step) {
  add_value(&step, RIG_COUNT);
  return step;
}

const job_shape *rig_shape(const char *source) {
  static job_shape shape;
  memset(codes, 0, sizeof codes);
  job_step bump = {.kind = JOB_KERNEL, .code = code_with(&ways_bump, source), .groups = {(RIG_COUNT + 63) / 64}};
  add_buffer(&bump, 2, WEIR_READ_WRITE);
  add_buffer(&bump, 4, WEIR_READ);
  const job_step all[RIG_STEPS] = {
      {.kind = JOB_COPY_IN, .host = 0, .buffer = 0},
      {.kind = JOB_COPY_IN, .host = 1, .buffer = 1},
      scale(source, 0, 2, 3),
      with_count(launch(&ways_mix, source, 0, 1, 3)),
      with_count(launch(&ways_join, source, 2, 3, 4)),
      with_count(bump),
      scale(source, 4, 3, 5),
      with_count(launch(&ways_fold, source, 2, 3, 5)),
      {.kind = JOB_COPY_OUT, .host = 2, .buffer = 2},
      {.kind = JOB_COPY_OUT, .host = 3, .buffer = 5},
      scale(source, 3, 0, 2),
      {.kind = JOB_COPY_OUT, .host = 4, .buffer = 0},
  };
  memcpy(steps, all, sizeof all);
  const uint64_t array = RIG_COUNT * sizeof(int32_t), table = RIG_TABLE * sizeof(int32_t);
  shape = (job_shape){.name = "rig",
                      .buffer_count = BUFFERS,
                      .host_count = HOSTS,
                      .step_count = RIG_STEPS,
                      .buffer_bytes = {array, table, array, array, array, table},
                      .host_bytes = {array, table, array, table, array},
                      .steps = steps};
  return &shape;
}

static void fill_inputs(uint64_t token, int32_t *array, int32_t *table) {
  for (int32_t i = 0; i < RIG_COUNT; i++) array[i] = (int32_t)((token * 131 + (uint64_t)i * 17) % 5003);
  for (int32_t i = 0; i < RIG_TABLE; i++) table[i] = (int32_t)((token * 7 + (uint64_t)i * 3) % 127);
}

typedef struct results {
  int32_t array[RIG_COUNT], sums[RIG_TABLE], scaled[RIG_COUNT];
} results;

static void compute(uint64_t token, results *out) {
  int32_t in[RIG_COUNT], table[RIG_TABLE], a[RIG_COUNT], b[RIG_COUNT], joined[RIG_COUNT];
  fill_inputs(token, in, table);
  for (int32_t i = 0; i < RIG_COUNT; i++) a[i] = (in[i] * 3 + i) % 9973;
  for (int32_t i = 0; i < RIG_COUNT; i++) b[i] = in[i] ^ table[i * 7 % 16];
  for (int32_t i = 0; i < RIG_COUNT; i++) joined[i] = a[i] - b[(i + 100) % RIG_COUNT];
  for (int32_t i = 0; i < RIG_COUNT; i++) b[i] = (joined[i] * 5 + i) % 9973;
  memset(out->sums, 0, sizeof out->sums);
  for (int32_t i = 0; i < RIG_COUNT; i++) {
    out->array[i] = a[i] + joined[RIG_COUNT - 1 - i];
    out->sums[i % 16] += out->array[i] - b[i];
    out->scaled[i] = (b[i] * 2 + i) % 9973;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The feed. What it finds wrong it keeps for the test's thread.

typedef struct feed {
  rig_manner manner;
  uint32_t lines;
  void *inputs[MOST_LINES][HOSTS];
  _Atomic uint64_t next, done;
  _Atomic bool in_next, in_done;
  _Atomic bool wrong;
  char what[160];
} feed;

static void complain(feed *f, const char *what, uint64_t token) {
  if (!atomic_exchange(&f->wrong, true)) snprintf(f->what, sizeof f->what, "token %u: %s", (unsigned)token, what);
}

static void pause_ns(long ns) {
  nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void *const *next(void *user, uint64_t token) {
  feed *f = user;
  if (atomic_exchange(&f->in_next, true)) complain(f, "next is called by two threads at once", token);
  if (token != atomic_load(&f->next)) complain(f, "next is called out of order", token);
  if (token - atomic_load(&f->done) >= f->lines) complain(f, "more jobs are in flight than there are lines", token);
  if (f->manner == RIG_PAUSES && token % 4 == 1) pause_ns(PAUSE_NS);
  while (f->manner == RIG_WAITS && atomic_load(&f->done) < token && !atomic_load(&f->wrong)) pause_ns(PAUSE_NS / 10);
  void **inputs = f->inputs[token % f->lines];
  fill_inputs(token, inputs[0], inputs[1]);
  atomic_store(&f->next, token + 1);
  atomic_store(&f->in_next, false);
  return inputs;
}

// After it, the inputs are no longer there.
static void done(void *user, uint64_t token, void *const *hosts) {
  feed *f = user;
  if (atomic_exchange(&f->in_done, true)) complain(f, "done is called by two threads at once", token);
  if (token != atomic_load(&f->done)) complain(f, "done is called out of order", token);
  if (token >= atomic_load(&f->next)) complain(f, "done before it began", token);
  if (f->manner == RIG_PAUSES && token % 4 == 2) pause_ns(PAUSE_NS);
  results right;
  compute(token, &right);
  if (hosts[0] || hosts[1]) complain(f, "done gets inputs", token);
  if (memcmp(hosts[2], right.array, sizeof right.array) != 0) complain(f, "the array is wrong", token);
  if (memcmp(hosts[3], right.sums, sizeof right.sums) != 0) complain(f, "the sums are wrong", token);
  if (memcmp(hosts[4], right.scaled, sizeof right.scaled) != 0) complain(f, "the scaled array is wrong", token);
  void **inputs = f->inputs[token % f->lines];
  memset(inputs[0], SCRIBBLED, RIG_COUNT * sizeof(int32_t));
  memset(inputs[1], SCRIBBLED, RIG_TABLE * sizeof(int32_t));
  atomic_store(&f->done, token + 1);
  atomic_store(&f->in_done, false);
}

static void *allocate(const rig_memory *memory, size_t bytes) {
  void *made = memory ? memory->allocate(bytes) : malloc(bytes);
  assert_non_null(made);
  return made;
}

static void release(const rig_memory *memory, void *made) {
  if (memory)
    memory->release(made);
  else
    free(made);
}

// ---------------------------------------------------------------------------------------------------------------

bool rig_stream(const job_way *way, void *state, const job_options *options, uint64_t count, rig_manner manner,
                const rig_memory *memory, char why[JOB_WHY]) {
  feed *f = calloc(1, sizeof *f);
  assert_non_null(f);
  assert_true(options->lines <= MOST_LINES);
  f->manner = manner;
  f->lines = options->lines;
  for (uint32_t i = 0; i < f->lines; i++) {
    f->inputs[i][0] = allocate(memory, RIG_COUNT * sizeof(int32_t));
    f->inputs[i][1] = allocate(memory, RIG_TABLE * sizeof(int32_t));
  }
  const job_feed calls = {next, done, f};
  bool good = way->run(state, count, &calls, why);
  if (good && atomic_load(&f->done) != count) complain(f, "the stream ended before it", atomic_load(&f->done));
  for (uint32_t i = 0; i < f->lines; i++) {
    release(memory, f->inputs[i][0]);
    release(memory, f->inputs[i][1]);
  }
  if (f->wrong) fail_msg("%s, %u lines, %u workers: %s", way->name, options->lines, options->workers, f->what);
  free(f);
  return good;
}

static void run_streams(const job_way *way, const job_options *options, const char *source, const rig_memory *memory) {
  static const uint64_t counts[] = {0, 1, 2, 25, 3};
  char why[JOB_WHY] = "";
  void *state = way->open(rig_shape(source), options, why);
  if (!state) fail_msg("%s: %s", way->name, why);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    if (!rig_stream(way, state, options, counts[i], RIG_PROMPT, memory, why)) fail_msg("%s: %s", way->name, why);
  if (!rig_stream(way, state, options, 12, RIG_PAUSES, memory, why)) fail_msg("%s: %s", way->name, why);
  if (!rig_stream(way, state, options, 6, RIG_WAITS, memory, why)) fail_msg("%s: %s", way->name, why);
  way->close(state);
}

void rig_run(const job_way *way, const char *device, const char *source, const rig_memory *memory) {
#ifdef WEIR_SMALL_TESTS
  static const uint32_t lines[] = {1, 3}, workers[] = {3};
#else
  static const uint32_t lines[] = {1, 3, 8}, workers[] = {1, 3};
#endif
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    for (size_t j = 0; j < sizeof workers / sizeof workers[0]; j++)
      run_streams(way, &(job_options){.device = device, .lines = lines[i], .workers = workers[j]}, source, memory);
}

void rig_refused(const job_way *way, const char *device, const char *source, const char *reason) {
  char why[JOB_WHY] = "";
  void *state = way->open(rig_shape(source), &(job_options){.device = device, .lines = 2, .workers = 2}, why);
  if (state) {
    way->close(state);
    fail_msg("%s opens '%s'", way->name, device);
  }
  if (!strstr(why, reason)) fail_msg("%s: '%s' is not in '%s'", way->name, reason, why);
}
