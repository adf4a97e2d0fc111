// SPDX-License-Identifier: Apache-2.0
//
// abort_card [DEVICE]: gives up CUDA devices that have tasks which never end, on a real card or, built with ON_STUB, on the stub
// driver. After each a new context runs a right program: one of another process and, where the driver gives it one, of the same. Every
// scene is a process of its own: what one leaves of the driver is no other's. Exit codes: 0 all is as it should be, 1 something is not, 77 there is no card or no NVRTC.
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "endless.kernels.h"
#include "weir/cuda.h"

enum { SKIPPED = 77, NO_CONTEXT = 78, WORDS = 64, MOST_SECONDS = 60, PROGRAM_TASKS = 500, RACES = 20, WINDOW = 4096 };

static const uint64_t PATIENCE_NS = UINT64_C(20000000000);
static const char *device_name = "cuda";
static bool aborted; // in this process

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  _exit(1); // a context in disorder may wait for ever
}

static void expect(weir_status status, weir_status expected, const char *what) {
  if (status == expected) return;
  fail("%s: %s, and not %s: %s", what, weir_status_name(status), weir_status_name(expected), weir_last_error());
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// ---------------------------------------------------------------------------------------------------------------
// A context, its kernels and a buffer.

typedef struct stage {
  weir_context *context;
  weir_device *device;
  weir_kernel *never_ends, *counts, *in_queue; // the last one never ends either
  weir_buffer *buffers[2];
  uint32_t *begun; // pinned: for each of them, whether it runs
} stage;

static void open_stage(stage *s, const char *what) {
  *s = (stage){0};
  const weir_context_options options = {.devices = device_name, .issue = WEIR_ISSUE_RESIDENT, .window = WINDOW};
  weir_status status = weir_context_create(&options, &s->context);
  if (status == WEIR_OK) status = weir_kernel_create_from(s->context, &never_ends, &s->never_ends);
  if (status == WEIR_ERROR_UNAVAILABLE && aborted) {
    printf("  the driver gives this process no new context: %s\n", weir_last_error());
    exit(NO_CONTEXT);
  }
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    exit(SKIPPED);
  }
  expect(status, WEIR_OK, what);
  s->device = weir_context_device(s->context, 0);
  if (strcmp(weir_device_information(s->device)->kind, "cuda") != 0) {
    printf("skipped: %s is no CUDA device\n", device_name);
    exit(SKIPPED);
  }
  expect(weir_kernel_create_from(s->context, &count_up, &s->counts), WEIR_OK, what);
  expect(weir_kernel_create(s->context, "never_ends_in_a_queue", &s->in_queue), WEIR_OK, what);
  const weir_cuda_code code = {.source = never_ends.source};
  const weir_cuda_launch launch = {.function = never_ends.name, .block = {32, 1, 1}};
  expect(weir_kernel_set_cuda(s->in_queue, &code, &launch, 1), WEIR_OK, what);
  void *begun;
  expect(weir_host_allocate(s->device, 2 * sizeof *s->begun, &begun), WEIR_OK, what);
  s->begun = begun;
  memset(s->begun, 0, 2 * sizeof *s->begun);
  static const uint32_t zeros[WORDS] = {0};
  for (int i = 0; i < 2; i++) {
    expect(weir_buffer_create(s->context, sizeof zeros, &s->buffers[i]), WEIR_OK, what);
    expect(weir_copy_in(s->buffers[i], 0, sizeof zeros, zeros, NULL), WEIR_OK, what);
  }
  expect(weir_finish(s->context), WEIR_OK, what);
}

static void close_stage(stage *s) {
  for (int i = 0; i < 2; i++) weir_buffer_release(s->buffers[i]);
  weir_host_free(s->device, s->begun);
  weir_kernel_release(s->never_ends);
  weir_kernel_release(s->counts);
  weir_kernel_release(s->in_queue);
  weir_context_release(s->context);
}

static void submit(stage *s, weir_kernel *kernel, int buffer, weir_event **out_event) {
  const uint64_t begun = (uint64_t)(uintptr_t)&s->begun[kernel == s->in_queue];
  weir_arg args[] = {weir_updates(s->buffers[buffer]), weir_value(&begun, sizeof begun)};
  const bool counts = kernel == s->counts;
  const weir_task task = {
      .kernel = kernel, .args = args, .arg_count = counts ? 1 : 2, .groups = {counts ? WORDS / 32 : 1, 1, 1}};
  expect(weir_submit(s->context, &task, out_event), WEIR_OK, "submit");
}

static void await_begin(const stage *s) {
  for (uint64_t start = now_ns(); __atomic_load_n(&s->begun[0], __ATOMIC_ACQUIRE) == 0;)
    if (now_ns() - start > PATIENCE_NS) fail("the endless task has not begun");
}

static void submit_counts(stage *s, uint32_t tasks) {
  for (uint32_t i = 0; i < tasks; i++) submit(s, s->counts, (int)(i % 2), NULL);
}

static void run_right_program(void) {
  stage s;
  uint32_t words[WORDS];
  weir_statistics statistics;
  open_stage(&s, "a new context");
  submit_counts(&s, 2 * PROGRAM_TASKS);
  expect(weir_copy_out(s.buffers[1], 0, sizeof words, words, NULL), WEIR_OK, "a new context: copy");
  expect(weir_finish_for(s.context, PATIENCE_NS), WEIR_OK, "a new context: finish");
  for (int i = 0; i < WORDS; i++)
    if (words[i] != PROGRAM_TASKS) fail("a new context: word %d is %u, and not %d", i, words[i], PROGRAM_TASKS);
  weir_context_statistics(s.context, &statistics);
  if (statistics.resident != 2 * PROGRAM_TASKS)
    fail("a new context: %llu tasks were resident", (unsigned long long)statistics.resident);
  close_stage(&s);
}

// ---------------------------------------------------------------------------------------------------------------
// Scenes.

// Aborts, and expects that the task, and all, fails with the device.
static void abort_and_expect(stage *s, weir_event *endless) {
  uint64_t start = now_ns();
  aborted = true;
  expect(weir_cuda_abort(s->device), WEIR_OK, "abort");
  expect(weir_event_wait(endless, PATIENCE_NS), WEIR_ERROR_DEVICE_LOST, "the endless task");
  printf("  failed %.3f ms later: %s\n", (double)(now_ns() - start) / 1e6, weir_event_message(endless));
  weir_event_release(endless);
  expect(weir_finish_for(s->context, PATIENCE_NS), WEIR_ERROR_DEVICE_LOST, "finish");
}

// An endless task with others behind it; the time-out names it.
static void run_endless(uint32_t behind, uint64_t timeout_ns, bool queue_too) {
  stage s;
  weir_event *endless = NULL;
  open_stage(&s, "a context");
  submit(&s, s.never_ends, 0, &endless);
  if (queue_too) submit(&s, s.in_queue, 1, NULL);
  for (uint32_t i = 0; i < behind; i++) submit(&s, s.counts, queue_too ? 0 : (int)(i % 2), NULL);
  expect(weir_finish_for(s.context, timeout_ns), WEIR_TIMEOUT, "finish, with an endless task");
  if (strstr(weir_last_error(), "'never_ends'") == NULL) fail("'never_ends' is not in: %s", weir_last_error());
  await_begin(&s);
  abort_and_expect(&s, endless);
  close_stage(&s);
}

static void alone(void) {
  run_endless(0, 10000000, false);
}
static void with_some_behind(void) {
  run_endless(20, 10000000, false);
}
static void with_a_full_ring(void) {
  run_endless(3000, 300000000, false);
}
static void long_after_the_launch(void) {
  run_endless(20, 1000000000, false);
}
static void with_one_in_a_queue(void) {
  run_endless(20, 100000000, true);
}

static void *finish(void *argument) {
  const stage *s = argument;
  expect(weir_finish_for(s->context, PATIENCE_NS), WEIR_ERROR_DEVICE_LOST, "finish in another thread");
  return NULL;
}

static void others_wait(void) {
  stage s;
  pthread_t thread;
  weir_event *endless = NULL;
  open_stage(&s, "a context");
  submit(&s, s.never_ends, 0, &endless);
  pthread_create(&thread, NULL, finish, &s);
  expect(weir_event_wait(endless, 20000000), WEIR_TIMEOUT, "the endless task");
  aborted = true;
  expect(weir_cuda_abort(s.device), WEIR_OK, "abort");
  pthread_join(thread, NULL);
  weir_event_release(endless);
  close_stage(&s);
}

static void nothing_in_flight(void) {
  stage s;
  open_stage(&s, "a context");
  submit_counts(&s, 20);
  expect(weir_finish_for(s.context, PATIENCE_NS), WEIR_OK, "finish");
  aborted = true;
  expect(weir_cuda_abort(s.device), WEIR_OK, "abort");
  expect(weir_cuda_abort(s.device), WEIR_OK, "abort, again");
  close_stage(&s);
}

static void *abort_later(void *argument) {
  const stage *s = argument;
  nanosleep(&(struct timespec){.tv_nsec = rand() % 2000000}, NULL);
  expect(weir_cuda_abort(s->device), WEIR_OK, "abort in another thread");
  return NULL;
}

static void at_any_time(void) {
  for (unsigned i = 0; i < RACES; i++) {
    stage s;
    pthread_t thread;
    srand(i + 1);
    open_stage(&s, "a context, again");
    aborted = true;
    pthread_create(&thread, NULL, abort_later, &s);
    submit_counts(&s, i * 100);
    weir_status status = weir_finish_for(s.context, PATIENCE_NS);
    if (status != WEIR_OK && status != WEIR_ERROR_DEVICE_LOST && status != WEIR_ERROR_UPSTREAM_FAILED)
      fail("finish: %s: %s", weir_status_name(status), weir_last_error());
    pthread_join(thread, NULL);
    close_stage(&s);
  }
}

static const struct {
  const char *name;
  void (*play)(void);
} scenes[] = {
    {"a task that never ends", alone},
    {"with others behind it", with_some_behind},
    {"with more of them than the ring holds", with_a_full_ring},
    {"long after the resident kernel would have left", long_after_the_launch},
    {"with another one in a queue", with_one_in_a_queue},
    {"while another thread waits", others_wait},
    {"with nothing in flight", nothing_in_flight},
    {"at any time, again and again", at_any_time},
};

// ---------------------------------------------------------------------------------------------------------------

#ifdef ON_STUB
#include "stub_code.h"

// In place of the embedded text.
const char endless_kernels_source[] = "STUB\nnever_ends 32 8 8\ncount_up 32 8\n";

static void endless_group(const stub_launch *launch, uint64_t group) {
  (void)group;
  uint64_t begun;
  memcpy(&begun, launch->params[1], sizeof begun);
  __atomic_store_n((uint32_t *)(uintptr_t)begun, 1, __ATOMIC_RELEASE);
  while (!stub_is_lost(launch)) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}
static void endless_launch(const stub_launch *launch) {
  endless_group(launch, 0);
}
static void count_group(const stub_launch *launch, uint64_t group) {
  stub_run_groups(launch, &count_up, group, group + 1);
}
static void count_launch(const stub_launch *launch) {
  stub_run_code(launch, &count_up);
}

static void prepare(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1);
  setenv("WEIR_STUB_EXECUTORS", "2", 1);
  setenv("WEIR_STUB_ABORT", "1", 1);
  stub_register("never_ends", endless_launch);
  stub_register_groups("never_ends", endless_group);
  stub_register("count_up", count_launch);
  stub_register_groups("count_up", count_group);
}
#else
static void prepare(void) {}
#endif

// In a child, of a process that has no threads. NULL: only the right program.
static int play_in_child(void (*play)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(MOST_SECONDS);
    prepare();
    if (play != NULL) play();
    run_right_program();
    exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  if (WIFSIGNALED(status)) fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
  if (argc > 1) device_name = argv[1];
  int failed = 0;
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    printf("%s\n", scenes[i].name);
    int code = play_in_child(scenes[i].play);
#ifndef ON_STUB
    if (code == NO_CONTEXT) code = play_in_child(NULL);
#endif
    if (code == SKIPPED) return SKIPPED;
    if (code != 0) fprintf(stderr, "failed: %s\n", scenes[i].name);
    failed += code != 0;
  }
  return failed > 0;
}
