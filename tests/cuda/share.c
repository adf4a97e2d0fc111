// SPDX-License-Identifier: Apache-2.0
#include "share.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "part.h"

static const char IMAGE[] = "STUB\nset 256 8 4 4\nstep 256 8 4 4\nheld 256 8 4 4\nbroken 256 8 4 4\nsum 256 8 8 8 4\n";
static atomic_bool open_now;
uint64_t share_card_bytes;
bool share_no_peers;
bool share_unseeded;

// ---------------------------------------------------------------------------------------------------------------
// Kernels

static uint32_t word_at(const void *parameter) {
  uint32_t word;
  memcpy(&word, parameter, sizeof word);
  return word;
}

static uint32_t *numbers_of(const stub_launch *launch, uint32_t index, uint32_t count) {
  uint64_t pointer;
  memcpy(&pointer, launch->params[index], sizeof pointer);
  return stub_memory(launch, pointer, count * sizeof(uint32_t));
}

static void set_numbers(uint32_t *numbers, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; numbers != NULL && i < count; i++) numbers[i] = value + i;
}

static void step_numbers(uint32_t *numbers, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; numbers != NULL && i < count; i++) numbers[i] = stepped(numbers[i], value);
}

static void add_numbers(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count) {
  for (uint32_t i = 0; out != NULL && a != NULL && b != NULL && i < count; i++) out[i] = a[i] + b[i];
}

static void cuda_set(const stub_launch *launch) {
  uint32_t count = word_at(launch->params[1]);
  set_numbers(numbers_of(launch, 0, count), count, word_at(launch->params[2]));
}

static void cuda_step(const stub_launch *launch) {
  uint32_t count = word_at(launch->params[1]);
  step_numbers(numbers_of(launch, 0, count), count, word_at(launch->params[2]));
}

static void cuda_held(const stub_launch *launch) {
  time_t give_up = time(NULL) + 60;
  while (!atomic_load(&open_now)) {
    sched_yield();
    if (time(NULL) < give_up) continue;
    fprintf(stderr, "nobody called share_open\n");
    abort();
  }
  cuda_step(launch);
}

static void cuda_sum(const stub_launch *launch) {
  uint32_t count = word_at(launch->params[3]);
  add_numbers(numbers_of(launch, 0, count), numbers_of(launch, 1, count), numbers_of(launch, 2, count), count);
}

static void cuda_broken(const stub_launch *launch) {
  stub_fault(launch, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void cpu_set(const weir_work *work) {
  set_numbers(work->args[0], word_at(work->args[1]), word_at(work->args[2]));
}

static void cpu_step(const weir_work *work) {
  step_numbers(work->args[0], word_at(work->args[1]), word_at(work->args[2]));
}

static void cpu_sum(const weir_work *work) {
  add_numbers(work->args[0], work->args[1], work->args[2], word_at(work->args[3]));
}

static void cpu_broken(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

void share_open(void) {
  atomic_store(&open_now, true);
}

// ---------------------------------------------------------------------------------------------------------------
// Fixture

void share_ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

void share_good(CUresult result) {
  assert_int_equal(result, CUDA_SUCCESS);
}

void share_refused(weir_status status, weir_status wanted, const char *text) {
  assert_string_equal(weir_status_name(status), weir_status_name(wanted));
  if (strstr(weir_last_error(), text) == NULL) fail_msg("no '%s' in '%s'", text, weir_last_error());
}

static weir_kernel *make_kernel(const share *s, const char *name, weir_function cpu) {
  weir_kernel *kernel;
  share_ok(weir_kernel_create(s->context, name, &kernel));
  if (cpu != NULL) share_ok(weir_kernel_set_cpu(kernel, cpu));
  share_ok(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.image = IMAGE}, &(weir_cuda_launch){.function = name}, 1));
  return kernel;
}

static void find_devices(share *s) {
  for (uint32_t i = 0; i < weir_context_device_count(s->context); i++) {
    weir_device *device = weir_context_device(s->context, i);
    if (strcmp(weir_device_information(device)->kind, "cpu") == 0)
      s->cpu = device;
    else if (s->cuda == NULL)
      s->cuda = device;
    else
      s->second = device;
  }
}

static void make_own(share *s) {
  char reason[256];
  s->driver = weir__cuda_driver_load(reason, sizeof reason);
  if (s->driver == NULL) fail_msg("%s", reason);
  share_good(s->driver->cuDevicePrimaryCtxRetain(&s->primary, 0));
  share_good(s->driver->cuCtxSetCurrent(s->primary));
  share_good(s->driver->cuModuleLoadDataEx(&s->module, IMAGE, 0, NULL, NULL));
  share_good(s->driver->cuModuleGetFunction(&s->own_step, s->module, "step"));
  share_good(s->driver->cuModuleGetFunction(&s->own_held, s->module, "held"));
  share_good(s->driver->cuStreamCreateWithPriority(&s->stream, CU_STREAM_NON_BLOCKING, 0));
}

static void drop_own(share *s) {
  // In a context that is lost these fail, and free all the same.
  s->driver->cuStreamDestroy(s->stream);
  s->driver->cuModuleUnload(s->module);
  s->driver->cuCtxSetCurrent(NULL);
  s->driver->cuDevicePrimaryCtxRelease(0);
}

static void run_once(const weir_context_options *options, uint64_t seed, void (*test)(share *s)) {
  share s = {0};
  assert_true(stub_configure(&(stub_options){
      .devices = 2, .memory = share_card_bytes, .no_peers = share_no_peers, .seed = seed, .executors = 4}));
  atomic_store(&open_now, false);
  share_ok(weir_context_create(options, &s.context));
  s.issue = options->issue;
  find_devices(&s);
  make_own(&s);
  s.set = make_kernel(&s, "set", cpu_set);
  s.step = make_kernel(&s, "step", cpu_step);
  s.sum = make_kernel(&s, "sum", cpu_sum);
  s.held = make_kernel(&s, "held", NULL);
  s.broken = make_kernel(&s, "broken", cpu_broken);
  test(&s);
  weir_context_release(s.context);
  drop_own(&s);
  if (stub_violations() != 0) fail_msg("%s", stub_violation_text());
  assert_int_equal(stub_live_count(), 0);
}

void share_run_with(const weir_context_options *options, void (*test)(share *s)) {
#ifdef WEIR_SMALL_TESTS
  enum { SEEDS = 1 };
#else
  enum { SEEDS = 4 };
#endif
  static const weir_issue WAYS[] = {WEIR_ISSUE_AUTO, WEIR_ISSUE_QUEUES, WEIR_ISSUE_GRAPHS};
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t first = text != NULL ? strtoull(text, NULL, 0) : 1;
  bool resident = options->issue == WEIR_ISSUE_RESIDENT;
  bool automatic = (options->flags & WEIR_CONTEXT_REPEATS) != 0; // where a way is chosen nothing is recognised
  uint32_t ways = resident || automatic ? 1 : sizeof WAYS / sizeof WAYS[0];
  static uint32_t runs; // each with another way, where a run of the suite takes one
  test_part part = part_next(ways, runs++);
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_CACHE", "", 1);
  stub_register("set", cuda_set);
  stub_register("step", cuda_step);
  stub_register("held", cuda_held);
  stub_register("sum", cuda_sum);
  stub_register("broken", cuda_broken);
  for (uint64_t seed = first; seed < first + SEEDS; seed++) {
    for (uint32_t way = part.first; way < part.end; way++) {
      // Of a context's seed come its launching threads: none to three.
      weir_context_options run = *options;
      if (run.window == 0) run.window = 64;
      if (!resident) run.issue = WAYS[way];
      run.seed = share_unseeded ? 0 : seed;
      run_once(&run, seed * 8 + way, test);
    }
  }
}

void share_run(const char *devices, void (*test)(share *s)) {
  share_run_with(&(weir_context_options){.devices = devices}, test);
}

// ---------------------------------------------------------------------------------------------------------------
// In short

void share_submit(const share *s, weir_kernel *kernel, weir_device *device, weir_buffer *buffer, uint32_t count,
                  uint32_t value, weir_event **out_event) {
  uint64_t bytes = count * sizeof(uint32_t);
  bool overwrites = kernel == s->set || kernel == s->broken;
  weir_arg args[] = {overwrites ? weir_writes_range(buffer, 0, bytes) : weir_updates_range(buffer, 0, bytes),
                     weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = kernel, .device = device, .args = args, .arg_count = 3};
  share_ok(weir_submit(s->context, &task, out_event));
}

void share_sum(const share *s, weir_device *device, weir_buffer *out, weir_buffer *a, weir_buffer *b, uint32_t count,
               weir_event **out_event) {
  uint64_t bytes = count * sizeof(uint32_t);
  weir_arg args[] = {weir_writes_range(out, 0, bytes), weir_reads_range(a, 0, bytes), weir_reads_range(b, 0, bytes),
                     weir_value(&count, sizeof count)};
  weir_task task = {.kernel = s->sum, .device = device, .args = args, .arg_count = 4};
  share_ok(weir_submit(s->context, &task, out_event));
}

weir_buffer *share_buffer(const share *s, uint32_t count) {
  weir_buffer *buffer;
  share_ok(weir_buffer_create(s->context, count * sizeof(uint32_t), &buffer));
  return buffer;
}

weir_status share_await(weir_event *event) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  return status;
}

void share_expect(const uint32_t *numbers, uint32_t count, uint32_t value, const uint32_t *steps, uint32_t step_count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t wanted = value + i;
    for (uint32_t j = 0; j < step_count; j++) wanted = stepped(wanted, steps[j]);
    if (numbers[i] != wanted) fail_msg("number %u is %u, not %u", i, numbers[i], wanted);
  }
}

CUdeviceptr share_allocate(const share *s, uint32_t count) {
  CUdeviceptr memory = 0;
  share_good(s->driver->cuMemAlloc(&memory, count * sizeof(uint32_t)));
  return memory;
}

void share_free(const share *s, CUdeviceptr memory) {
  share_good(s->driver->cuMemFree(memory));
}

void share_launch(const share *s, CUfunction function, CUdeviceptr memory, uint32_t count, uint32_t value) {
  void *parameters[] = {&memory, &count, &value};
  share_good(s->driver->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s->stream, parameters, NULL));
}

void share_read(const share *s, uint32_t *numbers, CUdeviceptr memory, uint32_t count) {
  CUdeviceptr to = (CUdeviceptr)(uintptr_t)numbers;
  share_good(s->driver->cuMemcpyAsync(to, memory, count * sizeof *numbers, s->stream));
  share_good(s->driver->cuStreamSynchronize(s->stream));
}

void share_write(const share *s, CUdeviceptr memory, const uint32_t *numbers, uint32_t count) {
  CUdeviceptr from = (CUdeviceptr)(uintptr_t)numbers;
  share_good(s->driver->cuMemcpyAsync(memory, from, count * sizeof *numbers, s->stream));
  share_good(s->driver->cuStreamSynchronize(s->stream));
}
