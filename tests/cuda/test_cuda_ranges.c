// SPDX-License-Identifier: Apache-2.0
//
// Parts of one buffer in several memories: only what is missing where it is needed is moved, byte for byte. On the driver of
// stub/, in random orders.
#include <string.h>

#include "base/allocate.h"
#include "gate.h"
#include "share.h"
#include "weir/box.h"
#include "weir/graph.h"
#include "weir/reduce.h"

enum { COUNT = 256, HALF = COUNT / 2, WORD = 4, BYTES = COUNT * WORD };

// The two devices that share a buffer.
typedef struct pair {
  weir_device *left, *right;
} pair;

static pair pair_of(const share *s) {
  return (pair){s->cuda, s->second != NULL ? s->second : s->cpu};
}

static void run_on_pairs(void (*test)(share *s)) {
  share_run("cuda:0,cuda:1", test);
  share_run("cuda,cpu:1", test);
  share_run("cpu:1,cuda", test);
}

static weir_statistics statistics_of(const share *s) {
  weir_statistics statistics;
  weir_context_statistics(s->context, &statistics);
  return statistics;
}

// What was moved since the last call.
static void expect_moved(const share *s, uint64_t *moved, uint64_t bytes) {
  uint64_t now = statistics_of(s).transfer_bytes;
  assert_int_equal(now - *moved, bytes);
  *moved = now;
}

// Submits set, step or broken on `count` numbers from `first` on.
static void submit(const share *s, weir_kernel *kernel, weir_device *device, weir_buffer *buffer, uint32_t first,
                   uint32_t count, uint32_t value, weir_event **out_event) {
  uint64_t bytes = count * WORD;
  weir_arg range = kernel == s->step ? weir_updates_range(buffer, first * WORD, bytes)
                                     : weir_writes_range(buffer, first * WORD, bytes);
  weir_arg args[] = {range, weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = kernel, .device = device, .args = args, .arg_count = 3};
  share_ok(weir_submit(s->context, &task, out_event));
}

// out[first..] = a[first_a..] + b[first_b..]
static void submit_sum(const share *s, weir_device *device, weir_buffer *out, uint32_t first, weir_buffer *a,
                       uint32_t first_a, weir_buffer *b, uint32_t first_b, uint32_t count, weir_event **out_event) {
  uint64_t bytes = count * WORD;
  weir_arg args[] = {weir_writes_range(out, first * WORD, bytes), weir_reads_range(a, first_a * WORD, bytes),
                     weir_reads_range(b, first_b * WORD, bytes), weir_value(&count, sizeof count)};
  weir_task task = {.kernel = s->sum, .device = device, .args = args, .arg_count = 4};
  share_ok(weir_submit(s->context, &task, out_event));
}

// Reads `count` numbers from `first` on.
static weir_status read_range(weir_buffer *buffer, uint32_t first, uint32_t count, uint32_t *numbers) {
  weir_event *event;
  share_ok(weir_copy_out(buffer, first * WORD, count * WORD, numbers, &event));
  return share_await(event);
}

static void write_halves(const share *s, weir_buffer *buffer, uint32_t value) {
  pair devices = pair_of(s);
  submit(s, s->set, devices.left, buffer, 0, HALF, value, NULL);
  submit(s, s->set, devices.right, buffer, HALF, HALF, value + HALF, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// What is moved

static void halves(share *s) {
  pair devices = pair_of(s);
  weir_buffer *buffer = share_buffer(s, COUNT), *left = share_buffer(s, COUNT), *right = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  uint64_t moved = 0;
  write_halves(s, buffer, 10);
  expect_moved(s, &moved, 0);
  // A range that lies across: what is missing of it, and no more.
  submit_sum(s, devices.left, left, 0, buffer, HALF - 8, buffer, HALF - 8, 24, NULL);
  expect_moved(s, &moved, 16 * WORD);
  submit_sum(s, devices.left, left, 0, buffer, HALF - 8, buffer, HALF - 8, 32, NULL);
  expect_moved(s, &moved, 8 * WORD);
  // The rest.
  submit_sum(s, devices.left, left, 0, buffer, 0, buffer, 0, COUNT, NULL);
  expect_moved(s, &moved, (HALF - 24) * WORD);
  submit_sum(s, devices.right, right, 0, buffer, 0, buffer, 0, COUNT, NULL);
  expect_moved(s, &moved, HALF * WORD);
  // Now both have it all.
  submit_sum(s, devices.left, left, 0, buffer, 0, buffer, 0, COUNT, NULL);
  submit_sum(s, devices.right, right, 0, buffer, 0, buffer, 0, COUNT, NULL);
  expect_moved(s, &moved, 0);
  assert_int_equal(statistics_of(s).transfers, 4);
  for (uint32_t i = 0; i < 2; i++) {
    share_ok(read_range(i == 0 ? left : right, 0, COUNT, numbers));
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(numbers[j], 2 * (10 + j));
  }
  share_ok(weir_finish(s->context));
}

static void test_halves(void **state) {
  (void)state;
  run_on_pairs(halves);
}

// The host reads what the devices hold; what it has of it by then is not moved again.
static void read_by_host(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  uint64_t moved = 0, on_host = s->second == NULL ? HALF * WORD : 0;
  write_halves(s, buffer, 1);
  share_ok(read_range(buffer, 0, COUNT, numbers));
  share_expect(numbers, COUNT, 1, NULL, 0);
  expect_moved(s, &moved, BYTES - on_host);
  share_ok(read_range(buffer, 0, COUNT, numbers));
  expect_moved(s, &moved, 0);
  // Only what is written anew.
  submit(s, s->step, s->cuda, buffer, 3, 5, 7, NULL);
  share_ok(read_range(buffer, 0, COUNT, numbers));
  share_expect(numbers, 3, 1, NULL, 0);
  share_expect(numbers + 3, 5, 4, (uint32_t[]){7}, 1);
  share_expect(numbers + 8, COUNT - 8, 9, NULL, 0);
  expect_moved(s, &moved, (s->cuda == pair_of(s).left ? 0 : 5 * WORD) + 5 * WORD);
}

static void test_read_by_host(void **state) {
  (void)state;
  run_on_pairs(read_by_host);
}

// Pieces that alternate between the devices.
static void pieces(share *s) {
  enum { PIECES = 16, PIECE = COUNT / PIECES };
  pair devices = pair_of(s);
  weir_buffer *buffer = share_buffer(s, COUNT), *out = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  uint64_t moved = 0;
  for (uint32_t i = 0; i < PIECES; i++)
    submit(s, s->set, i % 2 == 0 ? devices.left : devices.right, buffer, i * PIECE, PIECE, i * PIECE, NULL);
  for (uint32_t i = 0; i < PIECES; i++)
    submit(s, s->step, i % 2 == 0 ? devices.left : devices.right, buffer, i * PIECE, PIECE, 5, NULL);
  expect_moved(s, &moved, 0);
  submit_sum(s, devices.right, out, 0, buffer, 0, buffer, 0, COUNT, NULL);
  expect_moved(s, &moved, BYTES / 2);
  assert_int_equal(statistics_of(s).transfers, PIECES / 2);
  share_ok(read_range(buffer, 0, COUNT, numbers));
  share_expect(numbers, COUNT, 0, (uint32_t[]){5}, 1);
  share_ok(read_range(out, 0, COUNT, numbers));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], 2 * stepped(i, 5));
  // Written as a whole it is in one memory again.
  moved = statistics_of(s).transfer_bytes;
  submit(s, s->set, devices.left, buffer, 0, COUNT, 3, NULL);
  submit(s, s->step, devices.left, buffer, 5, 9, 3, NULL);
  submit_sum(s, devices.left, out, 0, buffer, 0, buffer, 0, COUNT, NULL);
  expect_moved(s, &moved, 0);
}

static void test_pieces(void **state) {
  (void)state;
  run_on_pairs(pieces);
}

// A stencil: each device has half of the rows, and needs one row of its neighbour's in each round.
static void halo_rounds(share *s) {
  enum { ROW = 8, ROUNDS = 12, INNER = HALF - ROW };
  pair devices = pair_of(s);
  weir_buffer *buffers[2] = {share_buffer(s, COUNT), share_buffer(s, COUNT)};
  uint32_t numbers[COUNT], wanted[2][COUNT];
  uint64_t moved = 0;
  for (uint32_t i = 0; i < 2; i++) {
    write_halves(s, buffers[i], 100 * i);
    for (uint32_t j = 0; j < COUNT; j++) wanted[i][j] = 100 * i + j;
  }
  for (uint32_t round = 0; round < ROUNDS; round++) {
    weir_buffer *from = buffers[round % 2], *to = buffers[1 - round % 2];
    submit_sum(s, devices.left, to, ROW, from, 0, from, 2 * ROW, INNER, NULL);
    submit_sum(s, devices.right, to, HALF, from, HALF - ROW, from, HALF + ROW, INNER, NULL);
    expect_moved(s, &moved, 2 * ROW * WORD);
    const uint32_t *before = wanted[round % 2];
    for (uint32_t i = ROW; i < COUNT - ROW; i++) wanted[1 - round % 2][i] = before[i - ROW] + before[i + ROW];
  }
  for (uint32_t i = 0; i < 2; i++) {
    share_ok(read_range(buffers[i], 0, COUNT, numbers));
    assert_memory_equal(numbers, wanted[i], sizeof numbers);
  }
  share_ok(weir_finish(s->context));
}

static void test_halo_rounds(void **state) {
  (void)state;
  run_on_pairs(halo_rounds);
  share_run_with(&(weir_context_options){.devices = "cuda:0,cuda:1", .flags = WEIR_CONTEXT_TRACE}, halo_rounds);
  share_run_with(&(weir_context_options){.devices = "cuda:0,cuda:1", .flags = WEIR_CONTEXT_IN_ORDER}, halo_rounds);
  share_run_with(&(weir_context_options){.devices = "cuda:0,cuda:1", .window = 8}, halo_rounds);
}

// The same, recorded: two graphs, one for each device.
static void halo_graphs(share *s) {
  enum { ROUNDS = 6 };
  pair devices = pair_of(s);
  weir_device *both[] = {devices.left, devices.right};
  weir_buffer *from = share_buffer(s, COUNT), *to = share_buffer(s, COUNT);
  static const uint32_t INNER = HALF - 1, VALUE = 1;
  weir_graph *graphs[2];
  uint32_t numbers[COUNT], wanted[COUNT];
  uint64_t moved = 0;
  for (uint32_t i = 0; i < 2; i++) {
    uint64_t first = i == 0 ? 1 : HALF;
    weir_arg sum[] = {weir_writes_range(to, first * WORD, INNER * WORD),
                      weir_reads_range(from, (first - 1) * WORD, INNER * WORD),
                      weir_reads_range(from, (first + 1) * WORD, INNER * WORD), weir_value(&INNER, 4)};
    weir_arg step[] = {weir_updates_range(from, first * WORD, INNER * WORD), weir_value(&INNER, 4),
                       weir_value(&VALUE, 4)};
    weir_task tasks[] = {{.kernel = s->sum, .device = both[i], .args = sum, .arg_count = 4},
                         {.kernel = s->step, .device = both[i], .args = step, .arg_count = 3}};
    share_ok(weir_graph_create(s->context, NULL, &graphs[i]));
    share_ok(weir_graph_add(graphs[i], &tasks[0], NULL));
    share_ok(weir_graph_add(graphs[i], &tasks[1], NULL));
  }
  write_halves(s, from, 0);
  write_halves(s, to, 0);
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = i;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < 2; i++) share_ok(weir_graph_launch(graphs[i], NULL));
    expect_moved(s, &moved, 2 * WORD);
    for (uint32_t i = 1; i < COUNT - 1; i++) wanted[i] = stepped(wanted[i], 1);
  }
  share_ok(weir_finish(s->context));
  share_ok(read_range(from, 0, COUNT, numbers));
  assert_memory_equal(numbers, wanted, sizeof numbers);
  for (uint32_t i = 0; i < 2; i++) share_ok(weir_graph_release(graphs[i]));
}

static void test_halo_graphs(void **state) {
  (void)state;
  run_on_pairs(halo_graphs);
}

// More pieces than are kept apart: they come together in one memory, and the contents are right.
static void too_many_pieces(share *s) {
  enum { MANY = 1200 };
  pair devices = pair_of(s);
  weir_buffer *buffer = share_buffer(s, MANY);
  static uint32_t numbers[MANY];
  submit(s, s->set, devices.left, buffer, 0, MANY, 0, NULL);
  for (uint32_t i = 1; i < MANY; i += 2) submit(s, s->step, devices.right, buffer, i, 1, 9, NULL);
  for (uint32_t i = 1; i < MANY; i += 4) submit(s, s->step, devices.left, buffer, i, 1, 8, NULL);
  for (uint32_t i = 0; i < MANY; i += 3)
    submit_sum(s, i % 2 == 0 ? devices.left : devices.right, buffer, i, buffer, (i + 1) % MANY, buffer, (i + 2) % MANY,
               1, NULL);
  share_ok(read_range(buffer, 0, MANY, numbers));
  static uint32_t wanted[MANY];
  for (uint32_t i = 0; i < MANY; i++) wanted[i] = i % 2 == 0 ? i : stepped(i, 9);
  for (uint32_t i = 1; i < MANY; i += 4) wanted[i] = stepped(wanted[i], 8);
  for (uint32_t i = 0; i < MANY; i += 3) wanted[i] = wanted[(i + 1) % MANY] + wanted[(i + 2) % MANY];
  assert_memory_equal(numbers, wanted, sizeof numbers);
}

static void test_too_many_pieces(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1", too_many_pieces);
  share_run("cuda,cpu:1", too_many_pieces);
}

// Copies of the caller's go where the bytes are.
static void copies(share *s) {
  pair devices = pair_of(s);
  weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], some[16];
  uint64_t moved = 0;
  for (uint32_t i = 0; i < 16; i++) some[i] = 1000 + i;
  write_halves(s, buffer, 0);
  weir_event *event;
  share_ok(weir_copy_in(buffer, 8 * WORD, sizeof some, some, &event));
  share_ok(share_await(event));
  share_ok(weir_copy_in(buffer, (HALF + 8) * WORD, sizeof some, some, &event));
  share_ok(share_await(event));
  share_ok(weir_fill(buffer, (HALF - 2) * WORD, 2 * WORD, 77, NULL));
  share_ok(weir_fill(buffer, HALF * WORD, 2 * WORD, 78, NULL));
  expect_moved(s, &moved, 0);
  submit(s, s->step, devices.left, buffer, 0, HALF, 1, NULL);
  submit(s, s->step, devices.right, buffer, HALF, HALF, 1, NULL);
  expect_moved(s, &moved, 0);
  share_ok(weir_copy(other, 0, buffer, 0, BYTES, NULL));
  share_ok(read_range(other, 0, COUNT, numbers));
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t in = i % HALF, wanted = in >= 8 && in < 24 ? 1000 + in - 8 : i;
    if (i == HALF - 2 || i == HALF - 1) wanted = 77;
    if (i == HALF || i == HALF + 1) wanted = 78;
    assert_int_equal(numbers[i], stepped(wanted, 1));
  }
}

static void test_copies(void **state) {
  (void)state;
  run_on_pairs(copies);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory of the host that is wrapped

static void wrapped_memory(share *s) {
  pair devices = pair_of(s);
  uint32_t numbers[COUNT];
  weir_buffer *buffer, *out = share_buffer(s, COUNT);
  uint64_t moved = 0, back = s->second == NULL ? HALF * WORD : BYTES;
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 7;
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &buffer));
  for (uint32_t round = 0; round < 3; round++) {
    moved = statistics_of(s).transfer_bytes;
    write_halves(s, buffer, round);
    expect_moved(s, &moved, back); // behind the writes
    share_ok(weir_finish(s->context));
    share_expect(numbers, COUNT, round, NULL, 0);
    submit_sum(s, s->cuda, out, 0, buffer, 0, buffer, 0, COUNT, NULL);
    expect_moved(s, &moved, HALF * WORD); // the other half
    submit(s, s->step, s->cuda, buffer, HALF - 4, 8, 2, NULL);
    expect_moved(s, &moved, 8 * WORD); // back
    submit(s, s->step, devices.right, buffer, HALF, HALF, 3, NULL);
    share_ok(weir_finish(s->context));
    share_expect(numbers, HALF - 4, round, NULL, 0);
    share_expect(numbers + HALF - 4, 4, round + HALF - 4, (uint32_t[]){2}, 1);
    share_expect(numbers + HALF, 4, round + HALF, (uint32_t[]){2, 3}, 2);
    share_expect(numbers + HALF + 4, HALF - 4, round + HALF + 4, (uint32_t[]){3}, 1);
  }
  share_ok(weir_buffer_release(buffer));
}

static void test_wrapped_memory(void **state) {
  (void)state;
  run_on_pairs(wrapped_memory);
}

// A task that names the bytes that it writes twice: they are copied back once. Two copies would write to them at the same time.
static void written_twice(share *s) {
  uint32_t numbers[COUNT], count = HALF;
  weir_buffer *buffer, *other = share_buffer(s, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 7;
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &buffer));
  submit(s, s->set, s->cuda, other, 0, COUNT, 20, NULL);
  uint64_t moved = statistics_of(s).transfer_bytes;
  weir_arg args[] = {weir_updates_range(buffer, 0, HALF * WORD), weir_updates_range(buffer, 0, HALF * WORD),
                     weir_reads_range(other, 0, HALF * WORD), weir_value(&count, sizeof count)};
  share_ok(
      weir_submit(s->context, &(weir_task){.kernel = s->sum, .device = s->cuda, .args = args, .arg_count = 4}, NULL));
  expect_moved(s, &moved, 2 * HALF * WORD); // there and back
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], i < HALF ? 27 + i : 7);
  share_ok(weir_buffer_release(buffer));
}

static void test_written_twice(void **state) {
  (void)state;
  run_on_pairs(written_twice);
}

// A graph with more writes than the window has room for copies back.
enum { WRITES = 10, EACH = 16, VALUE = 500 };

static weir_graph *graph_of_writes(const share *s, weir_buffer *buffer) {
  static const uint32_t one = 1, value = VALUE;
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, NULL, &graph));
  for (uint32_t i = 0; i < WRITES; i++) {
    weir_arg set[] = {weir_writes_range(buffer, i * EACH * WORD, WORD), weir_value(&one, 4), weir_value(&value, 4)};
    weir_task task = {.kernel = s->set, .device = s->cuda, .args = set, .arg_count = 3};
    share_ok(weir_graph_add(graph, &task, NULL));
  }
  return graph;
}

static bool is_written(uint32_t i) {
  return i % EACH == 0 && i / EACH < WRITES;
}

// What lies between the writes in the caller's memory, and was written elsewhere, stays.
static void merged_write_backs(share *s) {
  uint32_t numbers[COUNT];
  weir_buffer *buffer;
  weir_device *elsewhere = pair_of(s).left == s->cuda ? pair_of(s).right : pair_of(s).left;
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i;
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &buffer));
  weir_graph *graph = graph_of_writes(s, buffer);
  submit(s, s->step, elsewhere, buffer, 0, COUNT, 4, NULL);
  share_ok(weir_graph_launch(graph, NULL));
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], is_written(i) ? VALUE : stepped(i, 4));
  share_ok(weir_graph_release(graph));
  share_ok(weir_buffer_release(buffer));
}

// The copy back writes it, too, with the same bytes: it waits for a task that reads there.
static void merged_write_backs_wait(share *s) {
  uint32_t numbers[COUNT] = {0};
  gate held = {0};
  weir_buffer *buffer;
  weir_event *launched, *read;
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &buffer));
  weir_graph *graph = graph_of_writes(s, buffer);
  weir_arg between = weir_reads_range(buffer, WORD, WORD);
  share_ok(gate_submit(s->context, &held, &between, 1, &read));
  share_ok(weir_graph_launch(graph, &launched));
  assert_int_equal(weir_event_wait(launched, 5000000), WEIR_TIMEOUT); // it ends with its copy back
  gate_open(&held);
  share_ok(share_await(read));
  share_ok(share_await(launched));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], is_written(i) ? VALUE : 0);
  share_ok(weir_graph_release(graph));
  share_ok(weir_buffer_release(buffer));
}

static void test_merged_write_backs(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda:0,cuda:1", .window = 8}, merged_write_backs);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:1", .window = 8}, merged_write_backs);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:1", .window = 8}, merged_write_backs_wait);
}

// A buffer that tasks commute on comes to be used by boxes. Its transfer has the slot of a task of that set which is done,
// and which a reader in flight came after: the transfer took it for one in flight, and waited for itself.
static void commuting_before_boxes(share *s) {
  enum { BETWEEN = 4 }; // of 8 slots
  const weir_box rows = {.width = WORD, .pitch = 4 * WORD, .rows = 4};
  gate first = {0}, held = {0}, open = {.open = true};
  weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT);
  weir_event *commuting, *reader, *step;
  submit(s, s->set, s->cpu, buffer, 0, COUNT, 0, NULL);
  submit(s, s->set, s->cpu, other, 0, COUNT, 0, NULL);
  share_ok(weir_finish(s->context));
  weir_arg arg = weir_commutes_range(buffer, 0, 4 * WORD);
  share_ok(gate_submit(s->context, &first, &arg, 1, &commuting));
  submit(s, s->step, s->cpu, other, 0, COUNT, 1, NULL);
  arg = weir_reads_range(buffer, 0, 4 * WORD);
  share_ok(gate_submit(s->context, &held, &arg, 1, &reader));
  arg = weir_reads_box(buffer, 64 * WORD, &rows);
  share_ok(gate_submit(s->context, &open, &arg, 1, NULL));
  gate_open(&first);
  share_ok(share_await(commuting));
  for (uint32_t i = 0; i < BETWEEN; i++) submit(s, s->step, s->cpu, other, 0, COUNT, 1, NULL);
  submit(s, s->step, s->cuda, buffer, 0, 4, 1, &step);
  gate_open(&held);
  share_ok(share_await(reader));
  assert_int_equal(weir_event_wait(step, 20000000000), WEIR_OK);
  weir_event_release(step);
  share_ok(weir_buffer_release(buffer));
  share_ok(weir_buffer_release(other));
}

static void test_commuting_before_boxes(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .window = 8}, commuting_before_boxes);
}

// ---------------------------------------------------------------------------------------------------------------
// Failures

// A task that fails takes its range with it, not what other memories hold.
static void task_fails(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  weir_event *broken, *well, *skipped;
  submit(s, s->set, s->cuda, buffer, 0, HALF, 0, NULL);
  submit(s, s->broken, s->cpu, buffer, HALF, HALF, 0, &broken);
  submit(s, s->step, s->cuda, buffer, HALF + 3, 4, 1, &skipped);
  submit(s, s->step, s->cpu, buffer, 5, 6, 1, &well);
  assert_int_equal(share_await(broken), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(share_await(skipped), WEIR_ERROR_UPSTREAM_FAILED);
  share_ok(share_await(well));
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(read_range(buffer, HALF - 1, 2, numbers), WEIR_ERROR_UPSTREAM_FAILED);
  submit(s, s->set, s->cuda, buffer, HALF, HALF, HALF, NULL); // heals it
  share_ok(read_range(buffer, 0, COUNT, numbers));
  share_expect(numbers + 5, 6, 5, (uint32_t[]){1}, 1);
  share_expect(numbers + 11, COUNT - 11, 11, NULL, 0);
  (void)weir_finish(s->context);
}

static void test_task_fails(void **state) {
  (void)state;
  share_run("cuda,cpu:1", task_fails);
}

static void expect_lost(weir_status status) {
  if (status != WEIR_ERROR_UPSTREAM_FAILED) assert_int_equal(status, WEIR_ERROR_DEVICE_LOST);
}

// Of a device that is lost, what only it had is lost: no more.
static void device_is_lost(share *s) {
  weir_device *other = s->second != NULL ? s->second : s->cpu;
  weir_buffer *buffer = share_buffer(s, COUNT), *victim = share_buffer(s, COUNT), *out = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  weir_event *broken, *lost, *well;
  submit(s, s->set, s->cuda, buffer, 0, HALF, 0, NULL);
  submit(s, s->set, other, buffer, HALF, HALF, HALF, NULL);
  submit_sum(s, other, out, 0, buffer, 16, buffer, 16, 16, NULL); // has these, too
  share_ok(weir_finish(s->context));
  share_submit(s, s->broken, s->cuda, victim, COUNT, 0, &broken);
  assert_int_equal(share_await(broken), WEIR_ERROR_DEVICE_LOST);
  submit(s, s->step, other, buffer, 0, 8, 1, &lost); // [0, 8) is poisoned
  expect_lost(share_await(lost));
  submit_sum(s, other, out, 0, buffer, 16, buffer, 16, 16, &well);
  share_ok(share_await(well));
  submit(s, s->step, other, buffer, HALF, HALF, 1, &well);
  share_ok(share_await(well));
  expect_lost(read_range(buffer, 32, 8, numbers));
  expect_lost(read_range(buffer, 0, COUNT, numbers));
  (void)weir_finish(s->context);
  share_ok(read_range(buffer, 16, 16, numbers));
  share_expect(numbers, 16, 16, NULL, 0);
  share_ok(read_range(buffer, HALF, HALF, numbers));
  share_expect(numbers, HALF, HALF, (uint32_t[]){1}, 1);
  // What is written anew is good again, and the rest stays.
  submit(s, s->set, other, buffer, 0, 16, 0, NULL);
  submit(s, s->set, other, buffer, 32, HALF - 32, 32, NULL);
  share_ok(read_range(buffer, 0, COUNT, numbers));
  share_expect(numbers, HALF, 0, NULL, 0);
  share_expect(numbers + HALF, HALF, HALF, (uint32_t[]){1}, 1);
  (void)weir_finish(s->context);
}

static void test_device_lost(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1", device_is_lost);
  share_run("cuda,cpu:1", device_is_lost);
}

// The Nth allocation fails, for many N: a submission is refused and has changed nothing, or it goes on as without.
static uint64_t failing_allocation;
static bool allocation_failed;

static void memory_runs_out(share *s) {
  enum { STEPS = 12, STEP = HALF + 6 };
  pair devices = pair_of(s);
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], wanted[COUNT];
  submit(s, s->set, devices.left, buffer, 0, COUNT, 0, NULL);
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = i;
  uint64_t first = weir__allocate_count();
  weir__allocate_fail_at(failing_allocation);
  for (uint32_t i = 0; i < STEPS; i++) {
    uint32_t at = i * 37 % (COUNT - STEP), count = STEP;
    weir_arg args[] = {weir_updates_range(buffer, at * WORD, STEP * WORD), weir_value(&count, 4), weir_value(&i, 4)};
    weir_task task = {
        .kernel = s->step, .device = i % 2 == 0 ? devices.right : devices.left, .args = args, .arg_count = 3};
    weir_status status = weir_submit(s->context, &task, NULL);
    if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    for (uint32_t j = at; status == WEIR_OK && j < at + STEP; j++) wanted[j] = stepped(wanted[j], i);
  }
  weir_status status = weir_finish(s->context);
  weir__allocate_fail_at(0);
  if (weir__allocate_count() - first >= failing_allocation) allocation_failed = true;
  if (status == WEIR_OK) { // no device was short of memory
    share_ok(read_range(buffer, 0, COUNT, numbers));
    assert_memory_equal(numbers, wanted, sizeof numbers);
  }
  write_halves(s, buffer, 40);
  share_ok(read_range(buffer, 0, COUNT, numbers));
  share_expect(numbers, COUNT, 40, NULL, 0);
}

static void test_memory_runs_out(void **state) {
  (void)state;
  failing_allocation = 0;
  do {
    failing_allocation += 1 + failing_allocation / 8;
    allocation_failed = false;
    share_run("cuda:0,cuda:1", memory_runs_out);
  } while (allocation_failed);
  assert_true(failing_allocation > 3);
}

// A node of a graph is skipped, and another one writes a part of what it would have written: that part reaches wrapped memory.
static void graph_fails_in_part(share *s) {
  uint32_t numbers[BYTES / WORD] = {0};
  const uint32_t count = HALF, value = 5;
  weir_buffer *wrapped, *bad = share_buffer(s, HALF);
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &wrapped));
  share_submit(s, s->broken, s->cpu, bad, HALF, 0, NULL);
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, &(weir_graph_options){.device = s->cuda}, &graph));
  const weir_arg skipped[] = {weir_writes_range(wrapped, BYTES / 4, BYTES / 2), weir_reads(bad), weir_reads(bad),
                              weir_value(&count, sizeof count)};
  const weir_arg good[] = {weir_writes_range(wrapped, 0, BYTES / 2), weir_value(&count, sizeof count),
                           weir_value(&value, sizeof value)};
  share_ok(weir_graph_add(graph, &(weir_task){.kernel = s->sum, .args = skipped, .arg_count = 4}, NULL));
  share_ok(weir_graph_add(graph, &(weir_task){.kernel = s->set, .args = good, .arg_count = 3}, NULL));
  share_ok(weir_graph_launch(graph, NULL));
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_TASK_FAILED);
  share_expect(numbers, HALF, value, NULL, 0);
  share_ok(weir_graph_release(graph));
  share_ok(weir_buffer_release(wrapped));
  share_ok(weir_buffer_release(bad));
}

static void test_graph_fails_in_part(void **state) {
  (void)state;
  share_run("cuda,cpu:1", graph_fails_in_part);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_graph_fails_in_part), cmocka_unit_test(test_halves),
      cmocka_unit_test(test_read_by_host),        cmocka_unit_test(test_pieces),
      cmocka_unit_test(test_halo_rounds),         cmocka_unit_test(test_halo_graphs),
      cmocka_unit_test(test_too_many_pieces),     cmocka_unit_test(test_copies),
      cmocka_unit_test(test_wrapped_memory),      cmocka_unit_test(test_written_twice),
      cmocka_unit_test(test_merged_write_backs),  cmocka_unit_test(test_commuting_before_boxes),
      cmocka_unit_test(test_task_fails),          cmocka_unit_test(test_device_lost),
      cmocka_unit_test(test_memory_runs_out),     cmocka_unit_test(test_graph_fails_in_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
