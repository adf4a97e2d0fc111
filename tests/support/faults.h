// SPDX-License-Identifier: Apache-2.0
//
// What the tests share in which a driver's calls fail: a kernel, a scenario of tasks, copies and graphs, and notes of what went
// wrong in it.
#ifndef WEIR_TESTS_FAULTS_H
#define WEIR_TESTS_FAULTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/graph.h"
#include "weir/weir.h"

enum { WORDS = 64, FAULTS_BUFFERS = 3 };

// to[i] = from[i] * 3 + value: an argument that is written, one that is read, a value.
uint32_t faults_mixed(uint32_t from, uint32_t value);
void faults_mix(uint32_t *to, const uint32_t *from, uint32_t value);
void faults_mix_on_cpu(const weir_work *work);
weir_task faults_task(weir_kernel *kernel, weir_arg args[3], weir_buffer *to, weir_buffer *from, const uint32_t *value);

typedef struct faults_scenario {
  weir_status (*make_kernel)(weir_context *context, weir_kernel **out_kernel); // the kernel above, for all devices
  const char *(*failed)(void); // the driver's call that failed; NULL: none
  bool spread;                 // tasks go to all devices in turn
  weir_context *context;
  weir_kernel *mix;
  weir_buffer *buffers[FAULTS_BUFFERS], *wrapped;
  weir_graph *graph;
  weir_event *events[2]; // of the copies out
  uint32_t input[WORDS], outputs[2][WORDS], memory[WORDS];
} faults_scenario;

// Whether a call may fail with it because one of the driver's did.
bool faults_are_documented(weir_status status);

// Makes a context, and the calls up to the first that is refused: then a program gives up. Notes what is refused without a reason.
// `what` says where, here and below.
weir_status faults_play(faults_scenario *s, const weir_context_options *options, const char *what);

// Waits for the outputs. Those that are reported as done must be right, the others say why, and fail only if a call did.
void faults_check(const faults_scenario *s, const char *what);

void faults_release(faults_scenario *s);

// Notes something wrong: it is printed, and makes the test fail at its end.
__attribute__((format(printf, 1, 2))) void faults_wrong(const char *format, ...);

// How much that is wrong was noted since the last call of the function below.
unsigned faults_found(void);

// Fails if something wrong was noted since the last call.
void faults_expect_none(void);

#endif // WEIR_TESTS_FAULTS_H
