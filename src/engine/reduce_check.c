// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "base/error.h"
#include "engine/reduce.h"
#include "engine/reduce_element.h"

weir_status weir__reduce_check(const weir_context *context, uint32_t index, const weir_arg *arg, uint64_t bytes) {
  const weir_reduction *reduction = arg->value;
  if (reduction == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: the reduction is NULL", index);
  if ((reduction->reserved[0] | reduction->reserved[1]) != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: the reduction's reserved members must be 0", index);
  uint32_t element = weir__reduce_element_bytes(reduction);
  if (element == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       ", argument %u: there is no reduction by operation %d, type %d and an identity of %u bytes%s",
                       index, (int)reduction->operation, (int)reduction->type, reduction->identity_bytes,
                       reduction->identity == NULL ? " at NULL" : "");
  if (reduction->combine != NULL) {
    char place[48];
    snprintf(place, sizeof place, ", argument %u, combine", index);
    weir_status status = weir__object_check(reduction->combine, WEIR__KIND_KERNEL, context, place);
    if (status != WEIR_OK) return status;
  } else if (reduction->operation == WEIR_REDUCE_KERNEL) {
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       ", argument %u: the reduction has neither an operation nor a kernel that combines", index);
  }
  if (arg->offset % element == 0 && bytes % element == 0) return WEIR_OK;
  return weir__error(
      WEIR_ERROR_INVALID_ARGUMENT,
      ", argument %u: bytes [%llu, %llu) of buffer %llu '%s' are no multiple of the reduction's elements of %u bytes",
      index, (unsigned long long)arg->offset, (unsigned long long)(arg->offset + bytes),
      (unsigned long long)arg->buffer->id, arg->buffer->label, element);
}
