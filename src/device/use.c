// SPDX-License-Identifier: Apache-2.0
#include "device/use.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "device/host.h"

// What to do, by the mode that was declared.
static const char *advice(uint8_t use, weir_mode mode) {
  if (mode == WEIR_READ)
    return (use & WEIR__USE_READS) != 0
               ? "declare weir_updates, or weir_writes if it overwrites every byte without needing what was there"
               : "declare weir_writes if it overwrites every byte, else weir_updates";
  return (use & WEIR__USE_READS) != 0 ? "declare weir_reads" : "the code does not use it: declare weir_reads";
}

weir_status weir__use_refuse(const weir_device *device, const weir_task *task, uint32_t index, uint8_t use) {
  char what[WEIR__WHAT_BYTES];
  const weir_arg *arg = &task->args[index];
  const weir_buffer *buffer = arg->buffer;
  // What is wrong with the argument by itself is found later, by the check of all tasks' arguments.
  if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) ||
      weir__host_of(buffer->object.context) != device->host || arg->offset >= buffer->bytes)
    return WEIR_OK;
  bool to_end = arg->bytes == WEIR_WHOLE || arg->shape != WEIR_RANGE; // a box is somewhere in there
  uint64_t end = to_end ? buffer->bytes : arg->offset + arg->bytes;
  weir__describe_task(task, what);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s, argument %u, bytes [%" PRIu64 ", %" PRIu64 ") of buffer %" PRIu64 " '%s': declared as %s, "
                     "but the code of kernel '%s' for %s %s it; %s",
                     what, index, arg->offset, end, buffer->id, buffer->label,
                     arg->mode == WEIR_READ ? "only read" : "overwritten", task->kernel->name, device->name,
                     arg->mode == WEIR_READ ? "writes" : "never writes", advice(use, arg->mode));
}

weir_status weir__value_refuse(const weir_task *task, uint32_t index, uint64_t bytes, const char *what) {
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(task, name);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s, argument %u: a value of %" PRIu64 " bytes; %s takes %" PRIu64 " bytes there", name, index,
                     task->args[index].bytes, what, bytes);
}
