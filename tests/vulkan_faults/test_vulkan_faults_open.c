// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of Vulkan fails, for every N, while tasks are open: tasks end well and are right, or fail; nothing hangs or
// is left.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/vulkan/vulkan.h"
#include "interposer.h"
#include "sweep.h"
#include "weir/enqueue.h"

enum { BYTES = 1024, ROUNDS = 3, MANY = 2000 };

static void fill(const weir_enqueue *call, uint32_t value) {
  const weir_enqueue_arg *to = &call->args[0];
  weir__vulkan_of(call->device)->calls.vkCmdFillBuffer(call->queue, (VkBuffer)to->handle, to->offset, to->bytes, value);
}

// One that is ended, or abandoned in the second round.
static weir_status open_one(weir_context *context, weir_buffer *buffer, uint32_t round) {
  const weir_arg arg = weir_writes(buffer);
  const weir_enqueue *call;
  weir_open_task *open;
  weir_status status = weir_task_begin(context, &(weir_task){.args = &arg, .arg_count = 1}, &open, &call);
  if (status != WEIR_OK) return status;
  fill(call, 20 + round);
  return round == 1 ? weir_task_abandon(open, WEIR_ERROR_IO, "on purpose") : weir_task_end(open, NULL, 0, NULL);
}

static void check(weir_context *context, weir_buffer *to) {
  uint32_t words[BYTES / 4];
  if (weir_read(to, 0, BYTES, words) != WEIR_OK) {
    assert_non_null(interposer_failed());
    weir_finish(context);
    return;
  }
  for (int i = 0; i < BYTES / 4; i++) assert_int_equal(words[i], 20 + ROUNDS - 1);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

// Returns whether the call came.
static bool play(uint64_t n, VkResult result, const weir_context_options *options) {
  weir_context *context;
  weir_buffer *buffer, *to;
  bool good = true;
  interposer_fail(NULL, 0, 0);
  assert_int_equal(weir_context_create(options, &context), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, BYTES, &to), WEIR_OK);
  assert_int_equal(weir_fill(to, 0, BYTES, 0, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  interposer_fail(NULL, n, result);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    good = open_one(context, buffer, i) == WEIR_OK && good;
    good = weir_copy(to, 0, buffer, 0, BYTES, NULL) == WEIR_OK && good;
    good = weir_finish(context) == (i == 1 ? WEIR_ERROR_IO : WEIR_OK) && good;
  }
  if (good) check(context, to);
  bool came = interposer_failed() != NULL;
  weir_buffer_release(buffer);
  weir_buffer_release(to);
  assert_int_equal(weir_context_release(context), WEIR_OK);
  assert_true(good || came);
  assert_int_equal(interposer_live(), 0);
  assert_int_equal(interposer_destroyed_early(), 0);
  assert_int_equal(interposer_undefined_used(), 0);
  return came;
}

static void sweep(VkResult result) {
  for (uint32_t queues = 1; queues <= 3; queues += 2) {
    const weir_context_options options = {
        .devices = "vulkan", .queues = queues, .flags = queues == 3 ? WEIR_CONTEXT_TRACE : 0};
    uint64_t n = 1;
    for (bool came = true; came && n < MANY; n = sweep_after(n)) {
      alarm(60);
      came = play(n, result, &options);
      alarm(0);
    }
    assert_true(n > ROUNDS && n < MANY); // each round submits something
  }
}

static void no_memory(void **state) {
  (void)state;
  sweep(VK_ERROR_OUT_OF_HOST_MEMORY);
}

static void the_device_is_lost(void **state) {
  (void)state;
  sweep(VK_ERROR_DEVICE_LOST);
}

int main(void) {
  setenv("WEIR_VULKAN_LOADER", INTERPOSER, 1);
  char text[256];
  if (!weir__vulkan_probe(text, sizeof text)) {
    printf("%s\n", text);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory), cmocka_unit_test(the_device_is_lost)};
  return cmocka_run_group_tests_name("Vulkan: open tasks while calls fail", tests, NULL, NULL);
}
