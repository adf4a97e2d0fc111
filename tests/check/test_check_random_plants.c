// SPDX-License-Identifier: Apache-2.0
//
// Mistakes planted at random places of larger timelines are found, and blamed on the tasks that they were planted in.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule.h"

static weir__timeline_task *task_of(weir__timeline *timeline, size_t access) {
  for (size_t i = 0; i < timeline->task_count; i++) {
    weir__timeline_task *task = &timeline->tasks[i];
    if (access >= task->access_first && access < task->access_first + task->access_count) return task;
  }
  fail();
  return NULL;
}

// A random pair of conflicting accesses of two tasks, the first in the program first. The first one takes time.
static bool find_conflict(weir__timeline *timeline, uint64_t *seed, weir__timeline_task **out_first,
                          weir__timeline_task **out_second) {
  for (int attempt = 0; attempt < 200; attempt++) {
    size_t second = random_in(seed, 0, timeline->access_count), first = second;
    const weir__timeline_access *y = &timeline->accesses[second];
    while (first-- > 0) {
      const weir__timeline_access *x = &timeline->accesses[first];
      bool overlap = x->storage == y->storage && x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
      if (!overlap || (x->mode == WEIR_READ && y->mode == WEIR_READ)) continue;
      *out_first = task_of(timeline, first);
      *out_second = task_of(timeline, second);
      if (*out_first != *out_second && (*out_first)->end_ns > (*out_first)->start_ns) return true;
    }
  }
  return false;
}

static void assert_found(weir__timeline *timeline, const weir__stream *stream, const char *word, uint64_t id) {
  weir__check_report report;
  weir__check_options options = {.ignore_host_waits = true};
  assert_int_equal(check_as_json(timeline, stream, &options, &report), WEIR__CHECK_BROKEN);
  char text[40];
  snprintf(text, sizeof text, "(id %" PRIu64 ",", id);
  if (!strstr(report.text, word) || (id && !strstr(report.text, text))) {
    fail_msg("'%s' or '%s' is not in '%s'", word, text, report.text);
  }
}

static void plant(weir__timeline *timeline, const weir__stream *stream, uint64_t *seed) {
  uint64_t kind = random_in(seed, 0, 7);
  weir__timeline_task *first = NULL, *second = NULL;
  weir__timeline_task *any = &timeline->tasks[random_in(seed, 0, timeline->task_count)];
  if (kind == 0 && any != &timeline->tasks[timeline->task_count - 1]) { // the last one could be of a pass not asked for
    size_t at = (size_t)(any - timeline->tasks);
    memmove(any, any + 1, (timeline->task_count - at - 1) * sizeof *any);
    timeline->task_count--;
    assert_found(timeline, stream, "MISSING", 0);
  } else if (kind == 1) {
    uint64_t tag = timeline->tasks[random_in(seed, 0, timeline->task_count)].tag;
    if (tag == any->tag) return;
    any->tag = tag;
    assert_found(timeline, stream, "MISSING", 0);
  } else if (kind == 2) {
    snprintf(any->status, sizeof any->status, "WEIR_ERROR_TASK_FAILED");
    assert_found(timeline, stream, "STATUS", any->id);
  } else if (kind == 3 && any->access_count > 0) {
    timeline->accesses[any->access_first + random_in(seed, 0, any->access_count)].bytes += 1;
    assert_found(timeline, stream, "ACCESS", any->id);
  } else if (kind == 4 && any->access_count > 0) {
    weir__timeline_access *access = &timeline->accesses[any->access_first + random_in(seed, 0, any->access_count)];
    access->mode = access->mode == WEIR_READ ? WEIR_READ_WRITE : WEIR_READ;
    assert_found(timeline, stream, "ACCESS", any->id);
  } else if (find_conflict(timeline, seed, &first, &second)) {
    // At least 1: in no time at all it could come right before the first one, which is no mistake if nobody needs its bytes.
    uint64_t length = second->end_ns > second->start_ns ? second->end_ns - second->start_ns : 1;
    second->start_ns = random_in(seed, first->start_ns, first->end_ns);
    second->end_ns = second->start_ns + length;
    second->submit_ns = second->submit_ns < second->start_ns ? second->submit_ns : second->start_ns;
    assert_found(timeline, stream, " broken: ", second->id);
  }
}

static void test_random_plants(void **state) {
  (void)state;
  uint64_t seed = random_seed(3);
  for (int round = 0; round < 400; round++) {
    stream_shape shape = {.tasks = (uint32_t)random_in(&seed, 2, 60), .buffers = (uint32_t)random_in(&seed, 2, 8)};
    shape.most_bytes = random_in(&seed, 1, 100);
    weir__stream *stream = random_stream(&shape, random_next(&seed));
    schedule_options options = {.passes = (uint32_t)random_in(&seed, 1, 4), .workers = 4, .seed = random_next(&seed)};
    options.rename = random_in(&seed, 0, 2);
    options.by_address = random_in(&seed, 0, 4) == 0;
    weir__timeline *timeline = schedule(stream, &options);
    if (timeline->access_count > 0) plant(timeline, stream, &seed);
    weir__timeline_destroy(timeline);
    weir__stream_destroy(stream);
  }
}

static void test_sample_stream(void **state) {
  (void)state;
  uint64_t seed = random_seed(4);
  char message[300];
  weir__stream *stream = NULL;
  if (weir__stream_read("examples/streams/randwire.jsonl", message, sizeof message, &stream) != WEIR_OK) {
    fail_msg("%s", message);
  }
  for (int round = 0; round < 12; round++) {
    schedule_options options = {.passes = 2, .workers = 8, .seed = random_next(&seed), .rename = true};
    options.by_address = round % 2 != 0;
    weir__timeline *timeline = schedule(stream, &options);
    plant(timeline, stream, &seed);
    weir__timeline_destroy(timeline);
  }
  weir__stream_destroy(stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_plants), cmocka_unit_test(test_sample_stream)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
