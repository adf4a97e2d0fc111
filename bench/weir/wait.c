// SPDX-License-Identifier: Apache-2.0
//
// `wait`: how long a thread takes to submit one task, which keeps a worker busy for so many us, and to see that it is done.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weir_bench.h"

static uint64_t value;

static void keep_busy(const weir_work *work) {
  weir__bench_spin(*(const uint64_t *)work->args[0]);
  *(uint64_t *)work->args[1] += 1;
}

typedef struct waiter {
  weir_context *context;
  weir_buffer *buffer;
  const char *way; // "event", "finish" or "read"
} waiter;

static void submit_and_wait(void *user, uint64_t us) {
  const waiter *self = user;
  const weir_arg args[] = {weir_value(&us, sizeof us), weir_updates(self->buffer)};
  const weir_task task = {.host = keep_busy, .args = args, .arg_count = 2};
  weir_event *event = NULL;
  weir__bench_require(weir_submit(self->context, &task, *self->way == 'e' ? &event : NULL));
  if (*self->way == 'e') weir__bench_require(weir_event_wait(event, WEIR_FOREVER));
  if (*self->way == 'f') weir__bench_require(weir_finish(self->context));
  if (*self->way == 'r') weir__bench_require(weir_read(self->buffer, 0, sizeof value, &value));
  weir_event_release(event);
}

int weir__bench_wait_main(int argc, char **argv) {
  waiter self = {.way = weir__bench_text_option(argc, argv, "--way", "event")};
  const char *device = weir__bench_text_option(argc, argv, "--device", "cpu");
  if (strcmp(self.way, "event") != 0 && strcmp(self.way, "finish") != 0 && strcmp(self.way, "read") != 0) {
    fprintf(stderr, "\"%s\" is no way to wait\n", self.way);
    return 2;
  }
  self.context = weir__bench_context(device, 0, true);
  weir__bench_require(weir_buffer_create(self.context, sizeof value, &self.buffer));
  weir__bench_require(weir_copy_in(self.buffer, 0, sizeof value, &value, NULL));
  char name[64];
  snprintf(name, sizeof name, "weir, %s, %s", self.way, device);
  uint64_t count = weir__bench_round_trips(name, submit_and_wait, &self, argc, argv);
  weir__bench_require(weir_read(self.buffer, 0, sizeof value, &value));
  weir_context_release(self.context);
  if (value == count) return 0;
  fprintf(stderr, "%llu tasks ran, not %llu\n", (unsigned long long)value, (unsigned long long)count);
  return 1;
}
