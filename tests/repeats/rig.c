// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint32_t mixed(uint32_t to, uint32_t a, uint32_t b, uint32_t value) {
  return (to * 31 + a) * 31 + b * 7 + value;
}

void rig_mix(const weir_work *work) {
  uint32_t *to = work->args[0];
  const uint32_t *a = work->args[1], *b = work->args[2];
  uint32_t value;
  memcpy(&value, work->args[3], sizeof value);
  if ((uintptr_t)work->user != value) abort();
  for (int i = 0; i < WORDS; i++) to[i] = mixed(to[i], a[i], b[i], value);
}

void rig_fails(const weir_work *work) {
  uint32_t value;
  memcpy(&value, work->args[1], sizeof value);
  if (value == 1) weir_work_fail(work, "as told");
}

weir_kernel *rig_kernel(weir_context *context, const char *name, weir_function function) {
  weir_kernel *made;
  assert_int_equal(weir_kernel_create(context, name, &made), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(made, function), WEIR_OK);
  const weir_sim_launch launch = {.name = name, .threads = 64, .us = 1};
  assert_int_equal(weir_kernel_set_sim(made, &launch, 1), WEIR_OK);
  return made;
}

void rig_new_buffer(rig *self, uint32_t index) {
  assert_int_equal(weir_buffer_create(self->context, sizeof self->wanted[0], &self->buffers[index]), WEIR_OK);
  static uint32_t first[BUFFERS][WORDS]; // stays, since copies read it later
  for (int i = 0; i < WORDS; i++) self->wanted[index][i] = first[index][i];
  assert_int_equal(weir_copy_in(self->buffers[index], 0, WEIR_WHOLE, first[index], NULL), WEIR_OK);
}

void rig_open_with(rig *self, weir_context_options options) {
  *self = (rig){.context = NULL};
  assert_int_equal(weir_context_create(&options, &self->context), WEIR_OK);
  self->mix = rig_kernel(self->context, "mix", rig_mix);
  self->fail = rig_kernel(self->context, "fail", rig_fails);
  for (uint32_t i = 0; i < BUFFERS; i++) rig_new_buffer(self, i);
  uint32_t random = 12345;
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t numbers[4];
    for (int j = 0; j < 4; j++) numbers[j] = (random = random * 1664525 + 1013904223) >> 8;
    step *made = &self->steps[i];
    *made = (step){.to = numbers[0] % BUFFERS, .value = i};
    made->a = (made->to + 1 + numbers[1] % (BUFFERS - 1)) % BUFFERS;
    made->b = (made->to + 1 + numbers[2] % (BUFFERS - 1)) % BUFFERS;
  }
}

void rig_open(rig *self, const char *devices) {
  rig_open_with(self, (weir_context_options){.devices = devices, .flags = WEIR_CONTEXT_REPEATS});
}

void rig_submit(rig *self, const step *asked, weir_event **out_event) {
  const weir_arg args[] = {weir_updates(self->buffers[asked->to]), weir_reads(self->buffers[asked->a]),
                           weir_reads(self->buffers[asked->b]), weir_value(&asked->value, sizeof asked->value)};
  const weir_task task = {
      .kernel = self->mix, .user = (void *)(uintptr_t)asked->value, .args = args, .arg_count = 4, .tag = asked->value};
  assert_int_equal(weir_submit(self->context, &task, out_event), WEIR_OK);
  for (int i = 0; i < WORDS; i++)
    self->wanted[asked->to][i] =
        mixed(self->wanted[asked->to][i], self->wanted[asked->a][i], self->wanted[asked->b][i], asked->value);
}

void rig_pass(rig *self, uint32_t first, uint32_t end, uint32_t number) {
  for (uint32_t i = first; i < end; i++) {
    step now = self->steps[i];
    now.value += number * 1000;
    rig_submit(self, &now, NULL);
  }
}

void rig_expect(rig *self) {
  uint32_t words[BUFFERS][WORDS];
  for (uint32_t i = 0; i < BUFFERS; i++)
    assert_int_equal(weir_copy_out(self->buffers[i], 0, WEIR_WHOLE, words[i], NULL), WEIR_OK);
  assert_int_equal(weir_finish(self->context), WEIR_OK);
  assert_memory_equal(words, self->wanted, sizeof words);
}

weir_statistics rig_statistics(const rig *self) {
  weir_statistics now;
  weir_context_statistics(self->context, &now);
  return now;
}

void rig_learn(rig *self) {
  uint64_t before = rig_statistics(self).repeated;
  for (uint32_t i = 0; rig_statistics(self).repeated < before + TASKS; i++) {
    assert_true(i < 100000);
    rig_pass(self, 0, TASKS, i);
    assert_int_equal(weir_finish(self->context), WEIR_OK);
  }
}

void rig_close(rig *self) {
  weir_statistics last = rig_statistics(self);
  assert_int_equal(last.tasks, last.done);
  assert_int_equal(weir_context_release(self->context), WEIR_OK);
}
void rig_nap(long ns) {
  nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

void rig_stands(const weir_work *work) {
  gate *self = work->user;
  atomic_fetch_add(&self->entered, 1);
  while (!atomic_load(&self->open)) rig_nap(100000);
}
