// SPDX-License-Identifier: Apache-2.0
//
// What the reader makes of good streams, and that writing one gives it back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream/stream.h"

static const char *const samples[] = {"condconv_b0",  "dynroute_a.0", "dynroute_a.1", "dynroute_a.2", "hrnet_w18",
                                      "inception_v3", "nasnetalarge", "randwire",     "squeezenet"};
enum { SAMPLE_COUNT = sizeof samples / sizeof *samples };

static const char small[] =
    "{\"weir_stream\":1,\"name\":\"small\",\"source\":\"made\",\"device\":null,\"sms\":132,\"tasks\":3,\"kernels\":3,"
    "\"kernel_us\":10.25,\"serial_graph_us\":null}\n"
    "{\"buffer\":5,\"bytes\":100,\"address\":4096}\n"
    "{\"buffer\":9,\"bytes\":64,\"address\":8192}\n"
    "{\"op\":\"first\",\"reads\":[[5,0,60],[9,4,0]],\"writes\":[[5,50,20],[9,0,64]],\"kernels\":[{\"name\":\"k\","
    "\"grid\":"
    "[2,3,4],\"block\":[32,2,1],\"regs\":40,\"smem\":1024,\"us\":1.183}],\"host_wait\":true}\n"
    "{\"free\":[9]}\n"
    "{\"buffer\":2,\"bytes\":64,\"address\":8192}\n"
    "{\"op\":\"second\",\"reads\":[],\"writes\":[[2,0,32]],\"kernels\":[{\"name\":\"Memset\",\"bytes\":32,\"us\":1.5},"
    "{\"name\":\"\\u00e9\\n\",\"bytes\":1,\"us\":0}]}\n"
    "{\"op\":\"third\",\"reads\":[[2,0,64]],\"writes\":[],\"kernels\":[]}\n"
    "{\"free\":[]}\n";

static weir__stream *read_sample(const char *name) {
  char path[200], message[400];
  weir__stream *stream = NULL;
  snprintf(path, sizeof path, "examples/streams/%s.jsonl", name);
  if (weir__stream_read(path, message, sizeof message, &stream) != WEIR_OK) fail_msg("%s", message);
  return stream;
}

static weir__stream *read_text(const char *text) {
  char message[400];
  weir__stream *stream = NULL;
  if (weir__stream_read_memory("f", text, strlen(text), message, sizeof message, &stream) != WEIR_OK) {
    fail_msg("%s", message);
  }
  return stream;
}

static void assert_access(const weir__stream_access *access, weir_mode mode, uint32_t buffer, uint64_t offset,
                          uint64_t bytes) {
  assert_int_equal(access->mode, mode);
  assert_int_equal(access->buffer, buffer);
  assert_int_equal(access->offset, offset);
  assert_int_equal(access->bytes, bytes);
}

static void test_small(void **state) {
  (void)state;
  weir__stream *stream = read_text(small);
  assert_string_equal(stream->name, "small");
  assert_string_equal(stream->source, "made");
  assert_null(stream->device);
  assert_int_equal(stream->sms, 132);
  assert_int_equal(stream->kernel_count, 3);
  assert_true(stream->kernel_us == 10.25 && stream->eager_us == -1 && stream->serial_graph_us == -1);
  assert_int_equal(stream->buffer_count, 3);
  assert_int_equal(stream->buffers[0].id, 5);
  assert_int_equal(stream->buffers[2].address, 8192);
  assert_int_equal(stream->buffers[2].line, 6);
  assert_true(stream->buffers[0].parameter && !stream->buffers[0].freed);
  assert_true(!stream->buffers[1].parameter && stream->buffers[1].freed);    // read as no bytes, and freed
  assert_true(!stream->buffers[2].parameter && stream->buffers[2].accessed); // written first, and only in part

  static const weir__stream_event_kind kinds[] = {WEIR__STREAM_BUFFER, WEIR__STREAM_BUFFER, WEIR__STREAM_TASK,
                                                  WEIR__STREAM_FREE,   WEIR__STREAM_BUFFER, WEIR__STREAM_TASK,
                                                  WEIR__STREAM_TASK,   WEIR__STREAM_FREE};
  assert_int_equal(stream->event_count, 8);
  for (uint32_t i = 0; i < 8; i++) {
    assert_int_equal(stream->events[i].kind, kinds[i]);
    assert_int_equal(stream->events[i].line, i + 2);
  }
  assert_int_equal(stream->events[3].count, 1);
  assert_int_equal(stream->freed[stream->events[3].index], 1);
  assert_int_equal(stream->events[7].count, 0);

  const weir__stream_task *task = &stream->tasks[0];
  assert_string_equal(task->op, "first");
  assert_true(task->host_wait && !stream->tasks[1].host_wait);
  assert_int_equal(task->read_count, 2);
  assert_int_equal(task->reads[1].bytes, 0);
  assert_int_equal(task->access_count, 4);
  assert_access(&task->accesses[0], WEIR_READ, 0, 0, 50);
  assert_access(&task->accesses[1], WEIR_READ_WRITE, 0, 50, 10);
  assert_access(&task->accesses[2], WEIR_WRITE, 0, 60, 10);
  assert_access(&task->accesses[3], WEIR_WRITE, 1, 0, 64);
  assert_int_equal(task->kernels[0].grid[2], 4);
  assert_int_equal(task->kernels[0].block[1], 2);
  assert_int_equal(task->kernels[0].registers, 40);
  assert_int_equal(stream->tasks[1].kernels[0].copy_bytes, 32);
  assert_true(weir__stream_task_us(&stream->tasks[1]) == 1.5);
  assert_int_equal(stream->tasks[2].kernel_count, 0);
  weir__stream_destroy(stream);
}

// Which buffers are parameters: the first task that touches them reads them, and they are never freed.
static void test_parameters(void **state) {
  (void)state;
  weir__stream *stream = read_text(
      "{\"weir_stream\":1,\"name\":\"p\",\"sms\":1,\"tasks\":2}\n"
      "{\"buffer\":0,\"bytes\":8,\"address\":0}\n{\"buffer\":1,\"bytes\":8,\"address\":8}\n"
      "{\"buffer\":2,\"bytes\":8,\"address\":16}\n{\"buffer\":3,\"bytes\":8,\"address\":24}\n"
      "{\"buffer\":4,\"bytes\":8,\"address\":32}\n{\"buffer\":5,\"bytes\":8,\"address\":40}\n"
      "{\"op\":\"a\",\"reads\":[[0,0,8],[1,0,8],[2,0,4],[4,0,8]],\"writes\":[[1,0,8],[2,4,4],[3,0,4]],\"kernels\":[]}\n"
      "{\"op\":\"b\",\"reads\":[[3,0,8]],\"writes\":[],\"kernels\":[]}\n{\"free\":[4]}\n");
  static const bool parameter[] = {true, true, true, false, false, false};
  static const bool accessed[] = {true, true, true, true, true, false};
  for (uint32_t i = 0; i < 6; i++) {
    assert_int_equal(stream->buffers[i].parameter, parameter[i]);
    assert_int_equal(stream->buffers[i].accessed, accessed[i]);
  }
  weir__stream_destroy(stream);
}

// The normal form of accesses against the modes of single bytes, on random lists.
static void test_accesses_by_byte(void **state) {
  (void)state;
  uint32_t random = 12345;
  for (int round = 0; round < 500; round++) {
    unsigned char bytes[2][32] = {{0}}; // per byte: 1 read, 2 written
    char lists[2][2000] = {"", ""};
    for (int list = 0; list < 2; list++) {
      for (uint32_t i = 0; i < (uint32_t)round % 9; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t buffer = random >> 30 & 1, offset = (random >> 20) % 33, length = (random >> 8) % (33 - offset);
        size_t used = strlen(lists[list]);
        snprintf(lists[list] + used, sizeof lists[list] - used, "%s[%u,%u,%u]", i ? "," : "", buffer, offset, length);
        for (uint32_t byte = offset; byte < offset + length; byte++) bytes[buffer][byte] |= (unsigned char)(list + 1);
      }
    }
    char text[5000];
    snprintf(
        text, sizeof text,
        "{\"weir_stream\":1,\"name\":\"p\",\"sms\":1,\"tasks\":1}\n{\"buffer\":0,\"bytes\":32,\"address\":0}\n"
        "{\"buffer\":1,\"bytes\":32,\"address\":32}\n{\"op\":\"a\",\"reads\":[%s],\"writes\":[%s],\"kernels\":[]}\n",
        lists[0], lists[1]);
    weir__stream *stream = read_text(text);
    const weir__stream_task *task = &stream->tasks[0];
    for (uint32_t i = 0; i < task->access_count; i++) {
      const weir__stream_access *access = &task->accesses[i];
      assert_true(access->bytes > 0);
      if (i > 0) { // sorted, disjoint, and no two that could be one
        const weir__stream_access *last = access - 1;
        assert_true(last->buffer <= access->buffer);
        assert_true(last->buffer < access->buffer || last->offset + last->bytes < access->offset ||
                    (last->offset + last->bytes == access->offset && last->mode != access->mode));
      }
      for (uint64_t byte = access->offset; byte < access->offset + access->bytes; byte++) {
        assert_int_equal(bytes[access->buffer][byte], access->mode);
        bytes[access->buffer][byte] = 0;
      }
    }
    for (int i = 0; i < 64; i++) assert_int_equal(bytes[i / 32][i % 32], 0);
    weir__stream_destroy(stream);
  }
}

static void assert_same_text(const char *a, const char *b) {
  assert_true((a == NULL) == (b == NULL));
  if (a) assert_string_equal(a, b);
}

static void assert_same_kernels(const weir__stream_task *a, const weir__stream_task *b) {
  assert_int_equal(a->kernel_count, b->kernel_count);
  for (uint32_t i = 0; i < a->kernel_count; i++) {
    weir__stream_kernel x = a->kernels[i], y = b->kernels[i];
    assert_string_equal(x.name, y.name);
    assert_memory_equal(x.grid, y.grid, sizeof x.grid);
    assert_memory_equal(x.block, y.block, sizeof x.block);
    assert_true(x.us == y.us && x.registers == y.registers && x.shared_bytes == y.shared_bytes);
    assert_int_equal(x.copy_bytes, y.copy_bytes);
  }
}

static void assert_same_ranges(const weir__stream_range *a, uint32_t a_count, const weir__stream_range *b,
                               uint32_t b_count) {
  assert_int_equal(a_count, b_count);
  for (uint32_t i = 0; i < a_count; i++) {
    assert_true(a[i].buffer == b[i].buffer && a[i].offset == b[i].offset && a[i].bytes == b[i].bytes);
  }
}

static void assert_same_accesses(const weir__stream_task *a, const weir__stream_task *b) {
  assert_int_equal(a->access_count, b->access_count);
  for (uint32_t i = 0; i < a->access_count; i++) {
    assert_access(&a->accesses[i], b->accesses[i].mode, b->accesses[i].buffer, b->accesses[i].offset,
                  b->accesses[i].bytes);
  }
}

static void assert_same(const weir__stream *a, const weir__stream *b) {
  assert_same_text(a->name, b->name);
  assert_same_text(a->source, b->source);
  assert_same_text(a->device, b->device);
  assert_true(a->sms == b->sms && a->kernel_count == b->kernel_count && a->kernel_us == b->kernel_us);
  assert_true(a->eager_us == b->eager_us && a->serial_graph_us == b->serial_graph_us);
  assert_true(a->critical_us_by_address == b->critical_us_by_address);
  assert_true(a->critical_us_by_buffer == b->critical_us_by_buffer);
  assert_int_equal(a->buffer_count, b->buffer_count);
  for (uint32_t i = 0; i < a->buffer_count; i++) {
    weir__stream_buffer x = a->buffers[i], y = b->buffers[i];
    assert_true(x.id == y.id && x.bytes == y.bytes && x.address == y.address && x.freed == y.freed);
    assert_true(x.accessed == y.accessed && x.parameter == y.parameter);
  }
  assert_int_equal(a->freed_count, b->freed_count);
  for (uint32_t i = 0; i < a->freed_count; i++) assert_int_equal(a->freed[i], b->freed[i]);
  assert_int_equal(a->event_count, b->event_count);
  for (uint32_t i = 0; i < a->event_count; i++) {
    assert_int_equal(a->events[i].kind, b->events[i].kind);
    assert_int_equal(a->events[i].index, b->events[i].index);
    assert_int_equal(a->events[i].count, b->events[i].count);
  }
  assert_int_equal(a->task_count, b->task_count);
  for (uint32_t i = 0; i < a->task_count; i++) {
    const weir__stream_task *x = &a->tasks[i], *y = &b->tasks[i];
    assert_string_equal(x->op, y->op);
    assert_int_equal(x->host_wait, y->host_wait);
    assert_same_ranges(x->reads, x->read_count, y->reads, y->read_count);
    assert_same_ranges(x->writes, x->write_count, y->writes, y->write_count);
    assert_same_accesses(x, y);
    assert_same_kernels(x, y);
  }
}

static void assert_round_trip(const weir__stream *stream) {
  char path[] = "/tmp/weir_stream_XXXXXX", message[400];
  weir__stream *again = NULL;
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  if (weir__stream_write(stream, path, message, sizeof message) != WEIR_OK) fail_msg("%s", message);
  if (weir__stream_read(path, message, sizeof message, &again) != WEIR_OK) fail_msg("%s", message);
  assert_same(stream, again);
  weir__stream_destroy(again);
  unlink(path);
}

static void test_round_trip(void **state) {
  (void)state;
  weir__stream *stream = read_text(small);
  assert_round_trip(stream);
  weir__stream_destroy(stream);
  for (size_t i = 0; i < SAMPLE_COUNT; i++) {
    stream = read_sample(samples[i]);
    assert_string_equal(stream->name, samples[i]);
    assert_round_trip(stream);
    weir__stream_destroy(stream);
  }
}

static void test_write_fails(void **state) {
  (void)state;
  char message[400];
  weir__stream *stream = read_text(small);
  assert_int_equal(weir__stream_write(stream, "/no/such/file", message, sizeof message), WEIR_ERROR_IO);
  assert_string_equal(message, "/no/such/file: No such file or directory");
  assert_int_equal(weir__stream_write(stream, "/dev/full", message, sizeof message), WEIR_ERROR_IO);
  assert_string_equal(message, "/dev/full: No space left on device");
  weir__stream_destroy(stream);
}

// A stream that is cut anywhere is refused, unless only whole lines after the last task are gone (or an end of line).
static void test_cut_everywhere(void **state) {
  (void)state;
  char message[400];
  const char *last_task = strstr(small, "{\"op\":\"third\"");
  size_t tail = (size_t)(strchr(last_task, '\n') - small), whole = strlen(small);
  for (size_t cut = 0; cut < whole; cut++) {
    weir__stream *stream = NULL;
    char *copy = malloc(cut > 0 ? cut : 1);
    assert_non_null(copy);
    memcpy(copy, small, cut);
    weir_status status = weir__stream_read_memory("f", copy, cut, message, sizeof message, &stream);
    bool prefix = cut == tail || cut == tail + 1 || cut + 1 == whole;
    assert_int_equal(status, prefix ? WEIR_OK : WEIR_ERROR_INVALID_ARGUMENT);
    if (!prefix) assert_true(strncmp(message, "f:", 2) == 0);
    weir__stream_destroy(stream);
    free(copy);
  }
}

// Totals of the sample streams as their recorder wrote them, and the work bound where it is the published limit.
static void test_sample_totals(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLE_COUNT; i++) {
    weir__stream *stream = read_sample(samples[i]);
    double us = 0, work_us = 0;
    for (uint32_t k = 0; k < stream->task_count; k++) {
      us += weir__stream_task_us(&stream->tasks[k]);
      work_us += weir__stream_task_work_us(&stream->tasks[k], stream->sms);
    }
    assert_true(us > stream->kernel_us - 0.1 && us < stream->kernel_us + 0.1);
    assert_true(work_us > 0 && work_us < us);
    if (strcmp(samples[i], "nasnetalarge") == 0) assert_true(work_us > 2037.5 && work_us < 2038.5);
    weir__stream_destroy(stream);
  }
}

static void test_costs(void **state) {
  (void)state;
  typedef struct cost_case {
    uint32_t threads, registers, shared_bytes, blocks_per_sm;
  } cost_case;
  static const cost_case cases[] = {
      {1024, 0, 0, 2},    {1024, 32, 0, 2},   {1024, 33, 0, 1}, // registers rounded up to 40: 1 block
      {1024, 255, 0, 1},                                        // does not fit: counts as 1
      {1, 1, 0, 32},      {33, 0, 0, 32},     {65, 0, 0, 21},   // 96 threads
      {128, 92, 6528, 5}, {64, 92, 6528, 10}, {128, 18, 49152, 4}, {32, 8, 231424, 1}, {32, 8, 400000, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    weir__stream_kernel kernel = {.grid = {1000, 1, 1}, .block = {cases[i].threads, 1, 1}, .us = 8};
    kernel.registers = cases[i].registers;
    kernel.shared_bytes = cases[i].shared_bytes;
    weir__stream_cost cost;
    weir__stream_kernel_cost(&kernel, 10, &cost);
    assert_int_equal(cost.blocks_per_sm, cases[i].blocks_per_sm);
    assert_int_equal(cost.capacity, cases[i].blocks_per_sm * 10);
    assert_int_equal(cost.blocks, 1000);
    assert_int_equal(cost.waves, (1000 + cost.capacity - 1) / cost.capacity);
    double work = 8.0 * 1000 / (double)(cost.waves * cost.capacity);
    assert_true(cost.work_us > work * 0.999999 && cost.work_us < work * 1.000001);
  }
  weir__stream_kernel copy = {.us = 8, .copy_bytes = 100};
  weir__stream_cost cost;
  weir__stream_kernel_cost(&copy, 10, &cost);
  assert_true(cost.work_us > 0.3999 && cost.work_us < 0.4001 && cost.blocks == 0 && cost.waves == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small),         cmocka_unit_test(test_parameters),  cmocka_unit_test(test_accesses_by_byte),
      cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_write_fails), cmocka_unit_test(test_cut_everywhere),
      cmocka_unit_test(test_sample_totals), cmocka_unit_test(test_costs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
