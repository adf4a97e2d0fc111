// SPDX-License-Identifier: Apache-2.0
//
// What the CPU device says of the machine: workers, cores, pinning.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/registry.h"
#include "base/machine.h"
#include "meeting.h"

static struct {
  bool available;
  int calls;
  char text[256];
} probed;

static void note_probe(void *user, const char *kind, bool available, const char *text) {
  assert_ptr_equal(user, &probed);
  if (strcmp(kind, "cpu") != 0) return;
  probed.calls++;
  probed.available = available;
  snprintf(probed.text, sizeof probed.text, "%s", text);
}

// Whether no other process takes cores from this one: its names are its own.
static bool alone;

static bool probe_says_pinned(void) {
  memset(&probed, 0, sizeof probed);
  weir_probe(note_probe, &probed);
  assert_int_equal(probed.calls, 1);
  assert_true(probed.available);
  return strstr(probed.text, "workers are pinned by hwloc ") != NULL;
}

// With one core all threads share it, and without hwloc none is pinned: then a test of who gets which has nothing to see.
static bool cores_are_dealt(void) {
  return weir__machine_cores() > 1 && probe_says_pinned();
}

static void probe_names_cores_and_pinning(void **state) {
  (void)state;
  bool pinned = probe_says_pinned();
  print_message("%s\n", probed.text);
  char cores[32];
  snprintf(cores, sizeof cores, "%u core%s; ", weir__machine_cores(), weir__machine_cores() == 1 ? "" : "s");
  assert_ptr_equal(strstr(probed.text, cores), probed.text);
  if (!pinned) { // then it says why
    const char *reason = strstr(probed.text, "workers are not pinned: ");
    assert_non_null(reason);
    assert_true(strlen(reason) > strlen("workers are not pinned: "));
  }
}

static void a_worker_per_core_by_default(void **state) {
  (void)state;
  weir_context *context;
  assert_int_equal(weir_context_create(NULL, &context), WEIR_OK);
  weir_device *device = weir_context_device(context, 0);
  assert_string_equal(weir_device_information(device)->kind, "cpu");
  assert_int_equal(weir_device_information(device)->lanes, weir__machine_cores());
  assert_non_null(strstr(weir_device_information(device)->description, "workers on"));
  uint64_t time = weir_device_time(device);
  assert_true(weir_device_time(device) >= time);
  weir_context_release(context);
}

// Threads of other devices get cores that workers would have.
static void devices_with_a_thread_are_counted(void **state) {
  (void)state;
  assert_int_equal(weir__device_threads("cpu"), 0);
  assert_int_equal(weir__device_threads("cpu:2,sim:h200,null"), 0);
  assert_int_equal(weir__device_threads("cuda,cpu"), 1);
  assert_int_equal(weir__device_threads("cpu,opencl:0/2.0,opencl:0/2.1,vulkan:1,cuda:shared"), 4);
  assert_int_equal(weir__device_threads("cud,,cudas,"), 0);
  assert_int_equal(weir__device_workers("cuda,sim:h200", 7), 0);
  assert_int_equal(weir__device_workers("cuda,cpu,cpu:3,cpux,cpu:12", 7), 22);
}

static void threads_that_launch_have_cores_of_their_own(void **state) {
  (void)state;
  assert_int_equal(weir__spare_cores(3, 0, 1), 0);
  assert_int_equal(weir__spare_cores(4, 0, 1), 1);
  assert_int_equal(weir__spare_cores(16, 0, 1), 13);
  assert_int_equal(weir__spare_cores(16, 15, 1), 0);
  assert_int_equal(weir__spare_cores(16, 8, 2), 2);
  assert_int_equal(weir__spare_cores(16, 2, 0), 0);
}

static void numbers_of_workers_that_cannot_be(void **state) {
  (void)state;
  const char *const names[] = {"cpu:0", "cpu:-1", "cpu:1025", "cpu:two", "cpu:2x", "cpu:99999999999999999999"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    weir_context *context = (weir_context *)&probed;
    assert_int_equal(weir_context_create(&(weir_context_options){.devices = names[i]}, &context),
                     WEIR_ERROR_INVALID_ARGUMENT);
    assert_null(context);
    assert_non_null(strstr(weir_last_error(), "number of workers"));
  }
}

typedef struct affinity_meeting {
  meeting all;
  atomic_uint pinned; // workers that may run on one core only
} affinity_meeting;

static void note_affinity(const weir_work *work) {
  affinity_meeting *self = work->user;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1) atomic_fetch_add(&self->pinned, 1);
  meeting_attend(&(weir_work){.user = &self->all});
}

// As many workers as there are cores are pinned, if hwloc is there; those beyond are not.
static void workers_are_pinned_as_far_as_cores_go(void **state) {
  (void)state;
  uint32_t cores = weir__machine_cores();
  if (cores == 1) skip(); // everything is pinned then
  bool pinned = probe_says_pinned();
  uint32_t workers = cores + 2;
  weir_context *context = open_cpu(workers);
  affinity_meeting self = {0};
  meeting_initialize(&self.all, workers);
  for (uint32_t i = 0; i < workers; i++) submit_host(context, note_affinity, &self, NULL, 0);
  finish_all(context);
  assert_true(meeting_held(&self.all));
  if (alone || !pinned)
    assert_int_equal(atomic_load(&self.pinned), pinned ? cores : 0);
  else
    assert_true(atomic_load(&self.pinned) <= cores);
  weir_context_release(context);
}

static void note_core(const weir_work *work) {
  cpu_set_t set;
  int core = -1;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1) {
    for (core = 0; !CPU_ISSET((size_t)core, &set);) core++;
  }
  *(int *)work->user = core;
}

// Two CPU devices of one context do not share a core as long as there are enough.
static void devices_are_pinned_to_cores_of_their_own(void **state) {
  (void)state;
  if (!cores_are_dealt()) skip();
  weir_context *context;
  weir_kernel *kernel;
  int cores[2] = {-1, -1};
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cpu:1,cpu:1"}, &context), WEIR_OK);
  assert_int_equal(weir_kernel_create(context, "note_core", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(kernel, note_core), WEIR_OK);
  for (uint32_t i = 0; i < 2; i++) {
    weir_task task = {.kernel = kernel, .device = weir_context_device(context, i), .user = &cores[i]};
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  finish_all(context);
  if (alone) assert_true(cores[0] >= 0 && cores[1] >= 0);
  assert_true(cores[0] != cores[1] || cores[0] < 0);
  weir_context_release(context);
}

static int core_of_worker(weir_context *context) {
  int core = -2;
  submit_host(context, note_core, &core, NULL, 0);
  finish_all(context);
  return core;
}

// Nor do those of two contexts, as of two programs: a thread that spins would keep the other one waiting. Before, both were pinned to
// the first core.
static void contexts_are_pinned_to_cores_of_their_own(void **state) {
  (void)state;
  if (!cores_are_dealt()) skip();
  weir_context *first = open_cpu(1), *second = open_cpu(1);
  int cores[2] = {core_of_worker(first), core_of_worker(second)};
  if (alone) assert_true(cores[0] >= 0 && cores[1] >= 0);
  assert_true(cores[0] != cores[1] || cores[0] < 0);
  weir_context_release(first);
  weir_context *third = open_cpu(1); // may have the core of the first one
  if (alone) assert_int_equal(core_of_worker(third), cores[0]);
  weir_context_release(third);
  weir_context_release(second);
}

// A process that is forked has none of its parent's threads, and keeps no core for them. Before, it did for as long as it lived.
static void a_forked_process_keeps_no_core(void **state) {
  (void)state;
  if (!alone || !cores_are_dealt()) skip();
  int ends[2], begun[2];
  char byte = 0;
  weir_context *context = open_cpu(1);
  int core = core_of_worker(context);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(pipe(begun), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[1]);
    if (write(begun[1], &byte, 1) != 1) _exit(2);
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1); // until the parent closes its end
  }
  assert_int_equal(read(begun[0], &byte, 1), 1); // fork is over there, too
  weir_context_release(context);
  context = open_cpu(1);
  assert_int_equal(core_of_worker(context), core);
  weir_context_release(context);
  int status;
  close(ends[0]);
  close(ends[1]);
  close(begun[0]);
  close(begun[1]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

// As another process does; -1: it is taken.
static int take_name(int core) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "weir core %d", core);
  int name = socket(AF_UNIX, SOCK_DGRAM, 0);
  assert_true(name >= 0);
  if (bind(name, (struct sockaddr *)&address, (socklen_t)(sizeof address.sun_family + 1 + (size_t)length)) == 0)
    return name;
  assert_int_equal(errno, EADDRINUSE);
  close(name);
  return -1;
}

// Where all cores are taken, workers run wherever the process may.
static void cores_of_other_processes_are_left_alone(void **state) {
  (void)state;
  if (!cores_are_dealt()) skip();
  static int names[CPU_SETSIZE];
  for (int core = 0; core < CPU_SETSIZE; core++) names[core] = take_name(core);
  weir_context *context = open_cpu(1);
  int core = core_of_worker(context);
  assert_true(core < 0 || (!alone && names[core] < 0));
  weir_context_release(context);
  int first = 0;
  while (names[first] < 0 && first < CPU_SETSIZE - 1) first++;
  for (int other = first + 1; other < CPU_SETSIZE; other++)
    if (names[other] >= 0) close(names[other]);
  context = open_cpu(1);
  core = core_of_worker(context);
  assert_int_not_equal(core, first);
  if (alone) assert_true(core > first);
  weir_context_release(context);
  close(names[first]);
}

// Runs in a process of its own, since the library looks at the machine once. Returns the number of what is wrong.
static int on_one_core(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int core = 0;
  while (!CPU_ISSET((size_t)core, &set)) core++;
  CPU_ZERO(&set);
  CPU_SET((size_t)core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) return 2;
  weir_probe(note_probe, &probed);
  if (strncmp(probed.text, "1 core; ", 8) != 0) return 3;
  weir_context *context;
  if (weir_context_create(NULL, &context) != WEIR_OK) return 4;
  if (weir_device_information(weir_context_device(context, 0))->lanes != 1) return 5;
  weir_context_release(context);
  if (weir_context_create(&(weir_context_options){.devices = "cpu:3"}, &context) != WEIR_OK) return 6;
  affinity_meeting self = {0};
  meeting_initialize(&self.all, 3);
  for (int i = 0; i < 3; i++) {
    weir_task task = {.host = note_affinity, .user = &self};
    if (weir_submit(context, &task, NULL) != WEIR_OK) return 7;
  }
  if (weir_finish(context) != WEIR_OK || !meeting_held(&self.all)) return 8;
  weir_context_release(context);
  return 0;
}

static void a_process_that_may_use_one_core(void **state) {
  (void)state;
  int status;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(on_one_core());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
  alone = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
  print_message("%s\n", alone ? "no other process takes cores" : "other processes may take cores");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_process_that_may_use_one_core), // first: before the library has looked
      cmocka_unit_test(probe_names_cores_and_pinning),
      cmocka_unit_test(a_worker_per_core_by_default),
      cmocka_unit_test(devices_with_a_thread_are_counted),
      cmocka_unit_test(threads_that_launch_have_cores_of_their_own),
      cmocka_unit_test(numbers_of_workers_that_cannot_be),
      cmocka_unit_test(workers_are_pinned_as_far_as_cores_go),
      cmocka_unit_test(devices_are_pinned_to_cores_of_their_own),
      cmocka_unit_test(contexts_are_pinned_to_cores_of_their_own),
      cmocka_unit_test(a_forked_process_keeps_no_core),
      cmocka_unit_test(cores_of_other_processes_are_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
