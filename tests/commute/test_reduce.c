// SPDX-License-Identifier: Apache-2.0
//
// Reductions: tasks that add to private copies at the same time, and whatever comes next sees the sum.
#include "api.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/allocate.h"
#include "random.h"
#include "sweep.h"
#include "weir/graph.h"
#include "weir/reduce.h"
#include "weir/sim.h"

static const weir_reduction sum = {.operation = WEIR_REDUCE_SUM, .type = WEIR_REDUCE_U64};

// One task holds the buffer at a gate, and others add meanwhile: so they have a copy of their own.
typedef struct scene {
  weir_context *context;
  weir_buffer *total, *one;
  gate hold;
} scene;

static void open_scene(scene *self, const char *devices) {
  *self = (scene){.context = api_context(devices, 0, 0)};
  self->total = api_number(self->context, 100);
  self->one = api_number(self->context, 1);
  weir_arg args[] = {weir_reduces(self->total, &sum)};
  api_expect(weir_finish(self->context), WEIR_OK, NULL);
  api_expect(gate_submit(self->context, &self->hold, args, 1, NULL), WEIR_OK, NULL);
  gate_await(&self->hold, 1);
}

static weir_event *add(scene *self) {
  weir_arg args[] = {weir_reads(self->one), weir_reduces(self->total, &sum)};
  return api_submit_host(self->context, api_add, NULL, args, 2);
}

static void add_three(scene *self) {
  for (int i = 0; i < 3; i++) assert_int_equal(api_await(add(self)), WEIR_OK);
}

static void close_scene(scene *self) {
  gate_open(&self->hold);
  weir_context_release(self->context);
}

static void tasks_run_at_the_same_time(void **state) {
  (void)state;
  scene self;
  open_scene(&self, "cpu:2");
  add_three(&self);
  weir_event *read = NULL;
  uint64_t found = 0;
  api_expect(weir_copy_out(self.total, 0, 8, &found, &read), WEIR_OK, NULL);
  assert_int_equal(weir_event_poll(read), WEIR_PENDING);
  gate_open(&self.hold);
  assert_int_equal(api_await(read), WEIR_OK);
  assert_int_equal(found, 103);
  add_three(&self);
  assert_int_equal(api_read_number(self.total), 106);
  close_scene(&self);
}

// The next access of another kind combines the copies, whichever it is.
static void whatever_comes_next(void **state) {
  (void)state;
  for (int kind = 0; kind < 7; kind++) {
    scene self;
    open_scene(&self, "cpu:3");
    add_three(&self);
    weir_graph *graph;
    weir_buffer *seen = api_number(self.context, 0);
    weir_arg adds[] = {weir_reads(self.total), weir_updates(seen)};
    weir_arg more[] = {weir_reads(self.one), weir_commutes(self.total)};
    static const weir_reduction other = {.operation = WEIR_REDUCE_SUM, .type = WEIR_REDUCE_I64};
    gate_open(&self.hold);
    switch (kind) {
    case 0:
      api_expect(weir_copy(seen, 0, self.total, 0, 8, NULL), WEIR_OK, NULL);
      break;
    case 1:
      weir_event_release(api_submit_host(self.context, api_add, NULL, adds, 2));
      break;
    case 2:
      api_expect(weir_graph_create(self.context, NULL, &graph), WEIR_OK, NULL);
      api_expect(weir_graph_add(graph, &(weir_task){.host = api_nothing, .args = adds, .arg_count = 2}, NULL), WEIR_OK,
                 NULL);
      api_expect(weir_graph_copy(graph, seen, 0, self.total, 0, 8, NULL), WEIR_OK, NULL);
      api_expect(weir_graph_launch(graph, NULL), WEIR_OK, NULL);
      break;
    case 3:
      weir_event_release(api_submit_host(self.context, api_add, NULL, more, 2));
      break;
    case 4:
      more[1] = weir_reduces(self.total, &other);
      weir_event_release(api_submit_host(self.context, api_add, NULL, more, 2));
      break;
    case 5:
      api_expect(weir_fill(self.total, 4, 4, 7, NULL), WEIR_OK, NULL);
      break;
    default:
      api_expect(weir_fill(self.total, 0, WEIR_WHOLE, 7, NULL), WEIR_OK, NULL);
    }
    if (kind < 3) assert_int_equal(api_read_number(seen), 103);
    uint64_t high = UINT64_C(7) << 32, wanted = kind < 3 ? 103 : kind < 5 ? 104 : kind == 5 ? high + 103 : high + 7;
    assert_int_equal(api_read_number(self.total), wanted);
    close_scene(&self);
  }
}

static void no_copies_where_the_memory_is_the_callers(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:4", 0, 0);
  uint64_t memory = 5;
  weir_buffer *total, *one = api_number(context, 1);
  api_expect(weir_buffer_wrap(context, &memory, sizeof memory, &total), WEIR_OK, NULL);
  weir_arg args[] = {weir_reads(one), weir_reduces(total, &sum)};
  for (int i = 0; i < 200; i++) weir_event_release(api_submit_host(context, api_add, NULL, args, 2));
  api_expect(weir_finish(context), WEIR_OK, NULL);
  assert_int_equal(memory, 205);
  weir_context_release(context);
}

// Released while tasks add: nobody misses anything.
static void released_before_the_sum_is_read(void **state) {
  (void)state;
  scene self;
  open_scene(&self, "cpu:2");
  add_three(&self);
  weir_event *last = add(&self);
  api_expect(weir_buffer_release(self.total), WEIR_OK, NULL);
  assert_int_equal(api_await(last), WEIR_OK);
  gate_open(&self.hold);
  api_expect(weir_finish(self.context), WEIR_OK, NULL);
  close_scene(&self);
  open_scene(&self, "cpu:2");
  add_three(&self);
  close_scene(&self); // with the copies
}

static void one_fails(void **state) {
  (void)state;
  scene self;
  uint64_t found;
  open_scene(&self, "cpu:2");
  weir_arg args[] = {weir_reduces(self.total, &sum)};
  assert_int_equal(api_await(api_submit_host(self.context, api_fail, NULL, args, 1)), WEIR_ERROR_TASK_FAILED);
  gate_open(&self.hold);
  assert_int_equal(api_read(self.total, 0, 8, &found), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_finish(self.context), WEIR_ERROR_TASK_FAILED);
  api_expect(weir_fill(self.total, 0, 8, 0, NULL), WEIR_OK, NULL);
  add_three(&self);
  assert_int_equal(api_read_number(self.total), 3);
  close_scene(&self);
}

static void cancelled(void **state) {
  (void)state;
  scene self;
  uint64_t found;
  open_scene(&self, "cpu:3");
  weir_buffer *late = api_number(self.context, 0);
  gate hold = {0};
  api_expect(gate_submit(self.context, &hold, (weir_arg[]){weir_updates(late)}, 1, NULL), WEIR_OK, NULL);
  weir_arg args[] = {weir_reads(late), weir_reduces(self.total, &sum)};
  weir_event *event = api_submit_host(self.context, api_add, NULL, args, 2);
  weir_context_cancel(self.context);
  gate_open(&hold);
  gate_open(&self.hold);
  assert_int_equal(api_await(event), WEIR_ERROR_CANCELLED);
  assert_int_equal(api_read(self.total, 0, 8, &found), WEIR_ERROR_UPSTREAM_FAILED);
  close_scene(&self);
}

static void combine_numbers(const weir_work *work) {
  api_add(&(weir_work){.args = (void *[]){work->args[1], work->args[0]}, .arg_count = 2});
}

static void a_kernel_that_is_released(void **state) {
  (void)state;
  scene self;
  open_scene(&self, "cpu:2");
  weir_kernel *kernel = api_kernel(self.context, "combine", combine_numbers);
  weir_reduction by_kernel = {.combine = kernel};
  weir_arg args[] = {weir_reads(self.one), weir_reduces(self.total, &by_kernel)};
  gate_open(&self.hold);
  gate hold = {0};
  api_expect(gate_submit(self.context, &hold, args + 1, 1, NULL), WEIR_OK, NULL);
  gate_await(&hold, 1);
  for (int i = 0; i < 3; i++)
    assert_int_equal(api_await(api_submit_host(self.context, api_add, NULL, args, 2)), WEIR_OK);
  api_expect(weir_kernel_release(kernel), WEIR_OK, NULL);
  api_expect(weir_submit(self.context, &(weir_task){.host = api_add, .args = args, .arg_count = 2}, NULL),
             WEIR_ERROR_RELEASED, "argument 1", NULL);
  gate_open(&hold);
  assert_int_equal(api_read_number(self.total), 103);
  close_scene(&self);
}

static void what_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_buffer *total = api_number(context, 0);
  weir_reduction bad[] = {{.operation = (weir_reduce_operation)9},
                          {.operation = WEIR_REDUCE_SUM, .type = (weir_reduce_type)9},
                          {0},
                          {.combine = api_kernel(context, "combine", combine_numbers), .identity_bytes = 3},
                          {.operation = WEIR_REDUCE_SUM, .reserved = {1}},
                          {.operation = WEIR_REDUCE_MAX, .type = WEIR_REDUCE_F64}};
  static const char *const says[] = {"operation 9", "type 9",   "neither an operation nor a kernel",
                                     "3 bytes",     "reserved", "bytes [4, 8)"};
  for (int i = 0; i < 6; i++) {
    weir_arg arg = weir_reduces_range(total, i == 5 ? 4 : 0, WEIR_WHOLE, &bad[i]);
    weir_task task = {.host = api_nothing, .args = &arg, .arg_count = 1, .label = "adds"};
    api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "adds", "argument 0", says[i], NULL);
  }
  weir_arg none = weir_reduces(total, NULL);
  api_expect(weir_submit(context, &(weir_task){.host = api_nothing, .args = &none, .arg_count = 1}, NULL),
             WEIR_ERROR_INVALID_ARGUMENT, "argument 0: the reduction is NULL", NULL);
  assert_int_equal(api_read_number(total), 0);
  weir_context_release(context);
}

// A task of another buffer needs the memory that copies have.
static void memory_is_short(void **state) {
  (void)state;
  enum { BYTES = 1 << 20 };
  weir_context *context;
  weir_context_options options = {.devices = "cpu:4", .memory_limit = 10 * BYTES};
  api_expect(weir_context_create(&options, &context), WEIR_OK, NULL);
  weir_buffer *total = api_buffer(context, BYTES, "total"), *one = api_number(context, 1);
  api_expect(weir_fill(total, 0, WEIR_WHOLE, 0, NULL), WEIR_OK, NULL);
  api_expect(weir_finish(context), WEIR_OK, NULL);
  gate hold = {0};
  weir_arg args[] = {weir_reads(one), weir_reduces(total, &sum)};
  api_expect(gate_submit(context, &hold, args + 1, 1, NULL), WEIR_OK, NULL);
  gate_await(&hold, 1);
  for (int i = 0; i < 10; i++) assert_int_equal(api_await(api_submit_host(context, api_add, NULL, args, 2)), WEIR_OK);
  gate_open(&hold);
  for (int i = 0; i < 8; i++)
    api_expect(weir_fill(api_buffer(context, BYTES, "other"), 0, WEIR_WHOLE, 1, NULL), WEIR_OK, NULL);
  assert_int_equal(api_read_number(total), 10);
  weir_context_release(context);
}

enum { THREADS = 4, ADDS = 300 };

// Adds, and now and then looks at the sum, which only grows.
static void *add_and_look(void *user) {
  scene *self = user;
  uint64_t last = 0;
  for (int i = 0; i < ADDS; i++) {
    weir_event_release(add(self));
    if (i % 50 != 7) continue;
    uint64_t found = api_read_number(self->total);
    assert_true(found >= last);
    last = found;
  }
  return NULL;
}

static void from_many_threads(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    scene self = {0};
    weir_context_options options = {.devices = "cpu:3", .window = seed % 2 == 0 ? 8 : 0, .seed = seed};
    if (seed == 3) options.memory_limit = 4096;
    api_expect(weir_context_create(&options, &self.context), WEIR_OK, NULL);
    self.total = api_number(self.context, 0);
    self.one = api_number(self.context, 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, add_and_look, &self), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(api_read_number(self.total), THREADS * ADDS);
    weir_context_release(self.context);
  }
}

static void add_slowly(const weir_work *work) {
  usleep(100);
  api_add(work);
}

// The Nth allocation fails: what was accepted is in the sum, unless a task failed.
static bool with_failing_allocation(uint64_t n) {
  scene self;
  open_scene(&self, "cpu:3");
  gate_open(&self.hold); // submitting may wait for it
  uint64_t before = weir__allocate_count(), accepted = 0, found = 0;
  weir_arg args[] = {weir_reads(self.one), weir_reduces(self.total, &sum)};
  weir_arg commutes[] = {weir_reads(self.one), weir_commutes(self.total)};
  weir__allocate_fail_at(n);
  for (int i = 0; i < 40; i++) {
    weir_task task = {.host = add_slowly, .args = i % 10 == 9 ? commutes : args, .arg_count = 2};
    weir_status status = weir_submit(self.context, &task, NULL);
    if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    accepted += status == WEIR_OK;
  }
  weir_status status = weir_copy_out(self.total, 0, 8, &found, NULL);
  bool failed = weir__allocate_count() - before >= n;
  weir__allocate_fail_at(0);
  if (status != WEIR_OK) {
    assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    api_expect(weir_copy_out(self.total, 0, 8, &found, NULL), WEIR_OK, NULL);
  }
  api_expect(weir_finish(self.context), WEIR_OK, NULL);
  assert_int_equal(found, 100 + accepted);
  close_scene(&self);
  return failed;
}

static void without_memory(void **state) {
  (void)state;
  uint64_t n = 1;
  while (with_failing_allocation(n)) n = sweep_after(n);
  assert_true(n > 3);
}

#define FOLD(type, unsigned_type)                                                                                      \
  static void fold_##type(const weir_work *work) {                                                                     \
    const type *from = work->args[0];                                                                                  \
    type *to = work->args[1];                                                                                          \
    weir_reduce_operation operation = *(const weir_reduce_operation *)work->args[2];                                   \
    for (int i = 0; i < 5; i++) {                                                                                      \
      type a = to[i], b = from[i];                                                                                     \
      to[i] = operation == WEIR_REDUCE_SUM       ? (type)((unsigned_type)a + (unsigned_type)b)                         \
              : operation == WEIR_REDUCE_PRODUCT ? (type)((unsigned_type)a * (unsigned_type)b)                         \
              : operation == WEIR_REDUCE_MIN     ? (a < b ? a : b)                                                     \
                                                 : (a > b ? a : b);                                                        \
    }                                                                                                                  \
  }
FOLD(float, float)
FOLD(double, double)
FOLD(int32_t, uint32_t)
FOLD(uint32_t, uint32_t)
FOLD(int64_t, uint64_t)
FOLD(uint64_t, uint64_t)

static const struct {
  weir_reduce_type type;
  uint32_t bytes;
  weir_function fold;
} types[] = {{WEIR_REDUCE_F32, 4, fold_float},   {WEIR_REDUCE_F64, 8, fold_double},
             {WEIR_REDUCE_I32, 4, fold_int32_t}, {WEIR_REDUCE_U32, 4, fold_uint32_t},
             {WEIR_REDUCE_I64, 8, fold_int64_t}, {WEIR_REDUCE_U64, 8, fold_uint64_t}};

// Small whole numbers, of which floats make no error.
static void random_elements(random_state *random, weir_reduce_type type, unsigned char bytes[40], bool product) {
  for (int i = 0; i < 5; i++) {
    int32_t number = (int32_t)random_below(random, product ? 2 : 2000) - (product ? 0 : 1000);
    if (product) number = number == 0 ? 2 : -1;
    float f32 = (float)number;
    double f64 = number;
    int64_t i64 = number;
    uint32_t size = types[type].bytes;
    const void *from = type == WEIR_REDUCE_F32 ? (void *)&f32 : type == WEIR_REDUCE_F64 ? (void *)&f64 : (void *)&i64;
    memcpy(bytes + (uint32_t)i * size, from, size);
  }
}

static void all_operations(void **state) {
  (void)state;
  random_state random = {3};
  for (uint32_t t = 0; t < 6; t++) {
    for (weir_reduce_operation o = WEIR_REDUCE_SUM; o <= WEIR_REDUCE_MAX; o++) {
      weir_context *context = api_context("cpu:3", 0, 0);
      weir_reduction reduction = {.operation = o, .type = types[t].type};
      uint64_t bytes = 5 * types[t].bytes;
      weir_buffer *total = api_buffer(context, 8 + bytes, "total"), *from[20];
      unsigned char wanted[40], found[40], next[40];
      random_elements(&random, types[t].type, wanted, o == WEIR_REDUCE_PRODUCT);
      api_expect(weir_copy_in(total, 8, bytes, wanted, NULL), WEIR_OK, NULL);
      api_expect(weir_finish(context), WEIR_OK, NULL);
      for (int i = 0; i < 20; i++) {
        random_elements(&random, types[t].type, next, o == WEIR_REDUCE_PRODUCT);
        types[t].fold(&(weir_work){.args = (void *[]){next, wanted, &o}});
        from[i] = api_buffer(context, bytes, "from");
        api_expect(weir_copy_in(from[i], 0, bytes, next, NULL), WEIR_OK, NULL);
        api_expect(weir_finish(context), WEIR_OK, NULL);
      }
      gate hold = {0};
      weir_arg args[] = {weir_reads(from[0]), weir_reduces_range(total, 8, bytes, &reduction),
                         weir_value(&o, sizeof o)};
      api_expect(gate_submit(context, &hold, args + 1, 1, NULL), WEIR_OK, NULL);
      for (int i = 0; i < 20; i++) {
        args[0] = weir_reads(from[i]);
        weir_event_release(api_submit_host(context, types[t].fold, NULL, args, 3));
      }
      gate_open(&hold);
      api_expect(api_read(total, 8, bytes, found), WEIR_OK, NULL);
      assert_memory_equal(found, wanted, bytes);
      weir_context_release(context);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_run_at_the_same_time),
      cmocka_unit_test(whatever_comes_next),
      cmocka_unit_test(no_copies_where_the_memory_is_the_callers),
      cmocka_unit_test(released_before_the_sum_is_read),
      cmocka_unit_test(one_fails),
      cmocka_unit_test(cancelled),
      cmocka_unit_test(a_kernel_that_is_released),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(memory_is_short),
      cmocka_unit_test(all_operations),
      cmocka_unit_test(from_many_threads),
      cmocka_unit_test(without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
