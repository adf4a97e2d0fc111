// SPDX-License-Identifier: Apache-2.0
//
// Contents among memories: transfers, copies of the caller's, memory of the host that is wrapped, failures on one device
// that others read, recorded graphs. On the driver of stub/, in random orders.
#include <stdlib.h>
#include <string.h>

#include "graph_info.h"
#include "share.h"

enum { COUNT = 256, BYTES = COUNT * 4 };

static weir_statistics statistics_of(const share *s) {
  weir_statistics statistics;
  weir_context_statistics(s->context, &statistics);
  return statistics;
}

static void read_out(weir_buffer *buffer, uint32_t *numbers, uint32_t count) {
  weir_event *event;
  share_ok(weir_copy_out(buffer, 0, count * sizeof *numbers, numbers, &event));
  share_ok(share_await(event));
}

// ---------------------------------------------------------------------------------------------------------------
// Transfers

static void contents_follow_tasks(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT), *out = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  share_submit(s, s->set, s->cpu, buffer, COUNT, 3, NULL);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, NULL); // there
  share_submit(s, s->step, s->cuda, buffer, COUNT, 2, NULL);
  share_submit(s, s->step, s->cpu, buffer, COUNT, 3, NULL); // and back
  share_ok(weir_finish(s->context));
  weir_statistics statistics = statistics_of(s);
  assert_int_equal(statistics.transfers, 2);
  assert_int_equal(statistics.transfer_bytes, 2 * BYTES);
  assert_int_equal(statistics.tasks, 4);
  read_out(buffer, numbers, COUNT);
  share_expect(numbers, COUNT, 3, (uint32_t[]){1, 2, 3}, 3);
  // What is only read there stays here, too; what is overwritten as a whole is not fetched.
  share_submit(s, s->set, s->cuda, other, COUNT, 100, NULL);
  share_sum(s, s->cuda, out, buffer, other, COUNT, NULL);
  share_sum(s, s->cpu, out, buffer, other, COUNT, NULL); // fetches `other`
  share_sum(s, s->cpu, out, buffer, other, COUNT, NULL);
  share_ok(weir_finish(s->context));
  assert_int_equal(statistics_of(s).transfers, 4);
  read_out(out, numbers, COUNT);
  for (uint32_t i = 0; i < COUNT; i++)
    assert_int_equal(numbers[i], stepped(stepped(stepped(3 + i, 1), 2), 3) + 100 + i);
}

static void test_transfers(void **state) {
  (void)state;
  share_run("cuda,cpu:2", contents_follow_tasks);
}

// Tiny buffers that are overwritten as a whole while a task uses them get other storage. Where no more may be left behind, they
// take turns with what was.
static uint64_t renames_expected;

static void tiny_buffers_are_renamed(share *s) {
  enum { TINY = 16, VERSIONS = 20 };
  weir_buffer *buffer = share_buffer(s, TINY), *other = share_buffer(s, TINY), *outs[VERSIONS];
  uint32_t numbers[TINY];
  for (int i = 0; i < VERSIONS; i++) outs[i] = share_buffer(s, TINY);
  share_submit(s, s->set, s->cuda, other, TINY, 1, NULL);
  share_submit(s, s->set, s->cuda, buffer, TINY, 5, NULL);
  share_submit(s, s->held, s->cuda, other, TINY, 2, NULL); // nothing that reads `other` runs before share_open
  for (uint32_t i = 0; i < VERSIONS; i++) {
    share_sum(s, s->cuda, outs[i], buffer, other, TINY, NULL);
    share_submit(s, s->set, s->cuda, buffer, TINY, 100 * i, NULL);
  }
  uint64_t renamed = statistics_of(s).renamed;
  share_open();
  share_ok(weir_finish(s->context));
  assert_int_equal(renamed, renames_expected);
  for (uint32_t i = 0; i < VERSIONS; i++) {
    read_out(outs[i], numbers, TINY);
    for (uint32_t j = 0; j < TINY; j++)
      assert_int_equal(numbers[j], stepped(1 + j, 2) + (i == 0 ? 5 : 100 * (i - 1)) + j);
  }
  read_out(buffer, numbers, TINY);
  for (uint32_t j = 0; j < TINY; j++) assert_int_equal(numbers[j], 100 * (VERSIONS - 1) + j);
}

static void test_tiny_buffers(void **state) {
  (void)state;
  static const struct {
    uint64_t limit, renames;
  } cases[] = {{0, 20}, {1, 0}, {64, 20}, {5 * 64, 20}}; // 64 and more: of blocks whose users are awaited, in the end
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    renames_expected = cases[i].renames;
    share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .rename_limit = cases[i].limit},
                   tiny_buffers_are_renamed);
  }
}

// A part is written where the rest is not: a later reader gets each from where it is.
static void parts_are_completed(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  share_submit(s, s->set, s->cpu, buffer, COUNT / 2, 1000, NULL);
  share_submit(s, s->step, s->cuda, buffer, COUNT / 4, 2, NULL);
  share_ok(weir_finish(s->context));
  read_out(buffer, numbers, COUNT);
  share_expect(numbers, COUNT / 4, 1000, (uint32_t[]){2}, 1);
  share_expect(numbers + COUNT / 4, COUNT / 4, 1000 + COUNT / 4, NULL, 0);
  share_expect(numbers + COUNT / 2, COUNT / 2, 1 + COUNT / 2, NULL, 0);
}

static void test_parts(void **state) {
  (void)state;
  share_run("cuda,cpu:2", parts_are_completed);
}

// One buffer goes round over all devices, and is renamed on its way.
static void round_trip(share *s) {
  weir_device *devices[] = {s->cuda, s->second, s->cpu};
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], steps[30];
  for (uint32_t pass = 0; pass < 2; pass++) {
    share_submit(s, s->set, devices[pass % 3], buffer, COUNT, pass, NULL);
    for (uint32_t i = 0; i < 30; i++) {
      steps[i] = pass + i;
      share_submit(s, s->step, devices[(i + i / 7) % 3], buffer, COUNT, steps[i], NULL);
    }
    read_out(buffer, numbers, COUNT);
    share_expect(numbers, COUNT, pass, steps, 30);
  }
  assert_true(statistics_of(s).transfers > 30);
}

// Inputs of each step are copied to where tasks read parts of them, and the bytes in between never leave where they were first.
static void inputs_go_where_they_are_read(share *s) {
  enum { PART = COUNT / 4, STEPS = 10 };
  weir_buffer *buffer = share_buffer(s, COUNT), *out = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], sums[COUNT];
  weir_device *devices[] = {s->cuda, s->second};
  for (uint32_t device = 0; device < 2; device++) {
    uint64_t before = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
      for (uint32_t i = 0; i < COUNT; i++) numbers[i] = step * COUNT + i;
      if (step == 1) before = statistics_of(s).transfers;
      share_ok(weir_copy_in(buffer, 0, BYTES - 4, numbers, NULL));
      uint32_t count = PART;
      weir_arg args[] = {weir_writes_range(out, 0, 4 * PART), weir_reads_range(buffer, 0, 4 * PART),
                         weir_reads_range(buffer, 8 * PART, 4 * PART), weir_value(&count, sizeof count)};
      share_ok(weir_submit(
          s->context, &(weir_task){.kernel = s->sum, .device = devices[device], .args = args, .arg_count = 4}, NULL));
      read_out(out, sums, PART);
      for (uint32_t i = 0; i < PART; i++) assert_int_equal(sums[i], 2 * step * COUNT + 2 * i + 2 * PART);
    }
    assert_int_equal(statistics_of(s).transfers, before);
  }
}

static void test_inputs(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1,cpu:2", inputs_go_where_they_are_read);
}

static void test_round_trip(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1,cpu:2", round_trip);
  share_run_with(&(weir_context_options){.devices = "cuda:0,cuda:1,cpu:2", .flags = WEIR_CONTEXT_TRACE}, round_trip);
  share_run_with(&(weir_context_options){.devices = "cuda:0,cuda:1,cpu:2", .flags = WEIR_CONTEXT_IN_ORDER}, round_trip);
}

// Where cards reach each other, contents go directly. Where they do not, they go through the host, and stay there, too.
static void contents_go_directly(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  share_submit(s, s->step, s->second, buffer, COUNT, 2, NULL);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 3, NULL);
  share_ok(weir_finish(s->context));
  assert_int_equal(statistics_of(s).transfers, share_no_peers ? 4 : 2);
  assert_int_equal(stub_peer_copies(true), share_no_peers ? 0 : 2);
  assert_int_equal(stub_peer_copies(false), 0);
  read_out(buffer, numbers, COUNT);
  share_expect(numbers, COUNT, 1, (uint32_t[]){2, 3}, 2);
}

static void test_peers(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1", contents_go_directly);
  share_no_peers = true;
  share_run("cuda:0,cuda:1", contents_go_directly);
  share_run("cuda:0,cuda:1,cpu:2", round_trip);
  share_no_peers = false;
}

// More buffers than fit into any memory at once cannot be; as many as fit, over and over, can, with a window that is
// always full and storage that is always scarce.
static void little_memory(share *s) {
  enum { BUFFERS = 6 };
  weir_device *devices[] = {s->cuda, s->second, s->cpu};
  weir_buffer *buffers[BUFFERS];
  uint32_t wanted[BUFFERS] = {0}, numbers[COUNT];
  for (uint32_t i = 0; i < BUFFERS; i++) buffers[i] = share_buffer(s, COUNT);
  for (uint32_t i = 0; i < 400; i++) {
    uint32_t at = i * 7 % BUFFERS;
    bool overwrites = i < BUFFERS || i % 5 == 0;
    share_submit(s, overwrites ? s->set : s->step, devices[i * i % 3], buffers[at], COUNT, i, NULL);
    wanted[at] = overwrites ? i : stepped(wanted[at], i);
  }
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < BUFFERS; i++) {
    read_out(buffers[i], numbers, COUNT);
    assert_int_equal(numbers[0], wanted[i]);
  }
  assert_int_equal(statistics_of(s).failed, 0);
}

static void test_little_memory(void **state) {
  (void)state;
  // Blocks are rounded up: room for the six buffers and two more in each memory.
  weir_context_options options = {.devices = "cuda:0,cuda:1,cpu:2", .memory_limit = 8 * BYTES, .window = 16};
  share_run_with(&options, little_memory);
}

// ---------------------------------------------------------------------------------------------------------------
// Copies of the caller's

static void copy_both_ways(const share *s, weir_device *device, unsigned char *memory, uint32_t bytes) {
  weir_buffer *buffer;
  uint32_t count = bytes / 4, number;
  share_ok(weir_buffer_create(s->context, bytes + 8, &buffer));
  share_submit(s, s->set, device, buffer, count + 2, 7, NULL); // its contents are the device's now
  for (uint32_t i = 0; i < count; i++) memcpy(memory + 4 * i, &(uint32_t){50 + i}, 4);
  weir_event *event;
  share_ok(weir_copy_in(buffer, 4, bytes, memory, &event));
  share_ok(share_await(event));
  memset(memory, 0xee, bytes); // it was copied
  share_submit(s, s->step, device, buffer, count + 2, 1, NULL);
  share_ok(weir_copy_out(buffer, 4, bytes, memory, &event));
  share_submit(s, s->set, device, buffer, count + 2, 9, NULL); // behind it
  share_ok(share_await(event));
  for (uint32_t i = 0; i < count; i++) {
    memcpy(&number, memory + 4 * i, 4);
    assert_int_equal(number, stepped(50 + i, 1));
  }
  share_ok(weir_buffer_release(buffer));
}

static void copies_of_any_memory(share *s) {
  static const uint32_t SIZES[] = {4, 4096, 65536, 65540, 300000};
  for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
    unsigned char *pageable = malloc(SIZES[i] + 1);
    void *pinned;
    assert_non_null(pageable);
    share_ok(weir_host_allocate(s->cuda, SIZES[i], &pinned));
    copy_both_ways(s, s->cuda, pinned, SIZES[i]);
    copy_both_ways(s, s->cuda, pageable + 1, SIZES[i]);
    if (s->cpu != NULL) copy_both_ways(s, s->cpu, pageable + 1, SIZES[i]);
    share_ok(weir_finish(s->context));
    weir_host_free(s->cuda, pinned);
    free(pageable);
  }
  assert_int_equal(statistics_of(s).failed, 0);
}

// What Weir has pinned itself it knows without the driver, and only while it is there.
static void pinned_memory_is_known(share *s) {
  enum { LARGE = 300000 };
  void *pinned;
  share_ok(weir_host_allocate(s->cuda, LARGE, &pinned));
  copy_both_ways(s, s->cuda, pinned, LARGE);
  uint64_t asked = stub_calls("cuPointerGetAttribute");
  copy_both_ways(s, s->cuda, pinned, LARGE);
  copy_both_ways(s, s->cuda, (unsigned char *)pinned + 4, LARGE - 4);
  assert_int_equal(stub_calls("cuPointerGetAttribute"), asked);
  weir_host_free(s->cuda, pinned);
  unsigned char *pageable = malloc(LARGE);
  assert_non_null(pageable);
  copy_both_ways(s, s->cuda, pageable, LARGE);
  assert_true(stub_calls("cuPointerGetAttribute") > asked);
  share_ok(weir_finish(s->context));
  free(pageable);
}

static void test_pinned(void **state) {
  (void)state;
  share_run("cuda", pinned_memory_is_known);
}

static void test_copies(void **state) {
  (void)state;
  share_run("cuda", copies_of_any_memory);
  share_run("cuda,cpu:1", copies_of_any_memory);
}

// Between buffers wherever they are, and what is not theirs is refused.
static void copies_among_buffers(share *s) {
  weir_device *devices[] = {s->cuda, s->second, s->cpu};
  uint32_t numbers[COUNT];
  for (uint32_t i = 0; i < 9; i++) {
    weir_buffer *from = share_buffer(s, COUNT), *to = share_buffer(s, COUNT);
    share_submit(s, s->set, devices[i % 3], from, COUNT, 100, NULL);
    share_submit(s, s->set, devices[i / 3], to, COUNT, 500, NULL);
    share_ok(weir_copy(to, BYTES / 2, from, BYTES / 4, BYTES / 4, NULL));
    share_submit(s, s->set, devices[i % 3], from, COUNT, 0, NULL);
    share_submit(s, s->step, devices[i / 3], to, COUNT, 1, NULL);
    read_out(to, numbers, COUNT);
    share_expect(numbers, COUNT / 2, 500, (uint32_t[]){1}, 1);
    share_expect(numbers + COUNT / 2, COUNT / 4, 100 + COUNT / 4, (uint32_t[]){1}, 1);
    share_expect(numbers + 3 * COUNT / 4, COUNT / 4, 500 + 3 * COUNT / 4, (uint32_t[]){1}, 1);
    share_refused(weir_copy(to, BYTES - 4, from, 0, 8, NULL), WEIR_ERROR_OUT_OF_RANGE, "copy");
    share_refused(weir_copy(to, 0, to, 4, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, "overlap");
    share_ok(weir_buffer_release(from));
    share_ok(weir_buffer_release(to));
  }
  share_ok(weir_finish(s->context));
}

static void test_copies_among_buffers(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1,cpu:2", copies_among_buffers);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory of the host that is wrapped

// It is up to date when the task's event, or weir_finish, says so.
static void wrapped_memory_is_written_back(share *s) {
  uint32_t numbers[COUNT];
  weir_buffer *buffer;
  weir_event *event;
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 30 + i;
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &buffer));
  for (uint32_t round = 0; round < 5; round++) {
    share_submit(s, s->set, s->cuda, buffer, COUNT, round, &event);
    share_ok(share_await(event));
    share_expect(numbers, COUNT, round, NULL, 0);
    share_submit(s, s->step, s->cuda, buffer, COUNT, 1, &event);
    while (weir_event_poll(event) == WEIR_PENDING) {
    }
    weir_event_release(event);
    share_expect(numbers, COUNT, round, (uint32_t[]){1}, 1);
    share_submit(s, s->step, s->cuda, buffer, COUNT / 2, 2, NULL);
    share_submit(s, s->step, s->cuda, buffer, COUNT, 3, NULL);
    share_ok(weir_finish(s->context));
    share_expect(numbers, COUNT / 2, round, (uint32_t[]){1, 2, 3}, 3);
    share_expect(numbers + COUNT / 2, COUNT / 2, round + COUNT / 2, (uint32_t[]){1, 3}, 2);
    // The caller may use it again now; what is written there is what the next task reads.
    if (s->cpu == NULL) continue;
    share_submit(s, s->step, s->cpu, buffer, COUNT, 4, &event);
    share_submit(s, s->step, s->cuda, buffer, COUNT, 5, NULL);
    share_ok(weir_finish(s->context));
    share_expect(numbers, COUNT / 2, round, (uint32_t[]){1, 2, 3, 4, 5}, 5);
    weir_event_release(event);
  }
  share_ok(weir_buffer_release(buffer));
}

static void test_write_back(void **state) {
  (void)state;
  share_run("cuda", wrapped_memory_is_written_back);
  share_run("cuda,cpu:1", wrapped_memory_is_written_back);
}

static void read_through_pointer(const weir_work *work) {
  uint32_t *const *pair = work->user;
  memcpy(pair[1], pair[0], BYTES);
}

// A task that is to come after such an event finds the bytes in the caller's memory, too.
static void event_stands_for_write_back(share *s) {
  uint32_t numbers[COUNT] = {0}, found[COUNT] = {0};
  uint32_t *pair[] = {numbers, found};
  weir_buffer *buffer;
  weir_event *event;
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &buffer));
  share_submit(s, s->set, s->cuda, buffer, COUNT, 3, NULL);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 4, &event);
  weir_task task = {.host = read_through_pointer, .user = pair, .after = &event, .after_count = 1};
  share_ok(weir_submit(s->context, &task, NULL));
  share_ok(weir_finish(s->context));
  share_expect(found, COUNT, 3, (uint32_t[]){4}, 1);
  weir_event_release(event);
  share_ok(weir_buffer_release(buffer));
}

static void test_event_of_write_back(void **state) {
  (void)state;
  share_run("cuda,cpu:2", event_stands_for_write_back);
}

// A task with many wrapped buffers, with a window that has just room for it.
static void many_write_backs(share *s) {
  enum { BUFFERS = 3, ROUNDS = 20 };
  uint32_t numbers[BUFFERS][COUNT];
  weir_buffer *buffers[BUFFERS];
  memset(numbers, 0, sizeof numbers);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    share_ok(weir_buffer_wrap(s->context, numbers[i], BYTES, &buffers[i]));
    share_submit(s, s->set, s->cuda, buffers[i], COUNT, i, NULL);
  }
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < BUFFERS; i++) share_submit(s, s->step, s->cuda, buffers[i], COUNT, round, NULL);
  }
  share_ok(weir_finish(s->context));
  uint32_t steps[ROUNDS];
  for (uint32_t round = 0; round < ROUNDS; round++) steps[round] = round;
  for (uint32_t i = 0; i < BUFFERS; i++) share_expect(numbers[i], COUNT, i, steps, ROUNDS);
}

// Ranges of one buffer count each: all copies back need slots at the same time.
static void more_write_backs_than_slots(share *s) {
  enum { SLOTS = 8 };
  uint32_t numbers[COUNT] = {0};
  weir_buffer *buffer;
  weir_arg args[SLOTS];
  weir_kernel *nothing;
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &buffer));
  for (uint32_t i = 0; i < SLOTS; i++) args[i] = weir_writes_range(buffer, (uint64_t)i * 16, 8);
  share_ok(weir_kernel_create(s->context, "nothing", &nothing));
  share_ok(weir_kernel_set_cuda(nothing, NULL, NULL, 0));
  weir_task task = {.kernel = nothing, .args = args, .arg_count = SLOTS};
  share_refused(weir_submit(s->context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT,
                "takes 8 copies back to wrapped memory, too many for a window of 8");
  assert_int_equal(statistics_of(s).tasks, 0);
  task.arg_count--;
  share_ok(weir_submit(s->context, &task, NULL));
  share_ok(weir_finish(s->context));
}

static void test_many_write_backs(void **state) {
  (void)state;
  share_run("cuda", many_write_backs);
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 8}, more_write_backs_than_slots);
}

// ---------------------------------------------------------------------------------------------------------------
// Failures

static void cpu_fails(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT), *out = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  weir_event *broken, *skipped, *skipped_too, *well, *healed;
  share_submit(s, s->set, s->cuda, other, COUNT, 1, NULL);
  share_submit(s, s->broken, s->cpu, buffer, COUNT, 0, &broken);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, &skipped);
  share_sum(s, s->cpu, out, buffer, other, COUNT, &skipped_too);
  share_submit(s, s->step, s->cuda, other, COUNT, 2, &well);
  share_submit(s, s->set, s->cuda, buffer, COUNT, 5, &healed);
  share_submit(s, s->step, s->cpu, buffer, COUNT, 6, NULL);
  assert_int_equal(share_await(broken), WEIR_ERROR_TASK_FAILED);
  // On either device, whatever transfers are between: the first that failed, and the bytes.
  weir_event *both[] = {skipped, skipped_too};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_event_wait(both[i], WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    assert_non_null(strstr(weir_event_message(both[i]), "skipped, for bytes [0, "));
    assert_non_null(strstr(weir_event_message(both[i]), "the first task that failed is task "));
    assert_non_null(strstr(weir_event_message(both[i]), "'broken' (tag 0) on cpu:"));
  }
  assert_int_equal(share_await(skipped), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(share_await(skipped_too), WEIR_ERROR_UPSTREAM_FAILED);
  share_ok(share_await(well));
  share_ok(share_await(healed));
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_TASK_FAILED);
  read_out(buffer, numbers, COUNT);
  share_expect(numbers, COUNT, 5, (uint32_t[]){6}, 1);
  read_out(other, numbers, COUNT);
  share_expect(numbers, COUNT, 1, (uint32_t[]){2}, 1);
  share_ok(weir_finish(s->context));
}

// A read of what a task on the card should have written names that buffer, and not one on the way to the host.
static void reads_say_why(share *s) {
  weir_buffer *source = share_buffer(s, COUNT), *other = share_buffer(s, COUNT), *out = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  share_ok(weir_buffer_set_label(out, "result"));
  share_submit(s, s->broken, s->cpu, source, COUNT, 0, NULL);
  share_submit(s, s->set, s->cuda, other, COUNT, 1, NULL);
  share_sum(s, s->cuda, out, source, other, COUNT, NULL);
  share_refused(weir_read(out, 0, BYTES, numbers), WEIR_ERROR_UPSTREAM_FAILED, "'result' are missing");
  share_refused(weir_finish(s->context), WEIR_ERROR_TASK_FAILED, "'broken'");
  share_ok(weir_finish(s->context));
}

static void test_cpu_fails(void **state) {
  (void)state;
  share_run("cuda,cpu:2", cpu_fails);
  share_run("cuda,cpu:2", reads_say_why);
}

// A kernel faults: the device's tasks are lost and those that read what they should have written are skipped; the CPU and
// the other device go on.
static void device_is_lost(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT), *third = share_buffer(s, COUNT);
  weir_buffer *wrapped;
  uint32_t numbers[COUNT], memory[COUNT];
  weir_event *broken, *skipped, *skipped_too, *late, *well, *back;
  memset(memory, 0x11, sizeof memory);
  share_ok(weir_buffer_wrap(s->context, memory, BYTES, &wrapped));
  share_submit(s, s->set, s->cpu, other, COUNT, 1, NULL);
  share_submit(s, s->set, s->second, third, COUNT, 2, NULL);
  share_ok(weir_finish(s->context));
  share_submit(s, s->broken, s->cuda, buffer, COUNT, 0, &broken);
  share_submit(s, s->step, s->cpu, buffer, COUNT, 1, &skipped);
  share_submit(s, s->step, s->second, buffer, COUNT, 1, &skipped_too);
  share_submit(s, s->step, s->cpu, other, COUNT, 3, &well);
  share_submit(s, s->step, s->second, third, COUNT, 4, NULL);
  assert_int_equal(share_await(broken), WEIR_ERROR_DEVICE_LOST);
  assert_int_equal(share_await(skipped), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(share_await(skipped_too), WEIR_ERROR_UPSTREAM_FAILED);
  share_ok(share_await(well));
  // Later ones fail, too, and do not touch the caller's memory.
  share_submit(s, s->set, s->cuda, third, COUNT, 0, &late);
  share_submit(s, s->set, s->cuda, wrapped, COUNT, 0, &back);
  assert_int_equal(share_await(late), WEIR_ERROR_DEVICE_LOST);
  assert_int_equal(share_await(back), WEIR_ERROR_DEVICE_LOST);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_DEVICE_LOST);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(memory[i], 0x11111111);
  read_out(other, numbers, COUNT);
  share_expect(numbers, COUNT, 1, (uint32_t[]){3}, 1);
  // What the lost device held is written anew elsewhere.
  share_submit(s, s->set, s->second, buffer, COUNT, 8, NULL);
  share_submit(s, s->step, s->cpu, buffer, COUNT, 9, NULL);
  share_submit(s, s->set, s->cpu, third, COUNT, 8, NULL);
  share_submit(s, s->step, s->second, third, COUNT, 7, NULL);
  read_out(buffer, numbers, COUNT);
  share_expect(numbers, COUNT, 8, (uint32_t[]){9}, 1);
  read_out(third, numbers, COUNT);
  share_expect(numbers, COUNT, 8, (uint32_t[]){7}, 1);
  share_ok(weir_finish(s->context));
}

static void test_device_lost(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1,cpu:2", device_is_lost);
}

// Contents that only a lost device had cannot be read, and the reader says so; what the host had as well still can.
static void lost_contents(share *s) {
  weir_buffer *gone = share_buffer(s, COUNT), *here = share_buffer(s, COUNT), *buffer = share_buffer(s, COUNT);
  weir_buffer *out = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  weir_event *broken, *reader;
  share_submit(s, s->set, s->cuda, gone, COUNT, 1, NULL);
  share_submit(s, s->set, s->cpu, here, COUNT, 2, NULL);
  share_sum(s, s->cuda, out, gone, here, COUNT, NULL);
  share_ok(weir_finish(s->context));
  share_submit(s, s->broken, s->cuda, buffer, COUNT, 0, &broken);
  assert_int_equal(share_await(broken), WEIR_ERROR_DEVICE_LOST);
  share_refused(weir_read(gone, 0, BYTES, numbers), WEIR_ERROR_DEVICE_LOST, "the device is lost");
  share_submit(s, s->step, s->cpu, gone, COUNT, 1, &reader);
  weir_status status = share_await(reader);
  assert_true(status == WEIR_ERROR_UPSTREAM_FAILED || status == WEIR_ERROR_DEVICE_LOST);
  share_submit(s, s->step, s->cpu, here, COUNT, 3, &reader);
  share_ok(share_await(reader));
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_DEVICE_LOST);
  read_out(here, numbers, COUNT);
  share_expect(numbers, COUNT, 2, (uint32_t[]){3}, 1);
}

static void test_lost_contents(void **state) {
  (void)state;
  share_run("cuda,cpu:2", lost_contents);
}

// ---------------------------------------------------------------------------------------------------------------
// Recorded graphs

static weir_task task_of(weir_kernel *kernel, weir_device *device, const weir_arg *args, uint32_t arg_count) {
  return (weir_task){.kernel = kernel, .device = device, .args = args, .arg_count = arg_count};
}

// a = set(v), b = set(7), a = step(a), sum = a + b
static weir_graph *record(const share *s, weir_buffer *a, weir_buffer *b, weir_buffer *sum, const uint32_t *value) {
  static const uint32_t COUNT_VALUE = COUNT, SEVEN = 7;
  weir_arg count = weir_value(&COUNT_VALUE, 4);
  weir_arg set_a[] = {weir_writes(a), count, weir_value(value, 4)};
  weir_arg set_b[] = {weir_writes(b), count, weir_value(&SEVEN, 4)};
  weir_arg step_a[] = {weir_updates(a), count, weir_value(value, 4)};
  weir_arg add[] = {weir_writes(sum), weir_reads(a), weir_reads(b), count};
  weir_task tasks[] = {task_of(s->set, s->cuda, set_a, 3), task_of(s->set, s->cuda, set_b, 3),
                       task_of(s->step, s->cuda, step_a, 3), task_of(s->sum, s->cuda, add, 4)};
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, NULL, &graph));
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t node;
    share_ok(weir_graph_add(graph, &tasks[i], &node));
    assert_int_equal(node, i);
  }
  return graph;
}

static void expect_sum(weir_buffer *sum, uint32_t set_value, uint32_t step_value) {
  uint32_t numbers[COUNT];
  read_out(sum, numbers, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(set_value + i, step_value) + 7 + i);
}

static void graphs_are_launched(share *s) {
  weir_buffer *a = share_buffer(s, COUNT), *b = share_buffer(s, COUNT), *sum = share_buffer(s, COUNT);
  weir_buffer *other = share_buffer(s, COUNT);
  uint32_t value = 5, numbers[COUNT];
  weir_event *event;
  weir_graph *graph = record(s, a, b, sum, &value);
  assert_int_equal(graph_edges(graph), 3);
  share_ok(weir_graph_launch(graph, &event));
  share_ok(share_await(event));
  expect_sum(sum, 5, 5);
  assert_true(graph_info(graph).build_ns > 0);
  // Other values and another buffer, launch upon launch; what was launched before keeps its own.
  for (uint32_t i = 0; i < 10; i++) {
    value = 20 + i;
    weir_arg arg = weir_value(&value, 4);
    share_ok(weir_graph_set_arg(graph, 2, 2, &arg));
    share_ok(weir_graph_launch(graph, NULL));
    if (i == 4) {
      expect_sum(sum, 5, 24);
      share_ok(weir_graph_replace_buffer(graph, sum, other));
    }
  }
  expect_sum(other, 5, 29);
  expect_sum(sum, 5, 24);
  weir_arg writes_sum = weir_writes(sum);
  share_ok(weir_graph_set_arg(graph, 3, 0, &writes_sum));
  value = 3;
  weir_arg arg = weir_value(&value, 4);
  share_ok(weir_graph_set_arg(graph, 0, 2, &arg));
  // In order with tasks, of the CPU too.
  share_ok(weir_graph_launch(graph, NULL));
  share_submit(s, s->step, s->cpu, sum, COUNT, 1, NULL);
  share_submit(s, s->step, s->cuda, sum, COUNT, 2, NULL);
  read_out(sum, numbers, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(stepped(stepped(3 + i, 29) + 7 + i, 1), 2));
  share_ok(weir_graph_release(graph));
  share_ok(weir_finish(s->context));
}

static void test_graphs(void **state) {
  (void)state;
  share_run("cuda,cpu:2", graphs_are_launched);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_TRACE}, graphs_are_launched);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_NO_RENAME},
                 graphs_are_launched);
}

// A graph that updates what tasks elsewhere wrote, on memory of both kinds that is wrapped.
static void graph_among_memories(share *s) {
  uint32_t numbers[COUNT], value = 4, count = COUNT;
  weir_buffer *host, *own;
  CUdeviceptr memory = share_allocate(s, COUNT);
  share_ok(weir_buffer_wrap(s->context, numbers, BYTES, &host));
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &own));
  weir_arg step_host[] = {weir_updates(host), weir_value(&count, 4), weir_value(&value, 4)};
  weir_arg add[] = {weir_writes(own), weir_reads(host), weir_reads(host), weir_value(&count, 4)};
  weir_task tasks[] = {task_of(s->step, s->cuda, step_host, 3), task_of(s->sum, s->cuda, add, 4)};
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, NULL, &graph));
  for (uint32_t i = 0; i < 2; i++) share_ok(weir_graph_add(graph, &tasks[i], NULL));
  for (uint32_t round = 0; round < 6; round++) {
    weir_event *event;
    uint32_t copy[COUNT];
    share_submit(s, s->set, s->cpu, host, COUNT, round, NULL);
    share_ok(weir_graph_launch(graph, &event));
    share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, event));
    share_read(s, copy, memory, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(copy[i], 2 * stepped(round + i, 4));
    share_ok(share_await(event));
    share_expect(numbers, COUNT, round, &value, 1);
  }
  share_ok(weir_graph_release(graph));
  share_ok(weir_buffer_release(own));
  share_free(s, memory);
}

static void test_graph_among_memories(void **state) {
  (void)state;
  share_run("cuda,cpu:2", graph_among_memories);
}

// A launch that reads what a task of the CPU failed to write: what depends on it is skipped, the rest is done.
static void graph_behind_failure(share *s) {
  weir_buffer *a = share_buffer(s, COUNT), *b = share_buffer(s, COUNT);
  uint32_t count = COUNT, value = 6, numbers[COUNT];
  weir_arg step_a[] = {weir_updates(a), weir_value(&count, 4), weir_value(&value, 4)};
  weir_arg step_b[] = {weir_updates(b), weir_value(&count, 4), weir_value(&value, 4)};
  weir_task tasks[] = {task_of(s->step, s->cuda, step_a, 3), task_of(s->step, s->cuda, step_b, 3)};
  weir_graph *graph;
  weir_event *event, *reader;
  share_ok(weir_graph_create(s->context, NULL, &graph));
  for (uint32_t i = 0; i < 2; i++) share_ok(weir_graph_add(graph, &tasks[i], NULL));
  share_submit(s, s->set, s->cuda, b, COUNT, 1, NULL);
  share_submit(s, s->broken, s->cpu, a, COUNT, 0, NULL);
  share_ok(weir_graph_launch(graph, &event));
  share_submit(s, s->step, s->cpu, a, COUNT, 1, &reader);
  assert_int_equal(share_await(event), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(share_await(reader), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_TASK_FAILED);
  read_out(b, numbers, COUNT);
  share_expect(numbers, COUNT, 1, &value, 1);
  share_submit(s, s->set, s->cuda, a, COUNT, 2, NULL);
  share_ok(weir_graph_launch(graph, &event));
  share_ok(share_await(event));
  read_out(a, numbers, COUNT);
  share_expect(numbers, COUNT, 2, &value, 1);
  share_ok(weir_graph_release(graph));
}

static void test_graph_behind_failure(void **state) {
  (void)state;
  share_run("cuda,cpu:2", graph_behind_failure);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_TRACE}, graph_behind_failure);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transfers),
      cmocka_unit_test(test_tiny_buffers),
      cmocka_unit_test(test_inputs),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_peers),
      cmocka_unit_test(test_little_memory),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_pinned),
      cmocka_unit_test(test_copies_among_buffers),
      cmocka_unit_test(test_write_back),
      cmocka_unit_test(test_event_of_write_back),
      cmocka_unit_test(test_many_write_backs),
      cmocka_unit_test(test_cpu_fails),
      cmocka_unit_test(test_device_lost),
      cmocka_unit_test(test_lost_contents),
      cmocka_unit_test(test_graphs),
      cmocka_unit_test(test_graph_among_memories),
      cmocka_unit_test(test_graph_behind_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
