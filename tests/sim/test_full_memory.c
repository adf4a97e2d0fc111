// SPDX-License-Identifier: Apache-2.0
//
// What gives way where a simulated device's memory is too small for all that a program has: the bytes that move are compared with
// the fewest that could.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gate.h"
#include "weir/sim.h"

enum { BYTES = 8192, MOST_BUFFERS = 300, MOST_TASKS = 8192, MOST_READS = 2 };

// A link that is slow for these tasks, with a copy engine for each direction.
#define CARD "sim:h200+launch_us=1+memory_mib=64+host_gbs=0.1+copy_engines=2"

static void ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

// Tasks that read some buffers and update one.
typedef struct tasks {
  uint32_t buffer_count, fitting, task_count, turn; // so many buffers fit; a turn is a part of the tasks
  struct {
    uint32_t read_count, reads[MOST_READS], updated;
  } tasks[MOST_TASKS];
} tasks;

static tasks program;

static void add(uint32_t updated, uint32_t read_count, uint32_t a, uint32_t b) {
  assert_true(program.task_count < MOST_TASKS);
  program.tasks[program.task_count].updated = updated;
  program.tasks[program.task_count].read_count = read_count;
  program.tasks[program.task_count].reads[0] = a;
  program.tasks[program.task_count++].reads[1] = b;
}

// ---------------------------------------------------------------------------------------------------------------
// The fewest copies, by what is used last of all (Belady, 1966), when nothing is on the device at first

static bool uses(uint32_t task, uint32_t buffer) {
  for (uint32_t i = 0; i < program.tasks[task].read_count; i++) {
    if (program.tasks[task].reads[i] == buffer) return true;
  }
  return program.tasks[task].updated == buffer;
}

static uint32_t next_use(uint32_t task, uint32_t buffer) {
  while (task < program.task_count && !uses(task, buffer)) task++;
  return task;
}

// In the tasks from `first` on.
static uint32_t fewest_copies(uint32_t first) {
  bool there[MOST_BUFFERS] = {false}, changed[MOST_BUFFERS] = {false};
  uint32_t held = 0, copies = 0, next[MOST_BUFFERS];
  for (uint32_t buffer = 0; buffer < program.buffer_count; buffer++) next[buffer] = next_use(0, buffer);
  for (uint32_t task = 0; task < program.task_count; task++) {
    for (uint32_t buffer = 0; buffer < program.buffer_count; buffer++) {
      if (next[buffer] != task) continue;
      next[buffer] = next_use(task + 1, buffer);
      if (there[buffer]) continue;
      uint32_t last = UINT32_MAX;
      for (uint32_t i = 0; i < program.buffer_count && held == program.fitting; i++) {
        if (there[i] && !uses(task, i) && (last == UINT32_MAX || next[i] > next[last])) last = i;
      }
      if (last != UINT32_MAX) {
        copies += task >= first && changed[last];
        there[last] = changed[last] = false;
        held--;
      }
      copies += task >= first;
      there[buffer] = true;
      held++;
    }
    changed[program.tasks[task].updated] = true;
  }
  return copies;
}

// ---------------------------------------------------------------------------------------------------------------

static void count_task(const weir_work *work) {
  uint64_t value;
  memcpy(&value, work->args[work->arg_count - 1], sizeof value);
  value += 1;
  memcpy(work->args[work->arg_count - 1], &value, sizeof value);
}

static void submit(weir_context *context, weir_kernel *kernel, weir_buffer *const *buffers, uint32_t index) {
  weir_arg args[MOST_READS + 1];
  uint32_t count = program.tasks[index].read_count;
  for (uint32_t i = 0; i < count; i++) args[i] = weir_reads(buffers[program.tasks[index].reads[i]]);
  args[count] = weir_updates(buffers[program.tasks[index].updated]);
  ok(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = count + 1}, NULL));
}

// Copies of a buffer's bytes in the turns from the second one on.
static uint64_t copies_of(void) {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[MOST_BUFFERS];
  weir_context_options options = {.devices = CARD, .device_memory_limit = (uint64_t)program.fitting * BYTES};
  ok(weir_context_create(&options, &context));
  ok(weir_kernel_create(context, "work", &kernel));
  ok(weir_kernel_set_cpu(kernel, count_task));
  ok(weir_kernel_set_sim(kernel, &(weir_sim_launch){.blocks = 118, .threads = 1024, .registers = 60, .us = 50}, 1));
  for (uint32_t i = 0; i < program.buffer_count; i++) {
    ok(weir_buffer_create(context, BYTES, &buffers[i]));
    ok(weir_fill(buffers[i], 0, BYTES, 0, NULL));
  }
  uint32_t wanted[MOST_BUFFERS] = {0};
  weir_statistics before = {0}, after;
  for (uint32_t i = 0; i < program.task_count; i++) {
    if (i == program.turn) weir_context_statistics(context, &before);
    submit(context, kernel, buffers, i);
    wanted[program.tasks[i].updated]++;
  }
  ok(weir_finish(context));
  weir_context_statistics(context, &after);
  assert_int_equal(after.failed, 0);
  for (uint32_t i = 0; i < program.buffer_count; i++) {
    uint64_t value;
    ok(weir_read(buffers[i], 0, sizeof value, &value));
    assert_int_equal(value, wanted[i]);
  }
  ok(weir_context_release(context));
  return (after.transfer_bytes - before.transfer_bytes) / BYTES;
}

static void expect_at_most(double part, const char *what) {
  uint64_t fewest = fewest_copies(program.turn), copies = copies_of();
  if ((double)copies > part * (double)fewest)
    fail_msg("%s: %llu copies, %.2f times the fewest, %llu", what, (unsigned long long)copies,
             (double)copies / (double)fewest, (unsigned long long)fewest);
}

static void begin(uint32_t buffer_count, uint32_t fitting, uint32_t turn) {
  program.buffer_count = buffer_count;
  program.fitting = fitting;
  program.task_count = 0;
  program.turn = turn;
}

static void sweeps_that_update(void **state) {
  (void)state;
  begin(240, 160, 240);
  for (uint32_t i = 0; i < 6 * 240; i++) add(i % 240, 0, 0, 0);
  expect_at_most(1.5, "sweeps");
}

// Nothing has to be copied back, so idle buffers could be had at once: those that are needed next.
static void sweeps_that_read(void **state) {
  (void)state;
  begin(241, 160, 240);
  for (uint32_t i = 0; i < 6 * 240; i++) add(240, 1, i % 240, 0);
  expect_at_most(2, "sweeps that read");
}

static void to_and_fro(void **state) {
  (void)state;
  begin(240, 160, 240);
  for (uint32_t i = 0; i < 6 * 240; i++) add(i / 240 % 2 == 0 ? i % 240 : 239 - i % 240, 0, 0, 0);
  expect_at_most(1.5, "to and fro");
}

static uint32_t tile(uint32_t i, uint32_t j) {
  return i * (i + 1) / 2 + j;
}

static void factorisations(void **state) {
  enum { TILES = 22, COUNT = TILES * (TILES + 1) / 2 };
  (void)state;
  begin(COUNT, COUNT * 2 / 3, TILES * (TILES + 1) * (TILES + 2) / 6);
  for (uint32_t pass = 0; pass < 3; pass++) {
    for (uint32_t k = 0; k < TILES; k++) {
      add(tile(k, k), 0, 0, 0);
      for (uint32_t i = k + 1; i < TILES; i++) add(tile(i, k), 1, tile(k, k), 0);
      for (uint32_t i = k + 1; i < TILES; i++) {
        for (uint32_t j = k + 1; j < i; j++) add(tile(i, j), 2, tile(i, k), tile(j, k));
        add(tile(i, i), 1, tile(i, k), 0);
      }
    }
  }
  expect_at_most(1.8, "factorisations");
}

// However little there is, tasks get on whose buffers fit alone.
static void little_memory_suffices(void **state) {
  (void)state;
  for (uint32_t fitting = MOST_READS + 1; fitting < 10; fitting++) {
    begin(12, fitting, 0);
    for (uint32_t i = 0; i < 5 * 12; i++) add(i % 12, 2, (i + 11) % 12, (i + 1) % 12);
    for (uint32_t i = 0; i < 5 * 12; i++)
      add(i % 12, 2, (i + 5) % 12, (i * 7 + 3) % 12 == i % 12 ? (i + 1) % 12 : (i * 7 + 3) % 12);
    copies_of();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The oldest task waits for the thread that submits

enum { FITTING = 40, HELD = 20, OTHERS = 50, WRAPPED = 8 };

typedef struct held_rig {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[HELD + OTHERS];
  gate held;
} held_rig;

static void read_on_card(const held_rig *self, uint32_t buffer, weir_event **out_event) {
  weir_arg arg = weir_reads(self->buffers[buffer]);
  weir_device *card = weir_context_device(self->context, 0);
  weir_task task = {.kernel = self->kernel, .device = card, .args = &arg, .arg_count = 1};
  ok(weir_submit(self->context, &task, out_event));
}

static void make_buffer(held_rig *self, uint32_t index) {
  ok(weir_buffer_create(self->context, BYTES, &self->buffers[index]));
  ok(weir_fill(self->buffers[index], 0, BYTES, 0, NULL));
}

// A task that holds the first `count` buffers, which the card has used.
static void hold(held_rig *self, uint32_t count) {
  *self = (held_rig){0};
  weir_context_options options = {.devices = CARD ",cpu:1", .device_memory_limit = FITTING * BYTES};
  ok(weir_context_create(&options, &self->context));
  ok(weir_kernel_create(self->context, "work", &self->kernel));
  weir_sim_launch launch = {.blocks = 118, .threads = 1024, .registers = 60, .us = 50};
  ok(weir_kernel_set_sim(self->kernel, &launch, 1));
  weir_arg args[HELD];
  for (uint32_t i = 0; i < count; i++) {
    make_buffer(self, i);
    args[i] = weir_reads(self->buffers[i]);
    read_on_card(self, i, NULL);
  }
  ok(weir_finish(self->context));
  ok(gate_submit(self->context, &self->held, args, count, NULL));
  for (uint32_t i = HELD; i < HELD + OTHERS; i++) make_buffer(self, i);
}

static void let_go(held_rig *self) {
  gate_open(&self->held);
  ok(weir_finish(self->context));
  ok(weir_context_release(self->context));
}

// It holds what is best to lose, but idle buffers do not stay for that.
static void what_is_held_for_long_keeps_nothing(void **state) {
  (void)state;
  held_rig self;
  hold(&self, HELD);
  for (uint32_t i = 0; i < 4 * OTHERS; i++) {
    weir_event *done;
    read_on_card(&self, HELD + i % OTHERS, &done);
    ok(weir_event_wait(done, WEIR_FOREVER));
    weir_event_release(done);
  }
  let_go(&self);
}

// Memory comes free behind later tasks.
static void others_make_room_meanwhile(void **state) {
  (void)state;
  held_rig self;
  hold(&self, 0);
  for (uint32_t i = 0; i < 4 * OTHERS; i++) read_on_card(&self, HELD + i % OTHERS, NULL);
  let_go(&self);
}

static void update_on_card(const held_rig *self, weir_buffer *buffer, weir_event *after) {
  weir_arg arg = weir_updates(buffer);
  weir_task task = {
      .kernel = self->kernel, .args = &arg, .arg_count = 1, .after = &after, .after_count = after != NULL};
  ok(weir_submit(self->context, &task, NULL));
}

// On the host what the card has, too, is given up for what is new there.
static void copies_on_the_host_make_room(void **state) {
  (void)state;
  held_rig self = {0};
  weir_context_options options = {.devices = CARD ",cpu:1", .memory_limit = FITTING * BYTES};
  ok(weir_context_create(&options, &self.context));
  ok(weir_kernel_create(self.context, "work", &self.kernel));
  ok(weir_kernel_set_cpu(self.kernel, count_task));
  ok(weir_kernel_set_sim(self.kernel, &(weir_sim_launch){.blocks = 1, .threads = 64, .us = 50}, 1));
  weir_device *host = weir_context_device(self.context, 1);
  for (uint32_t i = 0; i < FITTING + WRAPPED; i++) {
    if (i == FITTING) {
      ok(weir_finish(self.context));
      ok(gate_submit(self.context, &self.held, NULL, 0, NULL));
    }
    ok(weir_buffer_create(self.context, BYTES, &self.buffers[i]));
    weir_arg arg = weir_writes(self.buffers[i]);
    ok(weir_submit(self.context, &(weir_task){.kernel = self.kernel, .device = host, .args = &arg, .arg_count = 1},
                   NULL));
    if (i < FITTING) read_on_card(&self, i, NULL);
  }
  let_go(&self);
}

// What goes back to the caller's memory behind a held task makes no room, so others are copied home.
static void what_is_held_on_its_way_makes_no_room(void **state) {
  (void)state;
  static char memory[WRAPPED][BYTES];
  held_rig self;
  weir_event *opened;
  hold(&self, 0);
  ok(gate_submit(self.context, &self.held, NULL, 0, &opened));
  for (uint32_t i = 0; i < WRAPPED; i++) {
    ok(weir_buffer_wrap(self.context, memory[i], BYTES, &self.buffers[i]));
    update_on_card(&self, self.buffers[i], opened);
  }
  weir_event_release(opened);
  for (uint32_t i = 0; i < 4 * OTHERS; i++) update_on_card(&self, self.buffers[HELD + i % OTHERS], NULL);
  let_go(&self);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sweeps_that_update),
      cmocka_unit_test(sweeps_that_read),
      cmocka_unit_test(to_and_fro),
      cmocka_unit_test(factorisations),
      cmocka_unit_test(little_memory_suffices),
      cmocka_unit_test(what_is_held_for_long_keeps_nothing),
      cmocka_unit_test(others_make_room_meanwhile),
      cmocka_unit_test(copies_on_the_host_make_room),
      cmocka_unit_test(what_is_held_on_its_way_makes_no_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
