// SPDX-License-Identifier: Apache-2.0
//
// kp::OpBase and the operations that come with Kompute.
#include <math.h>
#include <unistd.h>

#include "gate.h"
#include "kompute.h"
#include "multiply.spv.h"

// OpSyncDevice and OpSyncLocal: one evaluation brings several arrays in and out.
static void synchronised_with_the_host(void **state) {
  (void)state;
  uint32_t from[3][COUNT], to[3][COUNT];
  weir_graph *sequence = make_sequence();
  weir_kernel *scale = make_scale(3);
  weir_buffer *buffers[3];
  for (int i = 0; i < 3; i++) {
    good(weir_buffer_create(context, BYTES, &buffers[i]));
    good(weir_graph_copy_in(sequence, buffers[i], 0, WEIR_WHOLE, from[i], NULL));
  }
  for (uint32_t i = 0; i < 3; i++) record_scale(sequence, scale, buffers[i], i);
  for (int i = 0; i < 3; i++) good(weir_graph_copy_out(sequence, buffers[i], 0, WEIR_WHOLE, to[i], NULL));
  for (uint32_t round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < 3 * COUNT; i++) from[i / COUNT][i % COUNT] = i + round;
    good(weir_graph_evaluate(sequence, WEIR_FOREVER));
    for (uint32_t i = 0; i < 3 * COUNT; i++) assert_int_equal(to[i / COUNT][i % COUNT], 3 * (i + round) + i / COUNT);
  }
}

// OpCopy: the first to all others.
static void copied_to_several(void **state) {
  (void)state;
  weir_buffer *source = make_numbers(4), *copies[3];
  weir_graph *sequence = make_sequence();
  for (int i = 0; i < 3; i++) {
    good(weir_buffer_create(context, BYTES, &copies[i]));
    good(weir_graph_copy(sequence, copies[i], 0, source, 0, BYTES, NULL));
  }
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  for (int i = 0; i < 3; i++) expect_numbers(copies[i], 4, 1, 0);
}

static void filled(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_graph *sequence = make_sequence();
  good(weir_graph_fill(sequence, buffer, 0, WEIR_WHOLE, 6, NULL));
  record_scale(sequence, make_scale(2), buffer, 1);
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 0, 0, 13);
}

// OpMult: a kernel like any other.
static void multiplied(void **state) {
  (void)state;
  float first[COUNT], second[COUNT], product[COUNT];
  for (int i = 0; i < COUNT; i++) first[i] = (float)i, second[i] = (float)(COUNT - i) / 8;
  weir_graph *sequence = make_sequence();
  weir_buffer *x, *y, *z;
  good(weir_buffer_create(context, sizeof first, &x));
  good(weir_buffer_create(context, sizeof first, &y));
  good(weir_buffer_create(context, sizeof first, &z));
  good(weir_graph_copy_in(sequence, x, 0, WEIR_WHOLE, first, NULL));
  good(weir_graph_copy_in(sequence, y, 0, WEIR_WHOLE, second, NULL));
  const weir_arg args[] = {weir_reads(x), weir_reads(y), weir_writes(z)};
  const weir_task task = {
      .kernel = make_kernel("multiply", CODE(multiply), NULL, 0), .args = args, .arg_count = 3, .groups = {COUNT / 32}};
  good(weir_graph_add(sequence, &task, NULL));
  good(weir_graph_copy_out(sequence, z, 0, WEIR_WHOLE, product, NULL));
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  for (int i = 0; i < COUNT; i++) assert_true(fabsf(product[i] - first[i] * second[i]) < 1e-3f);
}

// OpMemoryBarrier: none is ever recorded. Of the operations on two buffers in turn each depends on the one before, by reading
// or overwriting: dispatch to dispatch, dispatch to copy, copy to fill, fill to dispatch.
static void dependent_dispatches_need_no_barrier(void **state) {
  (void)state;
  enum { ROUNDS = 40 };
  uint32_t results[ROUNDS][COUNT];
  weir_buffer *x = make_numbers(1), *y;
  weir_kernel *twice = make_scale(2), *plus = make_scale(1);
  weir_graph *sequence = make_sequence();
  good(weir_buffer_create(context, BYTES, &y));
  for (uint32_t i = 0; i < ROUNDS; i++) {
    record_scale(sequence, plus, x, i);
    record_scale(sequence, plus, x, 1);
    good(weir_graph_copy(sequence, y, 0, x, 0, BYTES, NULL));
    record_scale(sequence, twice, y, 0);
    good(weir_graph_copy_out(sequence, y, 0, WEIR_WHOLE, results[i], NULL));
    good(weir_graph_fill(sequence, y, 0, WEIR_WHOLE, i, NULL));
    record_scale(sequence, twice, y, 1);
  }
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  uint32_t added = 0;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    added += i + 1;
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(results[i][j], 2 * (1 + j + added));
  }
  expect_numbers(x, 1, 1, added);
  expect_numbers(y, 0, 0, 2 * (ROUNDS - 1) + 1);
}

// An operation of the caller's, as OpBase with record, preEval and postEval: functions that the caller calls, or attaches to the
// launch's event.
typedef struct counted {
  weir_kernel *scale;
  weir_buffer *buffer;
  uint32_t node, add, most;
  _Atomic uint32_t after;
  weir_status ended;
} counted;

static void counted_record(weir_graph *sequence, counted *self) {
  self->node = record_scale(sequence, self->scale, self->buffer, self->add);
}

static weir_status counted_before(weir_graph *sequence, counted *self) {
  if (self->add == self->most) return WEIR_ERROR_UNAVAILABLE;
  self->add++;
  const weir_arg arg = weir_value(&self->add, sizeof self->add);
  return weir_graph_set_arg(sequence, self->node, 1, &arg);
}

static void counted_after(void *user, weir_status status) {
  counted *self = user;
  self->ended = status;
  self->after++;
}

// Kompute's evalAsync. The operation refuses an evaluation by not launching it.
static weir_status counted_launch(weir_graph *sequence, counted *self) {
  weir_event *event;
  weir_status status = counted_before(sequence, self);
  if (status == WEIR_OK) status = weir_graph_launch(sequence, &event);
  if (status != WEIR_OK) return status;
  status = weir_event_on_done(event, counted_after, self);
  weir_event_release(event); // the callback is called nevertheless
  return status;
}

// Callbacks follow the end of the launch, in a thread of Weir's.
static void await_after(const counted *self, uint32_t count) {
  while (self->after < count) usleep(50);
}

static void operations_of_the_caller(void **state) {
  (void)state;
  counted own = {.scale = make_scale(10), .buffer = make_numbers(1), .ended = WEIR_PENDING, .most = 3};
  weir_graph *sequence = make_sequence();
  counted_record(sequence, &own);
  for (int i = 0; i < 3; i++) good(counted_launch(sequence, &own));
  assert_int_equal(counted_launch(sequence, &own), WEIR_ERROR_UNAVAILABLE);
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  expect_numbers(own.buffer, 1, 1000, 123); // each evaluation had its own constant
  await_after(&own, 3);
  assert_int_equal(own.ended, WEIR_OK);
}

// What is attached to the launch is called when that is done, not when a wait for it is over.
static void operations_outlast_a_time_out(void **state) {
  (void)state;
  gate door = {0};
  counted own = {.scale = make_scale(10), .buffer = make_numbers(1), .ended = WEIR_PENDING, .most = 3};
  weir_graph *sequence = make_sequence();
  counted_record(sequence, &own);
  const weir_arg held = weir_updates(own.buffer);
  good(gate_submit(context, &door, &held, 1, NULL));
  good(counted_launch(sequence, &own));
  refused(weir_graph_wait(sequence, 0), WEIR_TIMEOUT, "still run");
  assert_int_equal(own.after, 0);
  gate_open(&door);
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  await_after(&own, 1);
  assert_int_equal(own.ended, WEIR_OK);
  expect_numbers(own.buffer, 1, 10, 1);
}

// Kompute's rerecord: a function that records is called once more, with what has changed meanwhile, also while launches are in
// flight, which go on as they were.
static void operations_are_recorded_anew(void **state) {
  (void)state;
  gate door = {0};
  weir_buffer *old = make_numbers(1), *new = make_numbers(100);
  counted own = {.scale = make_scale(10), .buffer = old};
  weir_graph *sequence = make_sequence();
  counted_record(sequence, &own);
  const weir_arg held = weir_updates(old);
  good(gate_submit(context, &door, &held, 1, NULL));
  good(weir_graph_launch(sequence, NULL));
  own.buffer = new;
  own.add = 2;
  good(weir_graph_clear(sequence));
  counted_record(sequence, &own);
  good(weir_graph_launch(sequence, NULL));
  gate_open(&door);
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  expect_numbers(old, 1, 10, 0);
  expect_numbers(new, 100, 10, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      KOMPUTE_TEST(synchronised_with_the_host),
      KOMPUTE_TEST(copied_to_several),
      KOMPUTE_TEST(filled),
      KOMPUTE_TEST(multiplied),
      KOMPUTE_TEST(dependent_dispatches_need_no_barrier),
      KOMPUTE_TEST(operations_of_the_caller),
      KOMPUTE_TEST(operations_outlast_a_time_out),
      KOMPUTE_TEST(operations_are_recorded_anew),
  };
  kompute_skip_without_device();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
