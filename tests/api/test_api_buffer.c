// SPDX-License-Identifier: Apache-2.0
//
// Buffers and copies.
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "weir/error.h"
#include "weir/external.h"
#include "weir/graph.h"
#include "window/buffer.h"

static void buffers_know_their_size_and_label(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *buffer = api_buffer(context, 123, NULL);
  assert_int_equal(weir_buffer_bytes(buffer), 123);
  assert_string_equal(buffer->label, "");
  assert_int_equal(weir_buffer_set_label(buffer, "picture"), WEIR_OK);
  assert_string_equal(buffer->label, "picture");
  char text[] = "copied";
  assert_int_equal(weir_buffer_set_label(buffer, text), WEIR_OK);
  text[0] = 'X';
  assert_string_equal(buffer->label, "copied");
  weir_context_release(context);
}

static void labels_are_cut_at_47_bytes(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *buffer = api_buffer(context, 1, NULL);
  char text[200];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  assert_int_equal(weir_buffer_set_label(buffer, text), WEIR_OK);
  assert_int_equal(strlen(buffer->label), 47);
  text[47] = '\0';
  assert_string_equal(buffer->label, text);
  weir_context_release(context);
}

static void bad_buffers_are_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  char memory[8];
  weir_buffer *buffer = (weir_buffer *)memory;
  api_expect(weir_buffer_create(context, 0, &buffer), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_null(buffer);
  api_expect(weir_buffer_create(context, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  buffer = (weir_buffer *)memory;
  api_expect(weir_buffer_create(NULL, 8, &buffer), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_null(buffer);
  buffer = (weir_buffer *)memory;
  api_expect(weir_buffer_wrap(context, NULL, 8, &buffer), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_null(buffer);
  api_expect(weir_buffer_wrap(context, memory, 0, &buffer), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_buffer_wrap(context, memory, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_buffer_set_label(NULL, "x"), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  buffer = api_buffer(context, 8, "named");
  assert_int_equal(weir_buffer_set_label(buffer, NULL), WEIR_OK); // takes the name away
  assert_string_equal(buffer->label, "");
  weir_context_release(context);
}

// 2^63 bytes: refused when the buffer is created or when it first needs storage, never a crash.
static void enormous_buffer_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *buffer = NULL;
  weir_status status = weir_buffer_create(context, UINT64_MAX - 10, &buffer);
  if (status == WEIR_OK) {
    weir_task task = {.host = api_nothing, .args = (weir_arg[]){weir_writes(buffer)}, .arg_count = 1};
    status = weir_submit(context, &task, NULL);
  }
  assert_true(status == WEIR_ERROR_OUT_OF_MEMORY || status == WEIR_ERROR_INVALID_ARGUMENT);
  weir_context_release(context);
}

static void released_buffer_is_recognised(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *buffer = api_buffer(context, 8, "gone");
  char memory[8];
  assert_int_equal(weir_buffer_release(NULL), WEIR_OK);
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
  api_expect(weir_buffer_release(buffer), WEIR_ERROR_RELEASED, NULL);
  for (int i = 0; i < 1023; i++) assert_int_equal(weir_buffer_release(api_buffer(context, 8, NULL)), WEIR_OK);
  api_expect(weir_buffer_release(buffer), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_copy_in(buffer, 0, 8, memory, NULL), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_copy_out(buffer, 0, 8, memory, NULL), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_buffer_set_label(buffer, "x"), WEIR_ERROR_RELEASED, NULL);
  weir_buffer *other = api_buffer(context, 8, NULL);
  api_expect(weir_copy(buffer, 0, other, 0, 8, NULL), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_copy(other, 0, buffer, 0, 8, NULL), WEIR_ERROR_RELEASED, NULL);
  weir_task task = {.host = api_nothing, .args = (weir_arg[]){weir_writes(buffer)}, .arg_count = 1};
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_RELEASED, "argument 0", NULL);
  weir_context_release(context);
}

static void other_objects_are_no_buffers(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  api_expect(weir_buffer_release((weir_buffer *)kernel), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_buffer *buffer = api_buffer(context, 8, NULL);
  api_expect(weir_kernel_release((weir_kernel *)buffer), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_graph_release((weir_graph *)buffer), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_context_release(context);
}

static void note_address(const weir_work *work) {
  *(void **)work->user = work->args[0];
}

static void arguments_point_to_their_range(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  char memory[100];
  weir_buffer *wrapped = NULL, *created = api_buffer(context, 100, NULL);
  assert_int_equal(weir_buffer_wrap(context, memory, sizeof memory, &wrapped), WEIR_OK);
  void *address = NULL;
  weir_arg arg = weir_updates_range(wrapped, 37, 5);
  assert_int_equal(api_await(api_submit_host(context, note_address, &address, &arg, 1)), WEIR_OK);
  assert_ptr_equal(address, memory + 37);
  arg = weir_writes(wrapped);
  assert_int_equal(api_await(api_submit_host(context, note_address, &address, &arg, 1)), WEIR_OK);
  assert_ptr_equal(address, memory);
  arg = weir_writes(created);
  assert_int_equal(api_await(api_submit_host(context, note_address, &address, &arg, 1)), WEIR_OK);
  assert_int_equal((uintptr_t)address % 64, 0);
  arg = weir_updates_range(created, 64, WEIR_WHOLE);
  assert_int_equal(api_await(api_submit_host(context, note_address, &address, &arg, 1)), WEIR_OK);
  assert_int_equal((uintptr_t)address % 64, 0);
  weir_context_release(context);
}

static void copies_move_bytes(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  char in[] = "0123456789", out[16] = "";
  weir_buffer *a = api_buffer(context, 10, NULL), *b = api_buffer(context, 20, NULL);
  assert_int_equal(weir_copy_in(a, 0, 10, in, NULL), WEIR_OK);
  assert_int_equal(weir_copy(b, 5, a, 2, 6, NULL), WEIR_OK);
  assert_int_equal(weir_copy(b, 15, b, 5, 5, NULL), WEIR_OK);
  assert_int_equal(api_read(b, 15, 5, out), WEIR_OK);
  assert_string_equal(out, "23456");
  assert_int_equal(api_read(b, 5, 6, out), WEIR_OK);
  assert_string_equal(out, "234567");
  memset(out, 0, sizeof out);
  assert_int_equal(api_read(a, 8, WEIR_WHOLE, out), WEIR_OK);
  assert_string_equal(out, "89");
  weir_context_release(context);
}

static void large_copies_move_every_byte(void **state) {
  (void)state;
  enum { BYTES = 5000003 };
  weir_context *context = api_context("cpu:3", 0, 0);
  unsigned char *in = malloc(BYTES), *out = calloc(1, BYTES);
  assert_true(in != NULL && out != NULL);
  for (uint32_t i = 0; i < BYTES; i++) in[i] = (unsigned char)(i * 2654435761u >> 23);
  weir_buffer *a = api_buffer(context, BYTES, NULL), *b = api_buffer(context, BYTES + 5, NULL);
  assert_int_equal(weir_copy_in(a, 0, BYTES, in, NULL), WEIR_OK);
  assert_int_equal(weir_copy(b, 3, a, 0, BYTES, NULL), WEIR_OK);
  assert_int_equal(api_read(b, 3, BYTES, out), WEIR_OK);
  assert_memory_equal(in, out, BYTES);
  weir_context_release(context);
  free(in);
  free(out);
}

static void copies_with_wrong_ranges_are_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *a = api_buffer(context, 10, "left"), *b = api_buffer(context, 20, "right");
  char memory[32] = "";
  weir_event *event = (weir_event *)memory;
  api_expect(weir_copy_in(a, 0, 11, memory, &event), WEIR_ERROR_OUT_OF_RANGE, "left", "10", "11", NULL);
  assert_null(event);
  api_expect(weir_copy_in(a, 11, 1, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "left", NULL);
  api_expect(weir_copy_in(a, UINT64_MAX - 3, 8, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "left", NULL);
  api_expect(weir_copy_in(a, 8, UINT64_MAX - 7, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "left", NULL);
  api_expect(weir_copy_out(a, 5, 6, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "left", NULL);
  api_expect(weir_copy(a, 5, b, 0, 6, NULL), WEIR_ERROR_OUT_OF_RANGE, "left", NULL);
  api_expect(weir_copy(a, 0, b, 15, 6, NULL), WEIR_ERROR_OUT_OF_RANGE, "right", NULL);
  api_expect(weir_copy(b, 0, b, 3, 6, NULL), WEIR_ERROR_INVALID_ARGUMENT, "right", NULL);
  api_expect(weir_copy_in(a, 0, 10, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_copy_out(a, 0, 10, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_copy_in(NULL, 0, 10, memory, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_copy_out(NULL, 0, 10, memory, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_copy(NULL, 0, b, 0, 10, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_copy(b, 0, NULL, 0, 10, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_int_equal(statistics.tasks, 0);
  weir_context_release(context);
}

static void copy_between_contexts_is_refused(void **state) {
  (void)state;
  weir_context *one = api_context("cpu:1", 0, 0), *two = api_context("cpu:1", 0, 0);
  weir_buffer *a = api_buffer(one, 8, NULL), *b = api_buffer(two, 8, NULL);
  api_expect(weir_copy(a, 0, b, 0, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_context_release(one);
  weir_context_release(two);
}

// A released buffer's data reach the tasks that were submitted before.
static void release_while_in_use(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  gate door = {0};
  weir_buffer *number = api_number(context, 7), *result = api_number(context, 1);
  weir_arg hold = weir_updates(number);
  assert_int_equal(gate_submit(context, &door, &hold, 1, NULL), WEIR_OK);
  weir_arg args[] = {weir_reads(number), weir_updates(result)};
  weir_event *event = api_submit_host(context, api_add, NULL, args, 2);
  assert_int_equal(weir_buffer_release(number), WEIR_OK);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  gate_open(&door);
  assert_int_equal(api_await(event), WEIR_OK);
  assert_int_equal(api_read_number(result), 8);
  weir_context_release(context);
}

// Devices that work in the host's memory reach all of it.
static void memory_of_the_host_is_aligned(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1,sim:ideal", 0, 0);
  for (uint32_t i = 0; i < 2; i++) {
    weir_device *device = weir_context_device(context, i);
    weir_buffer *buffer = api_buffer(context, 1000, NULL);
    unsigned char *memory = NULL;
    assert_int_equal(weir_host_allocate(device, 1000, (void **)&memory), WEIR_OK);
    assert_int_equal((uintptr_t)memory % 64, 0);
    memset(memory, 7, 1000);
    assert_int_equal(weir_copy_in(buffer, 0, 1000, memory, NULL), WEIR_OK);
    assert_int_equal(weir_fill(buffer, 0, 4, 0, NULL), WEIR_OK);
    assert_int_equal(weir_copy_out(buffer, 0, 1000, memory, NULL), WEIR_OK);
    assert_int_equal(weir_finish(context), WEIR_OK);
    assert_int_equal(memory[3], 0);
    assert_int_equal(memory[999], 7);
    weir_host_free(device, memory);
    api_expect(weir_host_allocate(device, 0, (void **)&memory), WEIR_ERROR_INVALID_ARGUMENT, "0 bytes", NULL);
    assert_null(memory);
    api_expect(weir_host_allocate(device, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_memory", NULL);
    api_expect(weir_host_allocate(device, UINT64_MAX / 2, (void **)&memory), WEIR_ERROR_OUT_OF_MEMORY, NULL);
    weir_host_free(device, NULL);
    weir_host_free(NULL, NULL);
  }
  weir_context_release(context);
}

typedef struct asked {
  uint64_t offset, bytes;
  uint32_t count;
  bool refuses;
} asked;

static weir_status ask(void *user, uint64_t offset, uint64_t bytes) {
  asked *self = user;
  self->offset = offset;
  self->bytes = bytes;
  self->count++;
  return self->refuses ? weir_set_last_error(WEIR_ERROR_UNAVAILABLE, "they are elsewhere") : WEIR_OK;
}

static void a_library_is_asked_before_reads(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *buffer = api_number(context, 5), *other = api_number(context, 6);
  asked own = {0};
  uint64_t found = 0;
  assert_int_equal(weir_buffer_set_may_read(buffer, ask, &own), WEIR_OK);
  assert_int_equal(weir_read(buffer, 0, WEIR_WHOLE, &found), WEIR_OK);
  assert_true(found == 5 && own.count == 1 && own.offset == 0 && own.bytes == 8);
  assert_int_equal(weir_copy(other, 0, buffer, 4, WEIR_WHOLE, NULL), WEIR_OK);
  assert_true(own.count == 2 && own.offset == 4 && own.bytes == 4);
  own.refuses = true;
  api_expect(weir_read(buffer, 1, 2, &found), WEIR_ERROR_UNAVAILABLE, "read: they are elsewhere", NULL);
  api_expect(weir_copy_out(buffer, 0, 8, &found, NULL), WEIR_ERROR_UNAVAILABLE, "copy out: they are elsewhere", NULL);
  api_expect(weir_copy(other, 0, buffer, 0, 8, NULL), WEIR_ERROR_UNAVAILABLE, "copy: they are elsewhere", NULL);
  assert_int_equal(own.count, 5);
  // Ranges that are wrong, writes and tasks are not asked about.
  api_expect(weir_read(buffer, 8, 1, &found), WEIR_ERROR_OUT_OF_RANGE, "buffer", NULL);
  api_expect(weir_read(buffer, 4, 8, &found), WEIR_ERROR_OUT_OF_RANGE, "buffer", NULL);
  api_expect(weir_read(buffer, 0, 0, &found), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_int_equal(weir_copy_in(buffer, 0, 8, &found, NULL), WEIR_OK);
  const weir_arg args[] = {weir_reads(buffer), weir_updates(other)};
  assert_int_equal(api_await(api_submit_host(context, api_add, NULL, args, 2)), WEIR_OK);
  assert_int_equal(own.count, 5);
  api_expect(weir_buffer_release(buffer), WEIR_ERROR_INVALID_ARGUMENT, "a library's", "weir_mpi_buffer_release", NULL);
  assert_int_equal(weir_buffer_set_may_read(buffer, NULL, NULL), WEIR_OK);
  assert_int_equal(weir_read(buffer, 0, 8, &found), WEIR_OK);
  // Another buffer in its place has nobody to ask.
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
  api_expect(weir_buffer_set_may_read(buffer, ask, &own), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_buffer_set_may_read(NULL, ask, &own), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_int_equal(api_read_number(api_number(context, 7)), 7);
  assert_int_equal(own.count, 5);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_know_their_size_and_label), cmocka_unit_test(labels_are_cut_at_47_bytes),
      cmocka_unit_test(bad_buffers_are_refused),           cmocka_unit_test(enormous_buffer_is_refused),
      cmocka_unit_test(released_buffer_is_recognised),     cmocka_unit_test(other_objects_are_no_buffers),
      cmocka_unit_test(arguments_point_to_their_range),    cmocka_unit_test(copies_move_bytes),
      cmocka_unit_test(large_copies_move_every_byte),      cmocka_unit_test(copies_with_wrong_ranges_are_refused),
      cmocka_unit_test(copy_between_contexts_is_refused),  cmocka_unit_test(release_while_in_use),
      cmocka_unit_test(memory_of_the_host_is_aligned),     cmocka_unit_test(a_library_is_asked_before_reads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
