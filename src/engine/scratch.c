// SPDX-License-Identifier: Apache-2.0
#include "engine/scratch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/enqueue.h"
#include "engine/buffer.h"

enum { HEAP_ALIGNMENT = 64 }; // of storage in the host's memory; a device's own is aligned as scratch memory is

uint64_t weir__scratch_bytes(const weir__enqueue *enqueue, const weir_device *device) {
  uint64_t bytes = enqueue != NULL ? enqueue->code.scratch_bytes : 0;
  return bytes > 0 && device->space == WEIR__HOST_SPACE ? bytes + WEIR__ENQUEUE_ALIGNMENT - HEAP_ALIGNMENT : bytes;
}

weir_status weir__scratch_add(weir_context *context, const weir_device *device, const weir_task *task, weir_arg *args,
                              weir_task *out_task, weir_buffer **out_buffer) {
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(task, what);
  const weir__enqueue *enqueue = weir__kernel_enqueue(task->kernel, device);
  uint64_t bytes = weir__scratch_bytes(enqueue, device);
  if (task->arg_count >= WEIR_MAX_ARGS)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u arguments; with scratch memory at most %d are possible",
                       what, task->arg_count, WEIR_MAX_ARGS - 1);
  weir_buffer *buffer = weir__buffer_new(context, bytes);
  if (buffer == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its scratch memory", what);
  buffer->scratch = true;
  snprintf(buffer->label, sizeof buffer->label, "scratch");
  if (task->arg_count > 0) memcpy(args, task->args, task->arg_count * sizeof *args);
  args[task->arg_count] = (weir_arg){.mode = WEIR_WRITE, .buffer = buffer, .bytes = bytes};
  *out_task = *task;
  out_task->args = args;
  out_task->arg_count++;
  *out_buffer = buffer;
  return WEIR_OK;
}
