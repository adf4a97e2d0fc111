// SPDX-License-Identifier: Apache-2.0
//
// In which order graphs are made on the side, and which are not made at all. On the driver of stub/.
#include <string.h>

#include "base/clock.h"
#include "device/cuda/graph/builder.h"
#include "engine/context.h"
#include "share.h"

enum { COUNT = 16, MOST_WAITING = 64, ONCE_NS = 20000000 };

// A batch of one task. What tells it from others is the number, in place of a hash of its topology.
typedef struct rig {
  weir__cuda_device *device;
  weir__cuda_builder *builder;
  const weir__cuda_kernel *code;
} rig;

static rig make(const share *s) {
  weir__cuda_device *device = (weir__cuda_device *)(void *)s->cuda;
  rig self = {.device = device, .code = weir__kernel_code(s->set, s->cuda)};
  share_good(s->driver->cuCtxSetCurrent(s->primary));
  self.builder = weir__cuda_builder_create(device);
  assert_non_null(self.builder);
  return self;
}

static void ask(const rig *self, uint64_t number, bool known) {
  uint64_t memory = 0;
  uint32_t count = COUNT, value = 1, groups[3] = {1, 1, 1};
  void *parameters[] = {&memory, &count, &value};
  const weir__cuda_step step = {.kernel = self->code, .groups = groups, .parameters = parameters, .parameter_count = 3};
  weir__cuda_builder_ask(self->builder, &step, 1, number, known);
}

// The number of the next graph that was made; 0: none was for a while.
static uint64_t fetch(const rig *self, uint64_t patience_ns) {
  uint64_t number, until = weir__clock_ns() + patience_ns;
  weir__cuda_exec *exec;
  while ((exec = weir__cuda_builder_fetch(self->builder, &number)) == NULL && weir__clock_ns() < until) weir__pause();
  if (exec == NULL) return 0;
  weir__cuda_exec_destroy(self->device, exec);
  return number;
}

static const uint64_t sure_ns = UINT64_C(60000000000);

static void what_came_again_is_made_first(share *s) {
  rig self = make(s);
  weir__cuda_builder_note_work(self.builder, WEIR__CUDA_BUSY);
  ask(&self, 1, false);
  ask(&self, 2, false);
  ask(&self, 3, true);
  assert_int_equal(fetch(&self, sure_ns), 3);
  ask(&self, 2, true);
  assert_int_equal(fetch(&self, sure_ns), 2);
  assert_int_equal(fetch(&self, 2 * ONCE_NS), 0); // the first never came again
  weir__cuda_builder_note_work(self.builder, WEIR__CUDA_IDLE);
  assert_int_equal(fetch(&self, sure_ns), 1);
  weir__cuda_builder_destroy(self.builder);
}

static void what_is_oldest_makes_room(share *s) {
  rig self = make(s);
  weir__cuda_builder_note_work(self.builder, WEIR__CUDA_BUSY);
  for (uint64_t number = 1; number <= MOST_WAITING + 2; number++) ask(&self, number, false);
  ask(&self, MOST_WAITING + 3, true);
  assert_int_equal(fetch(&self, sure_ns), MOST_WAITING + 3);
  weir__cuda_builder_note_work(self.builder, WEIR__CUDA_IDLE);
  for (uint64_t number = 4; number <= MOST_WAITING + 2; number++) assert_true(fetch(&self, sure_ns) >= 4);
  assert_int_equal(fetch(&self, ONCE_NS), 0);
  weir__cuda_builder_destroy(self.builder);
}

static void what_was_not_made_is_dropped_at_the_end(share *s) {
  rig self = make(s);
  weir__cuda_builder_note_work(self.builder, WEIR__CUDA_BUSY_WITH_NEW);
  for (uint64_t number = 1; number <= 8; number++) ask(&self, number, number % 2 == 0);
  weir__cuda_builder_destroy(self.builder);
}

#define TEST(name)                                                                                                     \
  static void test_##name(void **state) {                                                                              \
    (void)state;                                                                                                       \
    share_run("cuda,cpu:1", name);                                                                                     \
  }
TEST(what_came_again_is_made_first)
TEST(what_is_oldest_makes_room)
TEST(what_was_not_made_is_dropped_at_the_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_came_again_is_made_first),
      cmocka_unit_test(test_what_is_oldest_makes_room),
      cmocka_unit_test(test_what_was_not_made_is_dropped_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
