// SPDX-License-Identifier: Apache-2.0
#include "meeting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { POLL_US = 100, POLLS = 30 * 1000 * 1000 / POLL_US };

void meeting_initialize(meeting *self, uint32_t expected) {
  self->expected = expected;
  atomic_init(&self->arrived, 0);
  atomic_init(&self->given_up, false);
}

void meeting_attend(const weir_work *work) {
  meeting *self = work->user;
  atomic_fetch_add(&self->arrived, 1);
  for (int i = 0; atomic_load(&self->arrived) < self->expected; i++) {
    if (i == POLLS) atomic_store(&self->given_up, true);
    if (atomic_load(&self->given_up)) return;
    usleep(POLL_US);
  }
}

bool meeting_held(meeting *self) {
  return !atomic_load(&self->given_up) && atomic_load(&self->arrived) >= self->expected;
}

weir_context *open_cpu(uint32_t workers) {
  char devices[32];
  snprintf(devices, sizeof devices, "cpu:%u", workers);
  weir_context *context = NULL;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = devices}, &context), WEIR_OK);
  assert_int_equal(weir_device_information(weir_context_device(context, 0))->lanes, workers);
  return context;
}

void finish_all(weir_context *context) {
  assert_int_equal(weir_finish_for(context, UINT64_C(60000000000)), WEIR_OK);
}

void submit_host(weir_context *context, weir_function function, void *user, const weir_arg *args, uint32_t arg_count) {
  weir_task task = {.host = function, .user = user, .args = args, .arg_count = arg_count};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
}
