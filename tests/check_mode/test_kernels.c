// SPDX-License-Identifier: Apache-2.0
//
// Each mistake of a kernel is named, with its argument, buffer, bytes and advice, on the device of the argument.
#include <stdio.h>
#include <string.h>

#include "planted.h"

enum { WORDS = 64, BYTES = 4 * WORDS, BUFFER = 4 * BYTES };

static const char *devices = "cpu:2";

typedef struct planted_case {
  const char *name;
  planted_kind kind;
  weir_mode from, to;
  uint64_t from_offset, to_offset;
  bool fresh;           // `to` was never written
  const char *parts[6]; // NULL at the end
} planted_case;

static const planted_case cases[] = {
    {"right", PLANTED_NOTHING, WEIR_READ, WEIR_WRITE, BYTES, BYTES, false, {NULL}},
    {"right at the ends", PLANTED_NOTHING, WEIR_READ, WEIR_WRITE, 0, BUFFER - BYTES, false, {NULL}},
    {"right, fresh", PLANTED_NOTHING, WEIR_READ, WEIR_WRITE, BYTES, BYTES, true, {NULL}},
    {"update", PLANTED_ACCUMULATES, WEIR_READ, WEIR_READ_WRITE, BYTES, BYTES, false, {NULL}},
    {"partial update", PLANTED_PARTIAL, WEIR_READ, WEIR_READ_WRITE, BYTES, BYTES, false, {NULL}},
    {"partial update, fresh", PLANTED_PARTIAL, WEIR_READ, WEIR_READ_WRITE, BYTES, BYTES, true, {NULL}},
    {"partial write",
     PLANTED_PARTIAL,
     WEIR_READ,
     WEIR_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 1 (writes [256, 512) of buffer ", "'to'", "bytes [496, 512) were not overwritten",
      "declare the range [256, 496) as written, or weir_updates"}},
    {"accumulates",
     PLANTED_ACCUMULATES,
     WEIR_READ,
     WEIR_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 1 (writes [256, 512) of buffer ", "'to'", "depends on what bytes [256, 512) were before",
      "declare weir_updates"}},
    {"accumulates on nothing",
     PLANTED_ACCUMULATES,
     WEIR_READ,
     WEIR_READ_WRITE,
     BYTES,
     BYTES,
     true,
     {"argument 1 (updates [256, 512) of buffer ", "'to'", "reads bytes [256, 512), which no task wrote"}},
    {"writes behind",
     PLANTED_WRITES_BEHIND,
     WEIR_READ,
     WEIR_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 1 (", "'to'", "bytes [512, 516) outside were changed", "declare the range [256, 516) as written"}},
    {"writes before",
     PLANTED_WRITES_BEFORE,
     WEIR_READ,
     WEIR_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 1 (", "'to'", "bytes [252, 256) outside were changed", "declare the range [252, 512) as written"}},
    {"updates behind",
     PLANTED_WRITES_BEHIND,
     WEIR_READ,
     WEIR_READ_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 1 (updates ", "'to'", "bytes [512, 516) outside were changed"}},
    {"writes behind the end",
     PLANTED_WRITES_BEHIND,
     WEIR_READ,
     WEIR_WRITE,
     0,
     BUFFER - BYTES,
     false,
     {"argument 1 (", "'to'", "bytes [1024, 1028) were changed, behind the buffer's 1024 bytes"}},
    {"writes before the beginning",
     PLANTED_WRITES_BEFORE,
     WEIR_READ,
     WEIR_WRITE,
     0,
     0,
     false,
     {"argument 1 (", "'to'", "bytes [-4, 0) were changed, in front of the buffer's 1024 bytes"}},
    {"changes",
     PLANTED_CHANGES,
     WEIR_READ,
     WEIR_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 0 (reads [256, 512) of buffer ", "'from'", "bytes [264, 26", "were changed", "declare weir_updates"}},
    {"changes what it updates", PLANTED_CHANGES, WEIR_READ_WRITE, WEIR_WRITE, BYTES, BYTES, false, {NULL}},
    {"reads behind",
     PLANTED_READS_BEHIND,
     WEIR_READ,
     WEIR_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 0 (reads ", "'from'", "depends on bytes [512, 516) outside", "declare the range [256, 516) as read"}},
    {"reads behind the output",
     PLANTED_READS_OUTPUT,
     WEIR_READ,
     WEIR_READ_WRITE,
     BYTES,
     BYTES,
     false,
     {"argument 1 (updates ", "'to'", "depends on bytes [516, 520) outside", "declare the range [256, 520)"}},
};

static void play(weir_context *context, weir_kernel *kernel, const planted_case *played) {
  weir_buffer *from, *to;
  planted_ok(weir_buffer_create(context, BUFFER, &from));
  planted_ok(weir_buffer_create(context, BUFFER, &to));
  planted_ok(weir_buffer_set_label(from, "from"));
  planted_ok(weir_buffer_set_label(to, "to"));
  uint32_t words[BUFFER / 4], results[BUFFER / 4];
  for (uint32_t i = 0; i < BUFFER / 4; i++) words[i] = i * 2654435761U;
  planted_ok(weir_copy_in(from, 0, WEIR_WHOLE, words, NULL));
  if (!played->fresh) planted_ok(weir_fill(to, 0, WEIR_WHOLE, 5, NULL));
  const planted_value value = {.kind = played->kind, .words = WORDS};
  const weir_arg args[] = {
      {.mode = played->from, .buffer = from, .offset = played->from_offset, .bytes = BYTES},
      {.mode = played->to, .buffer = to, .offset = played->to_offset, .bytes = BYTES},
      weir_value(&value, sizeof value),
  };
  weir_event *event;
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {WORDS}, .label = played->name};
  planted_ok(weir_submit(context, &task, &event));
  planted_expect(event, played->name, played->parts);
  weir_status status = weir_finish(context);
  assert_int_equal(status, played->parts[0] == NULL ? WEIR_OK : WEIR_ERROR_TASK_FAILED);
  if (played->parts[0] != NULL) assert_non_null(strstr(weir_last_error(), played->name));
  if (played->kind == PLANTED_NOTHING) {
    planted_ok(weir_copy_out(to, played->to_offset, BYTES, results, NULL));
    planted_ok(weir_finish(context));
    for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(results[i], words[played->from_offset / 4 + i] * 3U + 1U);
  }
  planted_ok(weir_buffer_release(from));
  planted_ok(weir_buffer_release(to));
}

static void test_each_is_named(void **state) {
  (void)state;
  weir_context *context = planted_open(devices, 0);
  weir_kernel *kernel = planted_kernel_on_card(context);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    // A shader that writes what its task only reads is refused at once, so planted.comp has no such line. And lavapipe
    // keeps shaders inside the ranges that are bound: what is outside is neither written nor read.
    if (strcmp(devices, "vulkan") == 0 && cases[i].kind >= PLANTED_WRITES_BEHIND) continue;
    play(context, kernel, &cases[i]);
  }
  weir_kernel_release(kernel);
  weir_context_release(context);
}

static void test_unwritten_read(void **state) {
  (void)state;
  weir_context *context = planted_open(devices, WEIR_CONTEXT_IN_ORDER);
  weir_kernel *kernel = planted_kernel_on_card(context);
  weir_buffer *from, *to;
  planted_ok(weir_buffer_create(context, 2 * BYTES, &from));
  planted_ok(weir_buffer_create(context, BYTES, &to));
  planted_ok(weir_fill(from, 0, BYTES, 1, NULL));
  const planted_value value = {.kind = PLANTED_NOTHING, .words = WORDS};
  weir_arg args[] = {weir_reads_range(from, BYTES / 2, BYTES), weir_writes(to), weir_value(&value, sizeof value)};
  weir_event *event;
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {WORDS}};
  planted_ok(weir_submit(context, &task, &event));
  planted_expect(
      event, "unwritten",
      (const char *[]){"argument 0 (reads [128, 384)", "bytes [256, 384) are read", "write them first", NULL});
  planted_ok(weir_fill(from, BYTES, BYTES, 1, NULL));
  planted_ok(weir_submit(context, &task, &event));
  planted_expect(event, "written", (const char *[]){NULL});
  weir_context_release(context);
}

int main(int argc, char **argv) {
  if (argc > 1) devices = argv[1];
#ifdef ON_STUB
  planted_use_stub();
#endif
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_is_named), cmocka_unit_test(test_unwritten_read)};
  return cmocka_run_group_tests_name("check_mode_kernels", tests, NULL, NULL);
}
