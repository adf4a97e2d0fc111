// SPDX-License-Identifier: Apache-2.0
//
// A program whose passes of tasks come again, and what serial execution leaves.
#ifndef WEIR_TESTS_REPEATS_RIG_H
#define WEIR_TESTS_REPEATS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/sim.h"
#include "weir/weir.h"

enum { TASKS = 40, BUFFERS = 7, WORDS = 4 };

// What each task does to words[to] from words[a], words[b] and a value, which is its user pointer and its tag, too.
typedef struct step {
  uint32_t to, a, b, value;
} step;

typedef struct rig {
  weir_context *context;
  weir_kernel *mix, *fail;
  weir_buffer *buffers[BUFFERS];
  uint32_t wanted[BUFFERS][WORDS]; // by serial execution
  step steps[TASKS];
} rig;

void rig_open_with(rig *self, weir_context_options options);

// With WEIR_CONTEXT_REPEATS.
void rig_open(rig *self, const char *devices);
void rig_close(rig *self);

// Makes buffer `index` anew, with zeros.
void rig_new_buffer(rig *self, uint32_t index);

void rig_submit(rig *self, const step *asked, weir_event **out_event);

// The tasks [first, end) of a pass, with values of its own.
void rig_pass(rig *self, uint32_t first, uint32_t end, uint32_t number);

// Finishes, and compares the buffers with what serial execution leaves.
void rig_expect(rig *self);

// Passes until one was launched as a whole. A thread that is kept from its core for long has it broken off.
void rig_learn(rig *self);

weir_statistics rig_statistics(const rig *self);
weir_kernel *rig_kernel(weir_context *context, const char *name, weir_function function);

// Functions: of the steps; fails if its value is 1; stands until the gate that is its user pointer opens.
void rig_mix(const weir_work *work);
void rig_fails(const weir_work *work);
void rig_stands(const weir_work *work);

typedef struct gate {
  _Atomic bool open, begun;
  _Atomic uint32_t entered; // tasks that came to it
  rig *shared;
} gate;

void rig_nap(long ns);

#endif // WEIR_TESTS_REPEATS_RIG_H
