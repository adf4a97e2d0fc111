// SPDX-License-Identifier: Apache-2.0
//
// Resident issue on the stub driver: copies and fills that the resident kernel makes, and those that engines make.
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "rig.h"

enum { MOST_BYTES = 64 << 10, BYTES = 80000, ROUNDS = 60 };

typedef struct scene {
  rig r;
  weir_buffer *buffers[2];
  unsigned char *expected[2];
  unsigned char *pinned, *out, *pageable; // BYTES each; the first two are pinned
} scene;

static weir_statistics statistics_of(scene *s) {
  weir_statistics statistics;
  if (weir_finish(s->r.context) != WEIR_OK) fail_msg("%s", weir_last_error());
  weir_context_statistics(s->r.context, &statistics);
  return statistics;
}

static void begin(scene *s, uint64_t seed, bool linked) {
  void *pinned = NULL;
  // With a seed nothing is linked before its first task.
  const weir_context_options options = {.seed = linked ? 0 : 8};
  rig_begin(&s->r, seed, &options);
  assert_int_equal(weir_host_allocate(s->r.device, 2 * BYTES, &pinned), WEIR_OK);
  s->pinned = pinned;
  s->out = s->pinned + BYTES;
  s->pageable = malloc(BYTES);
  for (int i = 0; i < BYTES; i++) s->pinned[i] = (unsigned char)((uint64_t)i * 7 + seed);
  memcpy(s->pageable, s->pinned, BYTES);
  for (int i = 0; i < 2; i++) {
    s->expected[i] = malloc(BYTES);
    memcpy(s->expected[i], s->pinned, BYTES);
    assert_int_equal(weir_buffer_create(s->r.context, BYTES, &s->buffers[i]), WEIR_OK);
    assert_int_equal(weir_copy_in(s->buffers[i], 0, BYTES, s->pinned, NULL), WEIR_OK);
  }
  if (linked) rig_submit(&s->r, RIG_MIX, 0, 1, 5, NULL);
  assert_int_equal(weir_finish(s->r.context), WEIR_OK);
}

static void end(scene *s) {
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_copy_out(s->buffers[i], 0, BYTES, s->out, NULL), WEIR_OK);
    if (weir_finish(s->r.context) != WEIR_OK) fail_msg("%s", weir_last_error());
    assert_memory_equal(s->out, s->expected[i], BYTES);
    weir_buffer_release(s->buffers[i]);
    free(s->expected[i]);
  }
  weir_host_free(s->r.device, s->pinned);
  free(s->pageable);
  rig_end(&s->r);
}

// One move at random, of `bytes` bytes; all of them are among those that the resident kernel makes, if that makes any.
static void move(scene *s, random_state *random, uint64_t bytes) {
  uint64_t at = random_below(random, (uint32_t)(BYTES - bytes)), from = random_below(random, (uint32_t)(BYTES - bytes));
  uint32_t to = random_below(random, 2), pattern = random_below(random, 1u << 30);
  if (random_chance(random, 50)) at -= at % 16, from -= from % 16;
  switch (random_below(random, 4)) {
  case 0:
    assert_int_equal(weir_copy_in(s->buffers[to], at, bytes, s->pinned + from, NULL), WEIR_OK);
    memcpy(s->expected[to] + at, s->pinned + from, bytes);
    return;
  case 1:
    assert_int_equal(weir_copy(s->buffers[to], at, s->buffers[1 - to], from, bytes, NULL), WEIR_OK);
    memcpy(s->expected[to] + at, s->expected[1 - to] + from, bytes);
    return;
  case 2:
    at -= at % 4, bytes -= bytes % 4;
    bytes = bytes == 0 ? 4 : bytes;
    assert_int_equal(weir_fill(s->buffers[to], at, bytes, pattern, NULL), WEIR_OK);
    for (uint64_t i = 0; i < bytes; i += 4) memcpy(s->expected[to] + at + i, &pattern, 4);
    return;
  default:
    assert_int_equal(weir_copy_out(s->buffers[to], at, bytes, s->out, NULL), WEIR_OK);
    if (weir_finish(s->r.context) != WEIR_OK) fail_msg("%s", weir_last_error());
    assert_memory_equal(s->out, s->expected[to] + at, bytes);
  }
}

static void small_ones_are_the_resident_kernels(void **state) {
  (void)state;
  static const uint32_t sizes[] = {1, 3, 4, 16, 100, 4095, 4096, 4097, 8192, 12345, MOST_BYTES - 1, MOST_BYTES};
  for (uint64_t seed = 1; seed <= 6; seed++) {
    scene s;
    random_state random = {seed};
    begin(&s, seed, true);
    uint64_t fills = stub_calls("cuMemsetD32Async");
    uint64_t before = statistics_of(&s).resident_moves;
    for (uint32_t i = 0; i < ROUNDS; i++) move(&s, &random, sizes[i % (sizeof sizes / sizeof *sizes)]);
    assert_int_equal(statistics_of(&s).resident_moves - before, ROUNDS);
    assert_int_equal(stub_calls("cuMemsetD32Async"), fills);
    end(&s);
  }
}

// Large ones, and those of memory that is not known to be pinned; and all, before the resident kernel has any code.
static void others_are_the_engines(void **state) {
  (void)state;
  scene s;
  begin(&s, 1, true);
  uint64_t before = statistics_of(&s).resident_moves;
  assert_int_equal(weir_copy_in(s.buffers[0], 0, MOST_BYTES + 1, s.pinned, NULL), WEIR_OK);
  assert_int_equal(weir_copy_in(s.buffers[1], 0, 100, s.pageable + 1, NULL), WEIR_OK);
  assert_int_equal(weir_fill(s.buffers[1], 0, MOST_BYTES + 4, 0x01010101, NULL), WEIR_OK);
  memset(s.expected[1], 1, MOST_BYTES + 4);
  assert_int_equal(statistics_of(&s).resident_moves, before);
  end(&s);

  begin(&s, 1, false);
  assert_int_equal(weir_fill(s.buffers[1], 0, 16, 0, NULL), WEIR_OK);
  memset(s.expected[1], 0, 16);
  assert_int_equal(statistics_of(&s).resident_moves, 0);
  end(&s);
}

// Their order is the queues': the host need not learn that such a task is done.
static void those_behind_tasks_of_queues_follow_them(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 3; seed++) { // the next one's device's thread would wait at the gate itself
    scene s;
    begin(&s, seed, true);
    uint64_t before = statistics_of(&s).resident_moves;
    atomic_store(&rig_gate, false);
    rig_submit(&s.r, RIG_PLAIN_GATE, 2, 3, 1, NULL);
    rig_copy(&s.r, 4, 2);
    assert_int_equal(weir_finish_for(s.r.context, 2000000), WEIR_TIMEOUT);
    rig_submit(&s.r, RIG_MIX, 4, 5, 6, NULL); // which is held now
    rig_copy(&s.r, 5, 4);
    assert_int_equal(weir_finish_for(s.r.context, 2000000), WEIR_TIMEOUT);
    atomic_store(&rig_gate, true);
    assert_int_equal(statistics_of(&s).resident_moves - before, 1);
    end(&s);
  }
}

// A kernel that cannot be launched fails: what would bring its result is skipped, and its destination stays as it was.
static void fail_and_copy(uint64_t seed) {
  enum { NO_MEMORY = 2 };
  scene s;
  begin(&s, seed, true);
  rig_wait_until_idle();
  stub_fail_nth("cuLaunchKernel", 1, NO_MEMORY);
  weir_event *failed = NULL, *copied = NULL, *filled = NULL;
  weir_arg args[] = {weir_updates(s.r.buffers[2]), weir_reads(s.r.buffers[3]), weir_value(&(uint32_t){1}, 4)};
  weir_task task = {.kernel = s.r.kernels[RIG_PLAIN], .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
  assert_int_equal(weir_submit(s.r.context, &task, &failed), WEIR_OK);
  memset(s.out, 77, 64);
  assert_int_equal(weir_copy_out(s.r.buffers[2], 0, 64, s.out, &copied), WEIR_OK);
  assert_int_equal(weir_fill(s.r.buffers[2], 0, sizeof s.r.expected[2], 9, &filled), WEIR_OK);
  for (int i = 0; i < RIG_WORDS; i++) s.r.expected[2][i] = 9;
  assert_int_equal(weir_event_wait(failed, WEIR_FOREVER), WEIR_ERROR_OUT_OF_MEMORY);
  assert_int_equal(weir_event_wait(copied, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_event_wait(filled, WEIR_FOREVER), WEIR_OK);
  for (int i = 0; i < 64; i++) assert_int_equal(s.out[i], 77);
  // The copy may be reported first.
  assert_int_equal(weir_finish(s.r.context), WEIR_ERROR_OUT_OF_MEMORY);
  assert_non_null(strstr(weir_last_error(), "'plain'"));
  weir_event_release(failed);
  weir_event_release(copied);
  weir_event_release(filled);
  end(&s);
}

static void what_has_failed_is_not_copied(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) fail_and_copy(seed);
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_ones_are_the_resident_kernels),
      cmocka_unit_test(others_are_the_engines),
      cmocka_unit_test(those_behind_tasks_of_queues_follow_them),
      cmocka_unit_test(what_has_failed_is_not_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
