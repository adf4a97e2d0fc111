// SPDX-License-Identifier: Apache-2.0
#include "enqueue_allocations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "weir/graph.h"

enum { MANY = 20, MOST_ALLOCATIONS = 300 }; // MANY: arguments that do not fit on the stack

// A task and the launch of a graph with many arguments each, and scratch memory. The first failure, if there is one.
static weir_status run_many(weir_context *context, const char *kind, weir_enqueue_function fill_all,
                            weir_kernel **out_kernel, weir_buffer **buffers, weir_graph **out_graph) {
  const weir_enqueue_code code = {.function = fill_all, .scratch_bytes = 100};
  weir_arg args[MANY];
  weir_status status = weir_kernel_create(context, "fill all", out_kernel);
  if (status == WEIR_OK) status = weir_kernel_set_enqueue(*out_kernel, kind, &code);
  for (int i = 0; i < MANY && status == WEIR_OK; i++) {
    status = weir_buffer_create(context, 64, &buffers[i]);
    args[i] = weir_writes(buffers[i]);
  }
  const weir_task task = {.kernel = *out_kernel, .args = args, .arg_count = MANY};
  if (status == WEIR_OK) status = weir_submit(context, &task, NULL);
  if (status == WEIR_OK) status = weir_graph_create(context, NULL, out_graph);
  if (status == WEIR_OK) status = weir_graph_add(*out_graph, &task, NULL);
  if (status == WEIR_OK) status = weir_graph_launch(*out_graph, NULL);
  weir_status finished = weir_finish(context);
  return status == WEIR_OK ? finished : status;
}

void enqueue_allocations_fail(weir_context *context, const char *kind, weir_enqueue_function fill_all,
                              void (*expect)(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted)) {
  bool failed = true;
  for (uint64_t n = 1; failed && n < MOST_ALLOCATIONS; n++) {
    weir_kernel *kernel_of_many = NULL;
    weir_buffer *buffers[MANY] = {NULL};
    weir_graph *graph = NULL;
    weir__allocate_fail_at(n);
    const uint64_t before = weir__allocate_count();
    weir_status status = run_many(context, kind, fill_all, &kernel_of_many, buffers, &graph);
    failed = weir__allocate_count() - before >= n;
    weir__allocate_fail_at(0);
    if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_TASK_FAILED)
      fail_msg("allocation %llu fails: %s", (unsigned long long)n, weir_last_error());
    for (int i = 0; i < MANY && status == WEIR_OK; i++) expect(buffers[i], 0, 64, ENQUEUE_ALLOCATIONS_PATTERN);
    weir_graph_release(graph);
    for (int i = 0; i < MANY; i++) weir_buffer_release(buffers[i]);
    weir_kernel_release(kernel_of_many);
    weir_finish(context);
  }
  assert_false(failed);
}
