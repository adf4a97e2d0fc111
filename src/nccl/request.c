// SPDX-License-Identifier: Apache-2.0
#include "nccl/request.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"

typedef unsigned long long ull;

const char *weir__nccl_name(weir__nccl_kind kind) {
  static const char *const NAMES[] = {"all-reduce", "reduce", "broadcast"};
  return NAMES[kind];
}

// NCCL's numbers for what is asked. A broadcast is one of bytes.
static weir_status find_element(const weir__nccl_request *asked, int *out_type, int *out_operation,
                                uint64_t *out_bytes) {
  static const int TYPES[] = {[WEIR_REDUCE_F32] = WEIR__NCCL_FLOAT32, [WEIR_REDUCE_F64] = WEIR__NCCL_FLOAT64,
                              [WEIR_REDUCE_I32] = WEIR__NCCL_INT32,   [WEIR_REDUCE_U32] = WEIR__NCCL_UINT32,
                              [WEIR_REDUCE_I64] = WEIR__NCCL_INT64,   [WEIR_REDUCE_U64] = WEIR__NCCL_UINT64};
  static const int OPERATIONS[] = {[WEIR_REDUCE_SUM] = WEIR__NCCL_SUM,
                                   [WEIR_REDUCE_PRODUCT] = WEIR__NCCL_PRODUCT,
                                   [WEIR_REDUCE_MIN] = WEIR__NCCL_MIN,
                                   [WEIR_REDUCE_MAX] = WEIR__NCCL_MAX};
  *out_type = WEIR__NCCL_INT8;
  *out_operation = WEIR__NCCL_SUM;
  *out_bytes = 1;
  if (asked->kind == WEIR__NCCL_BROADCAST) return WEIR_OK;
  *out_bytes = weir_nccl_element_bytes(asked->operation, asked->type);
  if (*out_bytes == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: operation %d on elements of type %d is none of NCCL's",
                       weir__nccl_name(asked->kind), (int)asked->operation, (int)asked->type);
  *out_type = TYPES[asked->type];
  *out_operation = OPERATIONS[asked->operation];
  return WEIR_OK;
}

static weir_status check_buffer(const weir_nccl *nccl, const weir__nccl_request *asked, uint32_t index,
                                const char *what) {
  const weir_buffer *buffer = asked->buffers[index], *first = asked->buffers[0];
  char name[96];
  snprintf(name, sizeof name, "%s, buffer %u", what, index);
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, nccl->context, name);
  if (status != WEIR_OK) return status;
  if (buffer->image) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s is an image", name);
  for (uint32_t i = 0; i < index; i++) {
    if (asked->buffers[i] == buffer)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s (%llu '%s') is also buffer %u: each device needs its own",
                         name, (ull)buffer->id, buffer->label, i);
  }
  if (asked->bytes == WEIR_WHOLE && buffer->bytes != first->bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s (%llu '%s') has %llu bytes, and buffer 0 has %llu", name,
                       (ull)buffer->id, buffer->label, (ull)buffer->bytes, (ull)first->bytes);
  if (asked->offset >= buffer->bytes)
    return weir__error(WEIR_ERROR_OUT_OF_RANGE, "%s (%llu '%s') has no byte %llu: it has %llu bytes", name,
                       (ull)buffer->id, buffer->label, (ull)asked->offset, (ull)buffer->bytes);
  if (asked->bytes == WEIR_WHOLE || asked->bytes <= buffer->bytes - asked->offset) return WEIR_OK;
  return weir__error(WEIR_ERROR_OUT_OF_RANGE, "%s (%llu '%s'): %llu bytes from byte %llu on leave its %llu bytes", name,
                     (ull)buffer->id, buffer->label, (ull)asked->bytes, (ull)asked->offset, (ull)buffer->bytes);
}

static weir_status check_buffers(const weir_nccl *nccl, weir__nccl_request *asked, uint64_t element_bytes) {
  const char *what = weir__nccl_name(asked->kind);
  weir_status status = WEIR_OK;
  if (asked->buffers == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the buffers are NULL", what);
  if (asked->bytes == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: no bytes", what);
  for (uint32_t i = 0; i < nccl->count && status == WEIR_OK; i++) status = check_buffer(nccl, asked, i, what);
  if (status != WEIR_OK) return status;
  if (asked->bytes == WEIR_WHOLE) asked->bytes = asked->buffers[0]->bytes - asked->offset;
  if (asked->bytes % element_bytes == 0 && asked->offset % element_bytes == 0) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %llu bytes from byte %llu on are no elements of %llu bytes",
                     what, (ull)asked->bytes, (ull)asked->offset, (ull)element_bytes);
}

weir_status weir__nccl_check(weir_nccl *nccl, weir__nccl_request *asked, weir__collective **out_collective) {
  const char *what = weir__nccl_name(asked->kind);
  uint64_t element_bytes = 1;
  int type, operation;
  if (nccl == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the communicator is NULL", what);
  if (weir__this_thread.in_task) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s", what, weir__thread_place());
  weir_status status = find_element(asked, &type, &operation, &element_bytes);
  if (status == WEIR_OK && asked->root >= nccl->total)
    status =
        weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: there is no device %u among %u", what, asked->root, nccl->count);
  if (status == WEIR_OK) status = check_buffers(nccl, asked, element_bytes);
  if (status != WEIR_OK) return status;
  weir__collective *made = weir__allocate_zeroed(sizeof *made + nccl->count * sizeof made->parts[0]);
  if (made == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory", what);
  made->nccl = nccl;
  made->kind = asked->kind;
  made->type = type;
  made->operation = operation;
  made->root = asked->root;
  made->count = asked->bytes / element_bytes;
  for (uint32_t i = 0; i < nccl->count; i++) made->parts[i] = (weir__nccl_part){.collective = made, .member = i};
  *out_collective = made;
  return WEIR_OK;
}
