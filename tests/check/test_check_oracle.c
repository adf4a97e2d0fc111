// SPDX-License-Identifier: Apache-2.0
//
// The checker against the same rules applied byte by byte to every pair of accesses: on small timelines with tasks moved
// and storages swapped at random, both must say the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "schedule.h"

#define NONE SIZE_MAX
#define MOST_BYTES 64 // of an object

typedef struct seen_access {
  weir_mode mode;
  size_t task;
  uint64_t object, storage, lo, hi, start, end;
  bool lives_on;
} seen_access;

typedef struct oracle {
  seen_access accesses[1000]; // in program order
  size_t count;
} oracle;

static void fill(oracle *o, const weir__timeline *timeline, const weir__stream *stream,
                 const schedule_options *options) {
  o->count = 0;
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    for (uint32_t k = 0; k < task->access_count; k++) {
      const weir__timeline_access *access = &timeline->accesses[task->access_first + k];
      uint32_t buffer = stream->tasks[i % stream->task_count].accesses[k].buffer;
      bool lives_on = options->by_address || options->kept || stream->buffers[buffer].parameter;
      uint64_t pass = lives_on ? 0 : i / stream->task_count + 1;
      uint64_t object = options->by_address ? 0 : pass * 1000 + buffer;
      assert_true(o->count < 1000 && access->offset + access->bytes <= MOST_BYTES);
      o->accesses[o->count++] = (seen_access){access->mode,   i,
                                              object,         access->storage,
                                              access->offset, access->offset + access->bytes,
                                              task->start_ns, task->end_ns,
                                              lives_on};
    }
  }
}

static bool has(const seen_access *access, uint64_t byte) {
  return access->lo <= byte && byte < access->hi;
}
static bool reads(const seen_access *access) {
  return access->mode != WEIR_WRITE;
}
static bool writes(const seen_access *access) {
  return access->mode != WEIR_READ;
}

// Does access a come before b in time?
static bool before(const oracle *o, size_t a, size_t b) {
  const seen_access *x = &o->accesses[a], *y = &o->accesses[b];
  if (x->start != y->start) return x->start < y->start;
  return x->end != y->end ? x->end < y->end : a < b;
}

static bool race(const oracle *o, size_t a, size_t b) {
  const seen_access *x = &o->accesses[a], *y = &o->accesses[b];
  if (x->storage != y->storage || x->lo >= y->hi || y->lo >= x->hi || (!writes(x) && !writes(y))) return false;
  return (x->task == y->task && writes(x) && writes(y)) || !(x->end <= y->start || y->end <= x->start);
}

// The last write of the byte of an object before access `limit` in the program.
static size_t program_writer(const oracle *o, uint64_t object, uint64_t byte, size_t limit) {
  for (size_t i = limit; i-- > 0;) {
    if (o->accesses[i].object == object && writes(&o->accesses[i]) && has(&o->accesses[i], byte)) return i;
  }
  return NONE;
}

// The last write of the byte of a storage before access `limit` in time (NONE: of all).
static size_t time_writer(const oracle *o, uint64_t storage, uint64_t byte, size_t limit) {
  size_t last = NONE;
  for (size_t i = 0; i < o->count; i++) {
    const seen_access *access = &o->accesses[i];
    if (access->storage != storage || !writes(access) || !has(access, byte)) continue;
    if (limit != NONE && (i == limit || !before(o, i, limit))) continue;
    if (last == NONE || before(o, last, i)) last = i;
  }
  return last;
}

// Who first read the byte of an object that nobody had written: in the program, and when in time.
static size_t initial_reader(const oracle *o, uint64_t object, uint64_t byte, uint64_t *out_start) {
  size_t first = NONE;
  *out_start = UINT64_MAX;
  for (size_t i = 0; i < o->count; i++) {
    const seen_access *access = &o->accesses[i];
    if (access->object != object || !reads(access) || !has(access, byte)) continue;
    if (program_writer(o, object, byte, i) != NONE) continue;
    if (first == NONE) first = i;
    if (access->start < *out_start) *out_start = access->start;
  }
  return first;
}

// Is the byte of an object wrong for one who reads it in `storage` after `start`, as access `limit`?
static bool wrong_value(const oracle *o, uint64_t object, uint64_t byte, uint64_t storage, uint64_t start,
                        size_t limit) {
  size_t writer = program_writer(o, object, byte, limit == NONE ? o->count : limit);
  size_t there = time_writer(o, storage, byte, limit);
  if (writer != NONE) {
    const seen_access *wanted = &o->accesses[writer];
    return wanted->storage != storage || wanted->end > start || there != writer;
  }
  uint64_t first_start = 0;
  size_t first = initial_reader(o, object, byte, &first_start);
  if (first == NONE) return false;
  if (o->accesses[first].storage != storage) return true;
  return there != NONE && (o->accesses[there].object == object || o->accesses[there].end > first_start);
}

// Is what an object holds at the end in more than one storage, or no longer there?
static bool wrong_end(const oracle *o, const seen_access *any) {
  uint64_t storage = UINT64_MAX;
  for (uint64_t byte = 0; byte < MOST_BYTES; byte++) {
    uint64_t unused = 0;
    size_t source = program_writer(o, any->object, byte, o->count);
    if (source == NONE) source = initial_reader(o, any->object, byte, &unused);
    if (source == NONE) continue;
    if (storage == UINT64_MAX) storage = o->accesses[source].storage;
    if (o->accesses[source].storage != storage) return true;
    if (wrong_value(o, any->object, byte, storage, UINT64_MAX, NONE)) return true;
  }
  return false;
}

static bool broken(const oracle *o) {
  for (size_t i = 0; i < o->count; i++) {
    const seen_access *access = &o->accesses[i];
    for (size_t k = 0; k < i; k++) {
      if (race(o, k, i)) return true;
    }
    for (uint64_t byte = access->lo; byte < access->hi; byte++) {
      if (reads(access) && wrong_value(o, access->object, byte, access->storage, access->start, i)) return true;
      size_t last = time_writer(o, access->storage, byte, i);
      if (writes(access) && last != NONE && last > i && o->accesses[last].object == access->object) return true;
    }
    if (access->lives_on && wrong_end(o, access)) return true;
  }
  return false;
}

// Moves a few tasks in time and a few accesses to other storages.
static void disturb(weir__timeline *timeline, uint64_t *seed) {
  for (uint64_t i = random_in(seed, 0, 4); i > 0; i--) {
    weir__timeline_task *task = &timeline->tasks[random_in(seed, 0, timeline->task_count)];
    uint64_t length = random_in(seed, 0, 2) ? task->end_ns - task->start_ns : random_in(seed, 0, 30);
    uint64_t back = random_in(seed, 0, 40), start = task->start_ns + 20 > back ? task->start_ns + 20 - back : 0;
    task->submit_ns = 0;
    task->start_ns = start;
    task->end_ns = start + length;
  }
  if (timeline->access_count > 0 && random_in(seed, 0, 4) == 0) {
    weir__timeline_access *accesses = timeline->accesses;
    accesses[random_in(seed, 0, timeline->access_count)].storage =
        accesses[random_in(seed, 0, timeline->access_count)].storage;
  }
}

static bool two_buffers_used(const weir__stream *stream) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < stream->buffer_count; i++) used += stream->buffers[i].accessed;
  return used >= 2;
}

static void test_same_verdict(void **state) {
  (void)state;
  uint64_t seed = random_seed(7), proved = 0, rejected = 0;
  static oracle o;
  for (int round = 0; round < 6000; round++) {
    uint64_t round_seed = seed;
    stream_shape shape = {.tasks = (uint32_t)random_in(&seed, 1, 10), .buffers = (uint32_t)random_in(&seed, 1, 4)};
    shape.most_bytes = random_in(&seed, 1, 7);
    weir__stream *stream = random_stream(&shape, random_next(&seed));
    schedule_options options = {.passes = (uint32_t)random_in(&seed, 1, 4), .workers = 3, .seed = random_next(&seed)};
    options.rename = random_in(&seed, 0, 3) != 0;
    options.kept = random_in(&seed, 0, 3) == 0;
    options.by_address = two_buffers_used(stream) && random_in(&seed, 0, 4) == 0;
    weir__timeline *timeline = schedule(stream, &options);
    disturb(timeline, &seed);
    fill(&o, timeline, stream, &options);
    weir__check_options check = {.ignore_host_waits = true};
    check.storage = options.kept ? WEIR__CHECK_STORAGE_KEPT : WEIR__CHECK_STORAGE_FRESH;
    weir__check_report report;
    weir__check_timeline(timeline, stream, &check, &report);
    bool wanted = broken(&o);
    if (wanted != (report.result == WEIR__CHECK_BROKEN)) {
      fail_msg("round %d, WEIR_TEST_SEED=%llu: %s, but the checker says: %s", round, (unsigned long long)round_seed,
               wanted ? "broken" : "correct", report.text);
    }
    rejected += wanted;
    proved += !wanted;
    weir__timeline_destroy(timeline);
    weir__stream_destroy(stream);
  }
  printf("%llu proved, %llu rejected\n", (unsigned long long)proved, (unsigned long long)rejected);
  assert_true(proved > 1000 && rejected > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_verdict)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
