// SPDX-License-Identifier: Apache-2.0
//
// Tasks that name no device, on several simulated devices of known speeds: virtual time tells how well they are placed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "weir/sim.h"

enum { BUFFERS = 16, TASKS = 800 };

static void ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static void add_one(const weir_work *work) {
  uint64_t value;
  memcpy(&value, work->args[0], sizeof value);
  value = value * 3 + 1;
  memcpy(work->args[0], &value, sizeof value);
}

typedef struct run {
  const char *devices;
  uint32_t flags;
  uint32_t chains; // of tasks that depend on each other
  double us;       // of a task
} run;

// Virtual microseconds that all tasks take.
static double time_of(const run *self) {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[BUFFERS];
  weir_context_options options = {.devices = self->devices, .flags = self->flags, .window = 64};
  ok(weir_context_create(&options, &context));
  ok(weir_kernel_create(context, "work", &kernel));
  ok(weir_kernel_set_cpu(kernel, add_one));
  ok(weir_kernel_set_sim(kernel, &(weir_sim_launch){.blocks = 1, .threads = 64, .us = self->us}, 1));
  for (uint32_t i = 0; i < self->chains; i++) {
    ok(weir_buffer_create(context, sizeof(uint64_t), &buffers[i]));
    ok(weir_fill(buffers[i], 0, sizeof(uint64_t), 0, NULL));
  }
  ok(weir_finish(context));
  weir_device *first = weir_context_device(context, 0);
  uint64_t start = weir_device_time(first), expected = 0, value;
  for (uint32_t i = 0; i < TASKS; i++) {
    weir_arg arg = weir_updates(buffers[i % self->chains]);
    ok(weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1}, NULL));
  }
  ok(weir_finish(context));
  double us = (double)(weir_device_time(first) - start) / 1000;
  for (uint32_t i = 0; i < TASKS / self->chains; i++) expected = expected * 3 + 1;
  for (uint32_t i = 0; i < self->chains; i++) {
    ok(weir_read(buffers[i], 0, sizeof value, &value));
    assert_int_equal(value, expected);
  }
  ok(weir_context_release(context));
  return us;
}

static double speedup(const char *devices, double us) {
  run one = {.devices = "sim:plain", .chains = BUFFERS, .us = us}, all = one;
  all.devices = devices;
  all.flags = WEIR_CONTEXT_PLACE;
  return time_of(&one) / time_of(&all);
}

static void expect_in(double value, double least, double most) {
  if (value < least || value > most) fail_msg("%g is not from %g to %g", value, least, most);
}

static void equal_devices_share_the_work(void **state) {
  (void)state;
  expect_in(speedup("sim:plain,sim:plain", 100), 1.9, 2.0);
  expect_in(speedup("sim:plain,sim:plain,sim:plain,sim:plain", 100), 3.5, 4.0);
}

static void a_faster_device_gets_more(void **state) {
  (void)state;
  expect_in(speedup("sim:plain,sim:plain+speed=3", 100), 3.5, 4.1);
  // The tasks of the first window are spread before anything is known, a third of them to the slow one.
  expect_in(speedup("sim:plain+speed=3,sim:plain,sim:plain+speed=0.2", 100), 2.5, 4.3);
}

// Speeds that change while the program runs are followed.
static void speeds_are_followed(void **state) {
  (void)state;
  expect_in(speedup("sim:plain,sim:plain+drift=0.5+drift_period_us=20000", 100), 1.7, 2.1);
}

// Without the flag all goes to the first device, and one chain gains nothing from two devices, but loses nothing either.
static void where_nothing_can_be_gained_nothing_is_lost(void **state) {
  (void)state;
  run one = {.devices = "sim:plain", .chains = BUFFERS, .us = 100}, two = one;
  two.devices = "sim:plain,sim:plain";
  expect_in(time_of(&one) / time_of(&two), 0.999, 1.001);
  one.chains = two.chains = 1;
  two.flags = WEIR_CONTEXT_PLACE;
  expect_in(time_of(&one) / time_of(&two), 0.9, 1.1);
}

// ---------------------------------------------------------------------------------------------------------------
// Devices with memory of their own: a tiled Cholesky factorisation, as on cards, but that bytes and rates are a 1024th.

enum { TILES = 20, TILE_BYTES = 8192 };

typedef struct factorisation {
  weir_context *context;
  weir_kernel *potrf, *trsm, *syrk, *gemm;
  weir_buffer *tiles[TILES][TILES];
} factorisation;

// Counts the tasks that updated a tile, so that a lost or repeated transfer is seen.
static void count_task(const weir_work *work) {
  uint64_t value;
  memcpy(&value, work->args[work->arg_count - 1], sizeof value);
  value += 1;
  memcpy(work->args[work->arg_count - 1], &value, sizeof value);
}

static weir_kernel *make_kernel(const factorisation *f, const char *name, double us, uint32_t blocks) {
  weir_kernel *kernel;
  weir_sim_launch launch = {.blocks = blocks, .threads = 1024, .registers = 60, .us = us};
  ok(weir_kernel_create(f->context, name, &kernel));
  ok(weir_kernel_set_cpu(kernel, count_task));
  ok(weir_kernel_set_sim(kernel, &launch, 1));
  return kernel;
}

static void submit(const factorisation *f, weir_kernel *kernel, weir_buffer *a, weir_buffer *b, weir_buffer *to) {
  weir_arg args[3];
  uint32_t count = 0;
  if (a != NULL) args[count++] = weir_reads(a);
  if (b != NULL) args[count++] = weir_reads(b);
  args[count++] = weir_updates(to);
  ok(weir_submit(f->context, &(weir_task){.kernel = kernel, .args = args, .arg_count = count}, NULL));
}

static void submit_all(factorisation *f) {
  weir_buffer *(*t)[TILES] = f->tiles;
  for (uint32_t k = 0; k < TILES; k++) {
    submit(f, f->potrf, NULL, NULL, t[k][k]);
    for (uint32_t i = k + 1; i < TILES; i++) submit(f, f->trsm, t[k][k], NULL, t[i][k]);
    for (uint32_t i = k + 1; i < TILES; i++) {
      for (uint32_t j = k + 1; j < i; j++) submit(f, f->gemm, t[i][k], t[j][k], t[i][j]);
      submit(f, f->syrk, t[i][k], NULL, t[i][i]);
    }
  }
}

// Virtual microseconds of a factorisation. Tile (i, j) is updated j + 1 times.
static double factor(const char *devices, uint64_t limit, weir_statistics *out_statistics) {
  factorisation f;
  weir_context_options options = {
      .devices = devices, .flags = WEIR_CONTEXT_PLACE, .window = 256, .device_memory_limit = limit};
  ok(weir_context_create(&options, &f.context));
  f.potrf = make_kernel(&f, "potrf", 300, 20);
  f.trsm = make_kernel(&f, "trsm", 200, 118);
  f.syrk = make_kernel(&f, "syrk", 150, 118);
  f.gemm = make_kernel(&f, "gemm", 288, 118);
  for (uint32_t i = 0; i < TILES; i++) {
    for (uint32_t j = 0; j <= i; j++) {
      ok(weir_buffer_create(f.context, TILE_BYTES, &f.tiles[i][j]));
      ok(weir_fill(f.tiles[i][j], 0, TILE_BYTES, 0, NULL));
    }
  }
  ok(weir_finish(f.context));
  weir_device *first = weir_context_device(f.context, 0);
  uint64_t start = weir_device_time(first);
  submit_all(&f);
  ok(weir_finish(f.context));
  double us = (double)(weir_device_time(first) - start) / 1000;
  weir_context_statistics(f.context, out_statistics);
  for (uint32_t i = 0; i < TILES; i++) {
    for (uint32_t j = 0; j <= i; j++) {
      uint64_t value;
      ok(weir_read(f.tiles[i][j], 0, sizeof value, &value));
      assert_int_equal(value, j + 1);
    }
  }
  ok(weir_context_release(f.context));
  return us;
}

// A tile of 2,048 rows has 32 MiB: 0.65 ms over a link of 50 GB/s.
#define CARD "sim:h200+launch_us=1+memory_mib=16+host_gbs=0.0125+peer_gbs=0.075"
#define APART "sim:h200+launch_us=1+memory_mib=16+host_gbs=0.0125"

static void two_cards_factor_faster(void **state) {
  (void)state;
  weir_statistics statistics;
  double one = factor(CARD, 0, &statistics);
  assert_int_equal(statistics.transfers, 0);
  expect_in(one / factor(CARD "," CARD, 0, &statistics), 1.75, 2.0);
  assert_in_range(statistics.transfers, 100, 700);
  expect_in(one / factor(APART "," APART, 0, &statistics), 1.0, 2.0); // through the host
}

static void submit_to(weir_context *context, weir_device *device, weir_kernel *kernel, weir_arg arg) {
  ok(weir_submit(context, &(weir_task){.kernel = kernel, .device = device, .args = &arg, .arg_count = 1}, NULL));
  ok(weir_finish(context));
}

// What a lost card and the host have comes from the host, over a slower link: another device is faster then.
static void a_lost_card_is_no_source(void **state) {
  enum { BYTES = 1 << 20 }; // 5 us by the link of cards, 1000 us from the host
  (void)state;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[2];
  weir_statistics before, after;
  weir_context_options options = {.devices = "sim:plain+memory_mib=64+host_gbs=1+peer_gbs=200,"
                                             "sim:plain+memory_mib=64+host_gbs=1+peer_gbs=200,sim:plain+speed=0.5",
                                  .flags = WEIR_CONTEXT_PLACE};
  ok(weir_context_create(&options, &context));
  ok(weir_kernel_create(context, "work", &kernel));
  ok(weir_kernel_set_sim(kernel, &(weir_sim_launch){.blocks = 1, .threads = 64, .us = 100}, 1));
  weir_device *card = weir_context_device(context, 0), *slow = weir_context_device(context, 2);
  for (uint32_t i = 0; i < 2; i++) {
    ok(weir_buffer_create(context, BYTES, &buffers[i]));
    ok(weir_fill(buffers[i], 0, BYTES, 0, NULL));
    submit_to(context, card, kernel, weir_updates(buffers[i]));
    submit_to(context, slow, kernel, weir_reads(buffers[i])); // the host's memory has it, too
  }
  submit_to(context, weir_context_device(context, 1), kernel, weir_reads(buffers[0])); // the link is known now
  weir_context_statistics(context, &before);
  card->lost = true;
  submit_to(context, NULL, kernel, weir_reads(buffers[1]));
  card->lost = false;
  weir_context_statistics(context, &after);
  assert_int_equal(after.transfers, before.transfers); // it ran where that was
  ok(weir_context_release(context));
}

// Transfers in the last of three rounds: a buffer is copied into, updated on one card, and read on the other.
static uint64_t transfers_of_a_round(uint32_t updating) {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffer;
  weir_statistics before = {0}, after;
  uint64_t value = 1;
  ok(weir_context_create(&(weir_context_options){.devices = CARD "," CARD}, &context));
  ok(weir_kernel_create(context, "work", &kernel));
  ok(weir_kernel_set_sim(kernel, &(weir_sim_launch){.blocks = 1, .threads = 64, .us = 100}, 1));
  ok(weir_buffer_create(context, sizeof value, &buffer));
  for (uint32_t round = 0; round < 3; round++) {
    weir_context_statistics(context, &before);
    ok(weir_copy_in(buffer, 0, sizeof value, &value, NULL));
    submit_to(context, weir_context_device(context, updating), kernel, weir_updates(buffer));
    submit_to(context, weir_context_device(context, 1 - updating), kernel, weir_reads(buffer));
  }
  weir_context_statistics(context, &after);
  ok(weir_context_release(context));
  return after.transfers - before.transfers;
}

// What was copied goes where that was needed, not where results of it were read.
static void copies_go_where_they_are_needed(void **state) {
  (void)state;
  assert_int_equal(transfers_of_a_round(0), 1);
  assert_int_equal(transfers_of_a_round(1), 1);
}

static void more_than_a_card_holds_is_factored(void **state) {
  (void)state;
  weir_statistics statistics;
  uint64_t bytes = (uint64_t)TILES * (TILES + 1) / 2 * TILE_BYTES;
  double fits = factor(CARD, 0, &statistics);
  assert_int_equal(statistics.evictions, 0);
  expect_in(fits / factor(CARD, bytes * 2 / 3, &statistics), 0.5, 1.0);
  assert_true(statistics.evictions > 0);
  expect_in(fits / factor(CARD, bytes / 4, &statistics), 0.1, 1.0);
  assert_int_equal(statistics.failed, 0);
}

static void results_come_again(void **state) {
  (void)state;
  run self = {.devices = "sim:plain,sim:h200,sim:plain+speed=2", .flags = WEIR_CONTEXT_PLACE, .chains = 8, .us = 30};
  double us = time_of(&self);
  for (int i = 0; i < 3; i++) assert_true(time_of(&self) == us);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_devices_share_the_work), cmocka_unit_test(a_faster_device_gets_more),
      cmocka_unit_test(speeds_are_followed),          cmocka_unit_test(where_nothing_can_be_gained_nothing_is_lost),
      cmocka_unit_test(two_cards_factor_faster),      cmocka_unit_test(more_than_a_card_holds_is_factored),
      cmocka_unit_test(a_lost_card_is_no_source),     cmocka_unit_test(copies_go_where_they_are_needed),
      cmocka_unit_test(results_come_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
