// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ILLEGAL_ADDRESS = 700, MOST_SECONDS = 120 };

static weir_context *left; // what a test that fails leaves

static const char rig_source[] =
    "STUB\nmix 64 8 8 4\nplain 64 8 8 4\nbad 64 8 8 4\ngate 64 8 8 4\nplain_gate 64 8 8 4\n";

_Atomic bool rig_gate;

static void mix_words(uint32_t *to, const uint32_t *from, uint32_t value, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) to[i] = 3 * to[i] + from[i] + value;
}

static void mix_group(const stub_launch *launch, uint64_t group) {
  uint64_t to_address, from_address;
  uint32_t value;
  memcpy(&to_address, launch->params[0], sizeof to_address);
  memcpy(&from_address, launch->params[1], sizeof from_address);
  memcpy(&value, launch->params[2], sizeof value);
  uint32_t *to = stub_memory(launch, to_address, RIG_WORDS * sizeof(uint32_t));
  const uint32_t *from = stub_memory(launch, from_address, RIG_WORDS * sizeof(uint32_t));
  uint32_t count = launch->grid[0], share = RIG_WORDS / count;
  if (to != NULL && from != NULL && group < count)
    mix_words(to, from, value, (uint32_t)group * share, ((uint32_t)group + 1) * share);
}

static void mix_launch(const stub_launch *launch) {
  for (uint32_t i = 0; i < launch->grid[0]; i++) mix_group(launch, i);
}

static void bad_group(const stub_launch *launch, uint64_t group) {
  mix_group(launch, group);
  stub_fault(launch, ILLEGAL_ADDRESS);
}

static void bad_launch(const stub_launch *launch) {
  mix_launch(launch);
  stub_fault(launch, ILLEGAL_ADDRESS);
}

static void gate_group(const stub_launch *launch, uint64_t group) {
  while (!atomic_load(&rig_gate)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  mix_group(launch, group);
}

static void gate_launch(const stub_launch *launch) {
  for (uint32_t i = 0; i < launch->grid[0]; i++) gate_group(launch, i);
}

void rig_use_stub(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1); // none
  stub_register("mix", mix_launch);
  stub_register_groups("mix", mix_group);
  stub_register("plain", mix_launch);
  stub_register("bad", bad_launch);
  stub_register_groups("bad", bad_group);
  stub_register("gate", gate_launch);
  stub_register_groups("gate", gate_group);
  stub_register("plain_gate", gate_launch);
}

weir_kernel *rig_make_kernel(rig *r, const char *name, const char *source, bool groups) {
  weir_kernel *kernel = NULL;
  assert_int_equal(weir_kernel_create(r->context, name, &kernel), WEIR_OK);
  weir_cuda_code code = {.source = source, .groups = groups};
  weir_cuda_launch launch = {.function = name, .block = {32, 1, 1}};
  if (weir_kernel_set_cuda(kernel, &code, &launch, 1) != WEIR_OK) fail_msg("%s", weir_last_error());
  return kernel;
}

// So that the tests behind one that fails do not fail with it.
static void release_what_is_left(void) {
  if (left == NULL) return;
  stub_fail_nth(NULL, 0, 0);
  weir_context_cancel(left);
  weir_context_release(left);
  left = NULL;
}

static void begin(rig *r, uint64_t seed, const weir_context_options *options) {
  memset(r, 0, sizeof *r);
  alarm(MOST_SECONDS);
  release_what_is_left();
  assert_true(stub_configure(
      &(stub_options){.devices = 2, .seed = seed, .manual = seed % 4 == 0, .executors = (uint32_t)(seed % 3)}));
  if (weir_context_create(options, &r->context) != WEIR_OK) fail_msg("%s", weir_last_error());
  left = r->context;
  for (uint32_t i = 0; i < weir_context_device_count(r->context) && r->device == NULL; i++) {
    weir_device *device = weir_context_device(r->context, i);
    if (strcmp(weir_device_information(device)->kind, "cuda") == 0) r->device = device;
  }
  static const char *const names[RIG_KERNELS] = {"mix", "plain", "bad", "gate", "plain_gate"};
  for (int i = 0; i < RIG_KERNELS; i++)
    r->kernels[i] = rig_make_kernel(r, names[i], rig_source, i != RIG_PLAIN && i != RIG_PLAIN_GATE);
  for (uint32_t i = 0; i < RIG_BUFFERS; i++) {
    for (uint32_t j = 0; j < RIG_WORDS; j++) r->expected[i][j] = (uint32_t)(seed * 31 + i * 1000 + j);
    assert_int_equal(weir_buffer_create(r->context, sizeof r->expected[i], &r->buffers[i]), WEIR_OK);
    assert_int_equal(weir_copy_in(r->buffers[i], 0, sizeof r->expected[i], r->expected[i], NULL), WEIR_OK);
  }
  assert_int_equal(weir_finish(r->context), WEIR_OK);
}

static weir_context_options own_options(const weir_context_options *options) {
  weir_context_options own = options != NULL ? *options : (weir_context_options){0};
  if (own.devices == NULL) own.devices = "cuda";
  return own;
}

void rig_begin(rig *r, uint64_t seed, const weir_context_options *options) {
  weir_context_options own = own_options(options);
  if (own.issue == WEIR_ISSUE_AUTO) own.issue = WEIR_ISSUE_RESIDENT;
  begin(r, seed, &own);
}

void rig_begin_automatic(rig *r, uint64_t seed, const weir_context_options *options) {
  weir_context_options own = own_options(options);
  own.issue = WEIR_ISSUE_AUTO;
  begin(r, seed, &own);
}

void rig_release(rig *r) {
  for (int i = 0; i < RIG_BUFFERS; i++) weir_buffer_release(r->buffers[i]);
  for (int i = 0; i < RIG_KERNELS; i++) weir_kernel_release(r->kernels[i]);
  left = NULL;
  weir_context_release(r->context);
  alarm(0);
  assert_string_equal(stub_violation_text(), "");
  assert_int_equal(stub_live_count(), 0);
}

void rig_compare(rig *r) {
  uint32_t words[RIG_WORDS];
  for (uint32_t i = 0; i < RIG_BUFFERS; i++) {
    weir_event *event = NULL;
    assert_int_equal(weir_copy_out(r->buffers[i], 0, sizeof words, words, &event), WEIR_OK);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
    weir_event_release(event);
    assert_memory_equal(words, r->expected[i], sizeof words);
  }
}

void rig_end(rig *r) {
  rig_compare(r);
  if (weir_finish(r->context) != WEIR_OK) fail_msg("%s", weir_last_error());
  rig_release(r);
}

weir_status rig_submit_after(rig *r, rig_kernel kernel, uint32_t to, uint32_t from, uint32_t value,
                             weir_event *const *after, uint32_t after_count, weir_event **out_event) {
  weir_arg args[] = {weir_updates(r->buffers[to]), weir_reads(r->buffers[from]), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = r->kernels[kernel],
                    .args = args,
                    .arg_count = 3,
                    .groups = {RIG_GROUPS, 1, 1},
                    .device = r->device,
                    .after = (weir_event *const *)after,
                    .after_count = after_count};
  weir_status status = weir_submit(r->context, &task, out_event);
  if (status == WEIR_OK) rig_mix(r, to, from, value);
  return status;
}

void rig_mix(rig *r, uint32_t to, uint32_t from, uint32_t value) {
  mix_words(r->expected[to], r->expected[from], value, 0, RIG_WORDS);
}

void rig_submit(rig *r, rig_kernel kernel, uint32_t to, uint32_t from, uint32_t value, weir_event **out_event) {
  if (rig_submit_after(r, kernel, to, from, value, NULL, 0, out_event) != WEIR_OK) fail_msg("%s", weir_last_error());
}

void rig_copy(rig *r, uint32_t to, uint32_t from) {
  assert_int_equal(weir_copy(r->buffers[to], 0, r->buffers[from], 0, sizeof r->expected[to], NULL), WEIR_OK);
  memcpy(r->expected[to], r->expected[from], sizeof r->expected[to]);
}

uint64_t rig_resident_tasks(const rig *r) {
  weir_statistics statistics;
  if (weir_finish(r->context) != WEIR_OK) fail_msg("%s", weir_last_error());
  weir_context_statistics(r->context, &statistics);
  return statistics.resident;
}

void rig_wait_until_left(void) {
  while (stub_live().resident > 0) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

void rig_wait_until_idle(void) {
  while (stub_live().queued > 0) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

void rig_list_threads(rig_threads *threads) {
  threads->count = 0;
  DIR *directory = opendir("/proc/self/task");
  assert_non_null(directory);
  for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    if (entry->d_name[0] == '.' || threads->count == RIG_MOST_THREADS) continue;
    threads->ids[threads->count++] = (pid_t)strtol(entry->d_name, NULL, 10);
  }
  closedir(directory);
}

void rig_expect_new_threads_unpinned(const rig_threads *before) {
  rig_threads now;
  uint32_t found = 0;
  cpu_set_t all, own;
  rig_list_threads(&now);
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  for (uint32_t i = 0; i < now.count; i++) {
    bool old = false;
    for (uint32_t j = 0; j < before->count; j++) old = old || before->ids[j] == now.ids[i];
    if (old || sched_getaffinity(now.ids[i], sizeof own, &own) != 0) continue; // or it has just ended
    found++;
    assert_int_equal(CPU_COUNT(&own), CPU_COUNT(&all));
  }
  assert_true(found > 0);
}
