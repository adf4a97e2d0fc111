// SPDX-License-Identifier: Apache-2.0
//
// Threads that make contexts of the same devices at the same time, and release them: parts that are cut, the trial of
// memory, code from one cache, queues of open tasks, events of the caller's that end when their device is gone.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "caller.h"
#include "random.h"
#include "scratch.h"
#include "weir/enqueue.h"

enum { THREADS = 4, COUNT = 256, MOST_STEPS = 6 };
#ifdef WEIR_SMALL_TESTS
enum { ROUNDS = 8 };
#else
enum { ROUNDS = 60 };
#endif

static const char step_source[] = "__kernel void advance(__global uint *words, uint value) {\n"
                                  "  words[get_global_id(0)] = words[get_global_id(0)] * 3 + value + MORE;\n"
                                  "}\n";

static atomic_bool wrong;
static char why[256]; // of the first that was

// What a thread does with its context.
typedef struct user {
  random_state random;
  weir_context *context;
  weir_status status;
  cl_event gate; // not NULL: the context waits for it
} user;

#define DO(call)                                                                                                       \
  do {                                                                                                                 \
    if (u->status == WEIR_OK) u->status = (call);                                                                      \
  } while (false)

static void say(const char *what, const char *text) {
  if (!atomic_exchange(&wrong, true)) snprintf(why, sizeof why, "%s: %s", what, text);
}

// The words go to another buffer by the caller's command, and come back by Weir's. Imports an event that ends when the
// context is gone.
static void use_open_task(user *u, weir_buffer *buffer, weir_buffer *other) {
  weir_open_task *open;
  const weir_enqueue *call;
  weir_event *import = NULL;
  cl_int result;
  const weir_arg args[] = {weir_writes(other), weir_reads(buffer)};
  weir_status status = weir_task_begin(u->context, &(weir_task){.args = args, .arg_count = 2}, &open, &call);
  if (status != WEIR_OK) {
    u->status = status;
    return;
  }
  cl_command_queue queue = call->queue;
  if (call->args[0].handle != 0)
    result =
        clEnqueueCopyBuffer(queue, (cl_mem)(uintptr_t)call->args[1].handle, (cl_mem)(uintptr_t)call->args[0].handle,
                            call->args[1].offset, call->args[0].offset, COUNT * 4, 0, NULL, NULL);
  else
    result = clEnqueueSVMMemcpy(queue, CL_FALSE, (void *)(uintptr_t)call->args[0].pointer,
                                (const void *)(uintptr_t)call->args[1].pointer, COUNT * 4, 0, NULL, NULL);
  if (u->gate == NULL) u->gate = clCreateUserEvent(call->native_context, &(cl_int){0});
  DO(weir_task_end(open, NULL, 0, NULL));
  if (result != CL_SUCCESS || u->gate == NULL) say("open task", "the driver refused a call");
  DO(weir_copy(buffer, 0, other, 0, COUNT * 4, NULL));
  DO(weir_opencl_import_event(weir_context_device(u->context, 0), u->gate, &import));
  weir_event_release(import);
}

static void use(user *u, uint32_t more) {
  weir_kernel *step = NULL;
  weir_buffer *buffer = NULL, *other = NULL;
  uint32_t words[COUNT], wanted[COUNT], steps = random_between(&u->random, 1, MOST_STEPS);
  char options[32];
  snprintf(options, sizeof options, "-DMORE=%u", more);
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = words[i] = i;
  DO(weir_kernel_create(u->context, "advance", &step));
  DO(weir_kernel_set_opencl(step, &(weir_opencl_code){.source = step_source, .options = options},
                            &(weir_opencl_launch){.entry = "advance"}));
  DO(weir_buffer_create(u->context, sizeof words, &buffer));
  DO(weir_buffer_create(u->context, sizeof words, &other));
  DO(weir_copy_in(buffer, 0, sizeof words, words, NULL));
  for (uint32_t value = 0; value < steps; value++) {
    const weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
    weir_task task = {.kernel = step, .args = args, .arg_count = 2, .groups = {COUNT}};
    if (u->status == WEIR_OK && weir_context_device_count(u->context) > 1 && random_chance(&u->random, 50))
      task.device = weir_context_device(u->context, 0);
    DO(weir_submit(u->context, &task, NULL));
    for (uint32_t i = 0; i < COUNT; i++) wanted[i] = wanted[i] * 3 + value + more;
    if (u->status == WEIR_OK && random_chance(&u->random, 30)) use_open_task(u, buffer, other);
  }
  DO(weir_read(buffer, 0, sizeof words, words));
  if (u->status == WEIR_OK && memcmp(words, wanted, sizeof words) != 0) say("the context", "words are wrong");
  weir_buffer_release(buffer);
  weir_buffer_release(other);
  weir_kernel_release(step);
}

static void *come_and_go(void *of) {
  static const char *const devices[] = {"opencl", "opencl:0/2.0", "opencl:0/2.1", "opencl:0/2.0,opencl:0/2.1",
                                        "opencl:0/1.0"};
  user *u = of;
  for (int i = 0; i < ROUNDS && !atomic_load(&wrong); i++) {
    const weir_context_options options = {.devices = devices[random_below(&u->random, 5)],
                                          .queues = random_below(&u->random, 4),
                                          .flags = random_chance(&u->random, 20) ? WEIR_CONTEXT_TRACE : 0};
    DO(weir_context_create(&options, &u->context));
    use(u, random_below(&u->random, 4));
    if (u->status != WEIR_OK) say(options.devices, weir_last_error());
    weir_context_release(u->context);
    u->context = NULL;
    if (u->gate == NULL) continue;
    if (clSetUserEventStatus(u->gate, CL_COMPLETE) != CL_SUCCESS) say("the event", "it could not be set");
    clReleaseEvent(u->gate);
    u->gate = NULL;
  }
  return NULL;
}

static void in_memory(const char *memory) {
  pthread_t threads[THREADS];
  static user users[THREADS];
  const char *seed = getenv("WEIR_TEST_SEED");
  random_state random = {seed != NULL ? strtoull(seed, NULL, 10) : 1};
  scratch_create();
  if (memory != NULL) setenv("WEIR_OPENCL_MEMORY", memory, 1);
  for (int i = 0; i < THREADS; i++) {
    users[i] = (user){.random = {random_next(&random)}};
    assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &users[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  unsetenv("WEIR_OPENCL_MEMORY");
  scratch_remove();
  if (atomic_load(&wrong)) fail_msg("%s", why);
  assert_int_equal(fault_loader_live(), 0);
}

static void in_the_hosts_memory(void **state) {
  (void)state;
  in_memory(NULL);
}

static void in_shared_memory(void **state) {
  (void)state;
  in_memory("device");
}

static void in_objects(void **state) {
  (void)state;
  in_memory("objects");
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  const struct CMUnitTest tests[] = {cmocka_unit_test(in_the_hosts_memory), cmocka_unit_test(in_shared_memory),
                                     cmocka_unit_test(in_objects)};
  return cmocka_run_group_tests_name("OpenCL: threads with contexts", tests, NULL, NULL);
}
