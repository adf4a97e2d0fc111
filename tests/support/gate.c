// SPDX-License-Identifier: Apache-2.0
#include "gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POLL_US = 50, POLLS_PER_MINUTE = 60 * 1000 * 1000 / POLL_US };

static void hung(const char *what) {
  fprintf(stderr, "gate: %s for a minute\n", what);
  abort();
}

void gate_function(const weir_work *work) {
  gate *self = work->user;
  atomic_fetch_add(&self->entered, 1);
  for (int i = 0; !atomic_load(&self->open); i++) {
    if (i == POLLS_PER_MINUTE) hung("not opened");
    usleep(POLL_US);
  }
  atomic_fetch_add(&self->passed, 1);
}

void gate_await(gate *self, unsigned count) {
  for (int i = 0; atomic_load(&self->entered) < count; i++) {
    if (i == POLLS_PER_MINUTE) hung("no task came");
    usleep(POLL_US);
  }
}

void gate_open(gate *self) {
  atomic_store(&self->open, true);
}

weir_status gate_submit(weir_context *context, gate *self, const weir_arg *args, uint32_t arg_count,
                        weir_event **out_event) {
  weir_task task = {.host = gate_function, .user = self, .args = args, .arg_count = arg_count, .label = "gate"};
  return weir_submit(context, &task, out_event);
}
