// SPDX-License-Identifier: Apache-2.0
//
// A gate: holds tasks back until the test opens it.
#ifndef WEIR_TESTS_GATE_H
#define WEIR_TESTS_GATE_H

#include <stdatomic.h>

#include "weir/weir.h"

typedef struct gate {
  atomic_bool open;
  atomic_uint entered; // tasks that came to the gate
  atomic_uint passed;  // tasks that went through
} gate;

// Task function: waits at the gate that is its `user`. Ends the test process if nobody opens for a minute.
void gate_function(const weir_work *work);

// Waits until `count` tasks have come to the gate. Ends the test process if they do not for a minute.
void gate_await(gate *gate, unsigned count);

void gate_open(gate *gate);

// Submits a host task that holds `args` until the gate opens. Returns once it is submitted.
weir_status gate_submit(weir_context *context, gate *gate, const weir_arg *args, uint32_t arg_count,
                        weir_event **out_event);

#endif // WEIR_TESTS_GATE_H
