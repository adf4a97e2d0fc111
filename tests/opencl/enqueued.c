// SPDX-License-Identifier: Apache-2.0
#include "enqueued.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static weir_status answer(const weir_enqueue *call, cl_int result) {
  if (result == CL_SUCCESS) return WEIR_OK;
  char text[32];
  snprintf(text, sizeof text, "OpenCL error %d", result);
  weir_enqueue_fail(call, text);
  return WEIR_ERROR_TASK_FAILED;
}

weir_status enqueued_fill(const weir_enqueue *call, const weir_enqueue_arg *to, uint32_t pattern) {
  cl_command_queue queue = call->queue;
  if (to->handle == 0)
    return answer(call, clEnqueueSVMMemFill(queue, (void *)(uintptr_t)to->pointer, &pattern, sizeof pattern, to->bytes,
                                            0, NULL, NULL));
  return answer(call, clEnqueueFillBuffer(queue, (cl_mem)(uintptr_t)to->handle, &pattern, sizeof pattern, to->offset,
                                          to->bytes, 0, NULL, NULL));
}

weir_status enqueued_copy(const weir_enqueue *call, const weir_enqueue_arg *to, const weir_enqueue_arg *from) {
  cl_command_queue queue = call->queue;
  if (to->handle == 0)
    return answer(call, clEnqueueSVMMemcpy(queue, CL_FALSE, (void *)(uintptr_t)to->pointer,
                                           (const void *)(uintptr_t)from->pointer, to->bytes, 0, NULL, NULL));
  return answer(call, clEnqueueCopyBuffer(queue, (cl_mem)(uintptr_t)from->handle, (cl_mem)(uintptr_t)to->handle,
                                          from->offset, to->offset, to->bytes, 0, NULL, NULL));
}

weir_status enqueued_fill_task(const weir_enqueue *call) {
  uint32_t pattern;
  memcpy(&pattern, call->args[1].value, sizeof pattern);
  return enqueued_fill(call, &call->args[0], pattern);
}

weir_status enqueued_copy_task(const weir_enqueue *call) {
  return enqueued_copy(call, &call->args[0], &call->args[1]);
}

weir_kernel *enqueued_kernel(const char *label, const weir_enqueue_code *code) {
  weir_kernel *made;
  assert_int_equal(weir_kernel_create(context, label, &made), WEIR_OK);
  if (weir_kernel_set_enqueue(made, "opencl", code) != WEIR_OK) fail_msg("%s", weir_last_error());
  return made;
}

static void submit(const weir_task *task, weir_event **out_event) {
  if (weir_submit(context, task, out_event) != WEIR_OK) fail_msg("%s", weir_last_error());
}

void enqueued_submit_fill(weir_kernel *fill, weir_buffer *to, uint64_t offset, uint64_t bytes, uint32_t pattern,
                          weir_event **out_event) {
  const weir_arg args[] = {weir_writes_range(to, offset, bytes), weir_value(&pattern, sizeof pattern)};
  submit(&(weir_task){.kernel = fill, .args = args, .arg_count = 2, .label = "fill"}, out_event);
}

void enqueued_submit_copy(weir_kernel *copy, weir_buffer *to, weir_buffer *from, uint64_t offset, uint64_t bytes,
                          weir_event **out_event) {
  const weir_arg args[] = {weir_writes_range(to, offset, bytes), weir_reads_range(from, offset, bytes)};
  submit(&(weir_task){.kernel = copy, .args = args, .arg_count = 2, .label = "copy"}, out_event);
}

void enqueued_open(const char *devices, const char *memory, const weir_context_options *options) {
  weir_context_options chosen = options != NULL ? *options : (weir_context_options){0};
  chosen.devices = devices;
  if (memory != NULL) setenv("WEIR_OPENCL_MEMORY", memory, 1);
  weir_status status = weir_context_create(&chosen, &context);
  unsetenv("WEIR_OPENCL_MEMORY");
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
  device = weir_context_device(context, 0);
}

void enqueued_close(void) {
  assert_int_equal(weir_context_release(context), WEIR_OK);
  context = NULL;
}

void enqueued_expect(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted) {
  uint32_t *words = malloc(bytes);
  assert_non_null(words);
  if (weir_read(buffer, offset, bytes, words) != WEIR_OK) fail_msg("%s", weir_last_error());
  for (uint64_t i = 0; i < bytes / 4; i++) {
    if (words[i] != wanted) fail_msg("byte %llu: %u, not %u", (unsigned long long)(offset + 4 * i), words[i], wanted);
  }
  free(words);
}
