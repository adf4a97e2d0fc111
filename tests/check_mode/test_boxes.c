// SPDX-License-Identifier: Apache-2.0
//
// Check mode with boxes: what is between the rows is not the task's.
#include <string.h>

#include "planted.h"
#include "weir/box.h"

enum { PITCH = 64, ROWS = 4, WIDTH = 16, BYTES = PITCH * ROWS, FIRST = 16 };

typedef enum wrong { NOTHING, WRITES_BETWEEN, LEAVES_A_ROW, READS_OUTPUT, READS_BETWEEN } wrong;

// Argument 0 is the box, 1 what it does wrong.
static void play_box(const weir_work *work) {
  unsigned char *first = work->args[0];
  wrong kind;
  memcpy(&kind, work->args[1], sizeof kind);
  for (uint32_t row = 0; row < ROWS; row++) {
    unsigned char *at = first + (size_t)PITCH * row, seen = (unsigned char)(row + 1);
    if (kind == READS_BETWEEN) seen = at[WIDTH + 3];
    if (kind == READS_OUTPUT) seen = at[2];
    if (kind != LEAVES_A_ROW || row != 2) memset(at, seen, WIDTH);
  }
  if (kind == WRITES_BETWEEN) first[PITCH + WIDTH + 1] ^= 0x55;
}

static void run(wrong kind, bool host, const char *const *parts) {
  weir_context *context = planted_open("cpu:2", 0);
  weir_buffer *buffer;
  weir_kernel *kernel;
  weir_event *event;
  const weir_box box = {.width = WIDTH, .pitch = PITCH, .rows = ROWS};
  planted_ok(weir_buffer_create(context, BYTES, &buffer));
  planted_ok(weir_buffer_set_label(buffer, "matrix"));
  planted_ok(weir_fill(buffer, 0, WEIR_WHOLE, 7, NULL));
  planted_ok(weir_kernel_create(context, "boxes", &kernel));
  planted_ok(weir_kernel_set_cpu(kernel, play_box));
  const weir_arg args[] = {weir_writes_box(buffer, FIRST, &box), weir_value(&kind, sizeof kind)};
  weir_task task = {.args = args, .arg_count = 2, .label = "tile"};
  if (host)
    task.host = play_box;
  else
    task.kernel = kernel;
  planted_ok(weir_submit(context, &task, &event));
  planted_expect(event, host ? "host task" : "kernel", parts);
  unsigned char found[BYTES];
  for (uint32_t row = 0; parts[0] == NULL && row < ROWS; row++) {
    planted_ok(weir_read(buffer, 0, BYTES, found));
    assert_int_equal(found[FIRST + PITCH * row], row + 1);
    assert_int_equal(found[FIRST + PITCH * row + WIDTH], 7); // of the fill
  }
  weir_context_release(context);
}

static void what_is_between_rows_is_left_alone(void **state) {
  (void)state;
  const char *const none[] = {NULL};
  for (int host = 0; host < 2; host++) run(NOTHING, host, none);
}

static void mistakes_are_found(void **state) {
  (void)state;
  for (int host = 0; host < 2; host++) {
    run(WRITES_BETWEEN, host,
        (const char *[]){"argument 0 (writes a box in [16, 224) of buffer 1 'matrix')",
                         "bytes [97, 98) outside of the box were changed", NULL});
    run(LEAVES_A_ROW, host, (const char *[]){"a box in", "bytes [144, 160) were not overwritten", NULL});
  }
  run(READS_OUTPUT, false, (const char *[]){"a box in", "depends on what bytes", NULL});
  run(READS_BETWEEN, false, (const char *[]){"a box in", "outside of the box: declare them as read", NULL});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_between_rows_is_left_alone),
                                     cmocka_unit_test(mistakes_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
