// SPDX-License-Identifier: Apache-2.0
//
// What a caller asks of a communicator, and whether it can be.
#ifndef WEIR_NCCL_REQUEST_H
#define WEIR_NCCL_REQUEST_H

#include "nccl/nccl.h"

typedef struct weir__nccl_request {
  weir__nccl_kind kind;
  weir_buffer *const *buffers;
  uint64_t offset, bytes;
  weir_reduce_operation operation;
  weir_reduce_type type;
  uint32_t root;
} weir__nccl_request;

// Checks a request, makes the range's length known, and makes its collective, which nothing knows yet.
weir_status weir__nccl_check(weir_nccl *nccl, weir__nccl_request *asked, weir__collective **out_collective);

// Submits the collective's ready tasks and its parts. What cannot be submitted makes it fail. The order's lock and the
// context's are held. Errors: the first one of a submission.
weir_status weir__nccl_submit_tasks(weir__collective *collective, const weir__nccl_request *asked,
                                    weir_event **out_events);

// A part failed: nothing follows it any more. The context's lock is held.
void weir__nccl_forget_part(const weir__nccl_part *part);

// Called as these tasks end, with the context's lock held; `user` is the part.
void weir__nccl_ready_done(void *user, weir_status status);
void weir__nccl_part_done(void *user, weir_status status);

#endif // WEIR_NCCL_REQUEST_H
