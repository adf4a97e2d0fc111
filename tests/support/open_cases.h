// SPDX-License-Identifier: Apache-2.0
//
// Open tasks, as far as they are the same on devices with other queues than CUDA's: order, threads, failures. Their work
// is fills and copies by the caller's own commands.
#ifndef WEIR_TESTS_OPEN_CASES_H
#define WEIR_TESTS_OPEN_CASES_H

#include "weir/enqueue.h"

// A kind of device. The functions put commands on a call's queue, by any thread; they return whether they could.
typedef struct open_rig {
  const char *kind;
  void (*open)(const char *devices, const weir_context_options *options); // makes a context, whose first device it is
  void (*close)(void);                                                    // all tasks are done
  weir_context **context;
  bool (*fill)(const weir_enqueue *call, const weir_enqueue_arg *to, uint32_t pattern);
  bool (*copy)(const weir_enqueue *call, const weir_enqueue_arg *to, const weir_enqueue_arg *from);
  void (*separate)(const weir_enqueue *call); // what comes next comes after what was put; NULL: it does anyway
} open_rig;

extern const open_rig *open_rig_now; // set by the test's `main`

// Tests of cmocka.
void open_cases_order(void **state);
void open_cases_others_go_on(void **state);
void open_cases_full_window(void **state);
void open_cases_failures(void **state);
void open_cases_thread(void **state);
void open_cases_many_threads(void **state);
void open_cases_cancelled(void **state);
void open_cases_graphs_and_devices(void **state);
void open_cases_no_memory(void **state);

#define OPEN_CASES                                                                                                     \
  cmocka_unit_test(open_cases_order), cmocka_unit_test(open_cases_others_go_on),                                       \
      cmocka_unit_test(open_cases_full_window), cmocka_unit_test(open_cases_failures),                                 \
      cmocka_unit_test(open_cases_thread), cmocka_unit_test(open_cases_many_threads),                                  \
      cmocka_unit_test(open_cases_cancelled), cmocka_unit_test(open_cases_graphs_and_devices),                         \
      cmocka_unit_test(open_cases_no_memory)

// Parts, for tests of a kind's own. `values` come behind the arguments that are buffers.
void open_good(weir_status status);
void open_refused(weir_status status, weir_status wanted, const char *text);
weir_open_task *open_begin(const weir_arg *args, uint32_t count, const weir_enqueue **out_call);
void open_end(weir_open_task *open);
weir_buffer *open_buffer(uint32_t value); // of OPEN_BYTES, filled with the value
void open_expect(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted);

enum { OPEN_BYTES = 4096 };

#endif // WEIR_TESTS_OPEN_CASES_H
