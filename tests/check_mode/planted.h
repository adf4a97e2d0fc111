// SPDX-License-Identifier: Apache-2.0
//
// A kernel that does what it is told to, right or wrong: to[i] = from[i] * 3 + 1.
#ifndef WEIR_TESTS_PLANTED_H
#define WEIR_TESTS_PLANTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/weir.h"

typedef enum planted_kind {
  PLANTED_NOTHING,
  PLANTED_PARTIAL,       // leaves the last 4 words of `to`
  PLANTED_ACCUMULATES,   // adds to `to`
  PLANTED_WRITES_BEHIND, // to[words]
  PLANTED_WRITES_BEFORE, // to[-1]
  PLANTED_CHANGES,       // from[2]
  PLANTED_READS_BEHIND,  // from[words]
  PLANTED_READS_OUTPUT,  // to[words + 1]
} planted_kind;

typedef struct planted_value {
  uint32_t kind, words;
} planted_value;

// The kernel, for all devices of the context; and as a function that runs once, as one work-group of all words.
weir_kernel *planted_kernel(weir_context *context);

// The same, with code for CUDA, where the context has such a device.
weir_kernel *planted_kernel_on_card(weir_context *context);
void planted_host(const weir_work *work);

void planted_words(uint32_t *from, uint32_t *to, planted_value value, uint64_t count);

// Its code for CUDA; a test without a card has another one.
extern const char *planted_cuda;

// Tests of "cuda" use the driver without a card (tests/cuda/stub) from now on. The functions that check mode has for cards run
// as C (card.c).
void planted_use_stub(void);

// A context in check mode. Ends the program with 77 where there is no such device.
weir_context *planted_open(const char *devices, uint32_t flags);

// Fails the test if the status is not OK.
void planted_ok(weir_status status);

// Waits for the task. `parts` (NULL at the end) must all be in its message; none: it must end well.
void planted_expect(weir_event *event, const char *what, const char *const *parts);

#endif // WEIR_TESTS_PLANTED_H
