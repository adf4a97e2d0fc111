// SPDX-License-Identifier: Apache-2.0
//
// Cards whose memory is too small for all that a program has: buffers give way to others, and come back. On the driver of
// stub/, in random orders.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "share.h"
#include "weir/sim.h"

enum { COUNT = 256, BYTES = COUNT * 4, BLOCK = BYTES + BYTES / 4 };

static weir_statistics statistics_of(share *s) {
  weir_statistics statistics;
  weir_context_statistics(s->context, &statistics);
  return statistics;
}

static void expect_first(weir_buffer *buffer, uint32_t wanted, uint32_t count) {
  uint32_t *numbers = malloc(count * sizeof *numbers);
  assert_non_null(numbers);
  share_ok(weir_read(buffer, 0, count * sizeof *numbers, numbers));
  assert_int_equal(numbers[0], wanted);
  free(numbers);
}

// Goes over the buffers again and again, each time on another device if there are several.
static void go_round(share *s, uint32_t buffer_count, uint32_t rounds, uint32_t count) {
  weir_device *devices[] = {s->cuda, s->second != NULL ? s->second : s->cuda, s->cpu != NULL ? s->cpu : s->cuda};
  weir_buffer *buffers[16];
  uint32_t wanted[16];
  for (uint32_t i = 0; i < buffer_count; i++) {
    buffers[i] = share_buffer(s, count);
    wanted[i] = i;
    share_submit(s, s->set, s->cuda, buffers[i], count, i, NULL);
  }
  for (uint32_t i = 0; i < rounds * buffer_count; i++) {
    uint32_t at = i % buffer_count;
    share_submit(s, s->step, devices[i / 3 % 3], buffers[at], count, i, NULL);
    wanted[at] = stepped(wanted[at], i);
  }
  for (uint32_t i = 0; i < buffer_count; i++) expect_first(buffers[i], wanted[i], count);
  share_ok(weir_finish(s->context));
  assert_int_equal(statistics_of(s).failed, 0);
  for (uint32_t i = 0; i < buffer_count; i++) share_ok(weir_buffer_release(buffers[i]));
}

static void more_than_the_limit(share *s) {
  go_round(s, 12, 8, COUNT);
  assert_true(statistics_of(s).evictions > 0);
}

static void test_limit(void **state) {
  (void)state;
  const char *const devices[] = {"cuda", "cuda:0,cuda:1", "cpu:2,cuda"};
  for (size_t i = 0; i < 3; i++) {
    weir_context_options options = {.devices = devices[i], .device_memory_limit = 4 * BLOCK, .window = 16};
    share_run_with(&options, more_than_the_limit);
    options.device_memory_limit = 8 * BLOCK;
    options.window = 256;
    share_run_with(&options, more_than_the_limit);
  }
}

// The card itself has no more, whatever the context may take. Small and large buffers come from different chunks.
static void more_than_the_card(share *s) {
  enum { LARGE = 12 << 18 };
  uint32_t fewer = part_divisor() > 2 ? 1 : 0; // sanitizers watch each byte
  go_round(s, 8, 3 - fewer, LARGE);
  // Of eight that are written on one card, five fit. In later rounds another card may take some.
  assert_true(statistics_of(s).evictions > (fewer > 0 ? 2 : 8));
  go_round(s, 12, 2, COUNT);
  go_round(s, 8, 2 - fewer, LARGE / 2);
}

static void test_card(void **state) {
  (void)state;
  share_card_bytes = 64 << 20;
  share_run("cuda", more_than_the_card);
  share_run("cuda:0,cuda:1", more_than_the_card);
  share_card_bytes = 0;
}

// A task that needs more than there is says so, and all else goes on.
static void too_large(share *s) {
  weir_buffer *large = share_buffer(s, 6 * COUNT), *small = share_buffer(s, COUNT), *a = share_buffer(s, 2 * COUNT);
  weir_buffer *b = share_buffer(s, 2 * COUNT), *c = share_buffer(s, 2 * COUNT);
  uint32_t count = 6 * COUNT, value = 1;
  share_submit(s, s->set, s->cuda, small, COUNT, 7, NULL);
  weir_arg args[] = {weir_writes(large), weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = s->set, .device = s->cuda, .args = args, .arg_count = 3, .label = "too large", .tag = 5};
  share_refused(weir_submit(s->context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "task 'too large' (tag 5)");
  share_refused(weir_submit(s->context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "6144 bytes");
  share_refused(weir_submit(s->context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "cuda:0");
  count = 2 * COUNT;
  share_submit(s, s->set, s->cuda, a, count, 10, NULL);
  share_submit(s, s->set, s->cuda, b, count, 20, NULL);
  weir_arg three[] = {weir_writes(c), weir_reads(a), weir_reads(b), weir_value(&count, sizeof count)};
  task = (weir_task){.kernel = s->sum, .device = s->cuda, .args = three, .arg_count = 4};
  share_refused(weir_submit(s->context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "needs 6144 bytes at once");
  expect_first(small, 7, COUNT);
  expect_first(a, 10, 2 * COUNT);
  expect_first(b, 20, 2 * COUNT);
  share_ok(weir_finish(s->context));
  weir_buffer *all[] = {large, small, a, b, c};
  for (size_t i = 0; i < 5; i++) share_ok(weir_buffer_release(all[i]));
}

static void test_too_large(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cuda", .device_memory_limit = 4 * BLOCK};
  share_run_with(&options, too_large);
}

// Threads that take each other's storage all get on.
enum { THREADS = 3, SUMS = 40, OWN = 5 };
static bool placed; // their tasks name no device

static void *submit_sums(void *user) {
  share *s = user;
  weir_buffer *own[OWN];
  uint32_t wanted[OWN];
  for (uint32_t i = 0; i < OWN; i++) {
    own[i] = share_buffer(s, COUNT);
    wanted[i] = i;
    share_submit(s, s->set, s->cuda, own[i], COUNT, i, NULL);
  }
  for (uint32_t i = 0; i < SUMS; i++) {
    uint32_t to = i % OWN, a = (i + 1) % OWN, b = (i + 2) % OWN;
    weir_device *device = s->second != NULL && i % 3 == 0 ? s->second : s->cuda;
    share_sum(s, placed ? NULL : device, own[to], own[a], own[b], COUNT, NULL);
    wanted[to] = wanted[a] + wanted[b];
  }
  for (uint32_t i = 0; i < OWN; i++) expect_first(own[i], wanted[i], COUNT);
  for (uint32_t i = 0; i < OWN; i++) share_ok(weir_buffer_release(own[i]));
  return NULL;
}

static void threads_get_on(share *s) {
  pthread_t threads[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, submit_sums, s), 0);
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  share_ok(weir_finish(s->context));
  assert_int_equal(statistics_of(s).failed, 0);
}

static void test_threads(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cuda", .device_memory_limit = 3 * BLOCK};
  share_run_with(&options, threads_get_on);
  options.devices = "cuda:0,cuda:1";
  share_run_with(&options, threads_get_on);
  placed = true;
  options.flags = WEIR_CONTEXT_PLACE;
  share_run_with(&options, threads_get_on);
  options.devices = "cuda:0,cpu:2,cuda:1";
  share_run_with(&options, threads_get_on);
  placed = false;
}

// Each card's share of a buffer that they write in parts is copied home.
static void parts_come_home(share *s) {
  enum { BUFFERS = 6 };
  weir_buffer *buffers[BUFFERS];
  uint32_t numbers[COUNT];
  for (uint32_t i = 0; i < BUFFERS; i++) {
    buffers[i] = share_buffer(s, COUNT);
    share_submit(s, s->set, s->second, buffers[i], COUNT, i, NULL);
    share_submit(s, s->step, s->cuda, buffers[i], COUNT / 2, 1, NULL);
  }
  for (uint32_t i = 0; i < BUFFERS; i++) share_submit(s, s->step, s->second, buffers[i], COUNT / 4, 2, NULL);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    share_ok(weir_read(buffers[i], 0, BYTES, numbers));
    share_expect(numbers, COUNT / 4, i, (uint32_t[]){1, 2}, 2);
    share_expect(numbers + COUNT / 4, COUNT / 4, i + COUNT / 4, (uint32_t[]){1}, 1);
    share_expect(numbers + COUNT / 2, COUNT / 2, i + COUNT / 2, NULL, 0);
    share_ok(weir_buffer_release(buffers[i]));
  }
  assert_true(statistics_of(s).evictions > 0);
}

static void test_parts(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cuda:0,cuda:1", .device_memory_limit = 2 * BLOCK};
  share_run_with(&options, parts_come_home);
}

static void lose(share *s, weir_device *device) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_event *broken;
  share_submit(s, s->broken, device, buffer, COUNT, 0, &broken);
  assert_int_equal(share_await(broken), WEIR_ERROR_DEVICE_LOST);
  share_ok(weir_buffer_release(buffer));
}

// What a card that is lost has, too, is not given up for that on the other one.
static void copies_on_lost_cards(share *s) {
  enum { BUFFERS = 6 };
  weir_buffer *both = share_buffer(s, COUNT), *out = share_buffer(s, COUNT), *others[BUFFERS];
  share_submit(s, s->set, s->cuda, both, COUNT, 7, NULL);
  share_sum(s, s->second, out, both, both, COUNT, NULL);
  share_ok(weir_finish(s->context));
  lose(s, s->second);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    others[i] = share_buffer(s, COUNT);
    share_submit(s, s->set, s->cuda, others[i], COUNT, i, NULL);
  }
  expect_first(both, 7, COUNT);
  for (uint32_t i = 0; i < BUFFERS; i++) expect_first(others[i], i, COUNT);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_DEVICE_LOST);
}

// Nor on the host, where what does not fit is refused.
static void copies_of_a_lost_card(share *s) {
  weir_buffer *both = share_buffer(s, COUNT), *out = share_buffer(s, COUNT), *large = share_buffer(s, 2 * COUNT);
  share_submit(s, s->set, s->cpu, both, COUNT, 7, NULL);
  share_sum(s, s->cuda, out, both, both, COUNT, NULL);
  share_ok(weir_finish(s->context));
  lose(s, s->cuda);
  uint32_t count = 2 * COUNT, value = 1;
  weir_arg args[] = {weir_writes(large), weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = s->set, .device = s->cpu, .args = args, .arg_count = 3};
  share_refused(weir_submit(s->context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "on the host");
  expect_first(both, 7, COUNT);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_DEVICE_LOST);
}

// A card that is lost is no source, even where the other one can only be reached through the host.
static void far_copies(share *s) {
  weir_device *simulated = s->cuda, *near = weir_context_device(s->context, 1);
  weir_buffer *both = share_buffer(s, COUNT), *out = share_buffer(s, COUNT), *on_host = share_buffer(s, COUNT);
  share_ok(weir_kernel_set_sim(s->sum, &(weir_sim_launch){.threads = 64, .us = 1}, 1));
  share_submit(s, s->set, near, both, COUNT, 7, NULL);
  share_sum(s, simulated, out, both, both, COUNT, NULL);
  share_ok(weir_finish(s->context));
  share_submit(s, s->set, s->cpu, on_host, COUNT, 1, NULL); // in place of the copy on the way
  share_ok(weir_finish(s->context));
  share_ok(weir_buffer_release(on_host));
  lose(s, near);
  share_sum(s, s->second, out, both, both, COUNT, NULL);
  expect_first(out, 14, COUNT);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_DEVICE_LOST);
}

static void test_lost(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cuda:0,cuda:1", .device_memory_limit = 4 * BLOCK};
  share_run_with(&options, copies_on_lost_cards);
  options = (weir_context_options){.devices = "cuda,cpu:1", .memory_limit = 2 * BLOCK, .device_memory_limit = 1 << 20};
  share_run_with(&options, copies_of_a_lost_card);
  options = (weir_context_options){
      .devices = "sim:h200+memory_mib=16,cuda:0,cuda:1,cpu:1", .memory_limit = BLOCK, .device_memory_limit = 1 << 20};
  share_run_with(&options, far_copies);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limit),   cmocka_unit_test(test_card),  cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_parts), cmocka_unit_test(test_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
