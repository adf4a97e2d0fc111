// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. Two tasks of the device stand around a message. The *address* task learns in its enqueue function where the range is;
// when it is done, so is the device's work before it, and the message is handed to MPI. The *hold* task waits for an event of the
// host that ends with the message. Until then it keeps the storage, and for a receive it is what readers wait for.
// - Send: both read the range.
// - Receive: the address task overwrites the range, which may rename the buffer. The hold task updates it.
// The address task is submitted first, since in a context with WEIR_CONTEXT_IN_ORDER nothing passes the hold task. It
// waits for that one's submission, so that the storage cannot move in between.
// No thread waits for a message: the hold task is in no queue before its event ends.
// The event is of weir_host_event_hold, so that a cancelled task does not give the storage away. If a message cannot be ended after
// a failure, the storage is left to MPI (weir_host_event_abandon).
#include "device_message.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "weir/external.h"
#include "weir/trace.h"

bool weir__mpi_is_card(const weir_device *device) {
  return device != NULL && strcmp(weir_device_information(device)->kind, "cuda") == 0;
}

bool weir__mpi_has_device(const weir_mpi *mpi, const weir_device *device) {
  for (uint32_t i = 0; i < weir_context_device_count(mpi->context); i++) {
    if (weir_context_device(mpi->context, i) == device) return true;
  }
  return false;
}

weir_device *weir__mpi_device_of(const weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes) {
  weir_device *device = NULL;
  if (mpi->direct.card == NULL || weir_buffer_device(local, offset, bytes, &device) != WEIR_OK) return NULL;
  return weir__mpi_is_card(device) ? device : NULL;
}

static bool goes_directly(const weir_mpi *mpi, uint64_t bytes) {
  return mpi->direct.is_on && bytes >= mpi->options.direct_bytes;
}

weir_device *weir__mpi_source(const weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes) {
  return goes_directly(mpi, bytes) ? weir__mpi_device_of(mpi, local, offset, bytes) : NULL;
}

weir_device *weir__mpi_destination(const weir_mpi *mpi, weir_device *device, uint64_t bytes) {
  return goes_directly(mpi, bytes) && weir__mpi_is_card(device) ? device : NULL;
}

bool weir__mpi_copies_to(const weir__mpi_message *message, const weir_device *device) {
  if (message->mpi->direct.copy == NULL || !weir__mpi_is_card(device)) return false;
  if (message->is_staged)
    return message->bytes >= WEIR__MPI_POOL_CARD; // it may have no memory yet, and gets pinned memory
  return weir__mpi_pool_is_pinned(&message->mpi->pool, message, message->allocated);
}

weir_status weir__mpi_copy_to_device(const weir_enqueue *call) {
  const weir__mpi_message *message = call->user;
  uint64_t from = (uint64_t)(uintptr_t)message->contents;
  if (message->status != WEIR_OK) weir_enqueue_fail(call, message->cause);
  if (message->status != WEIR_OK) return WEIR_OK;
  int result = message->mpi->direct.copy_async(call->args[0].pointer, from, (size_t)message->bytes, call->queue);
  return result == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

weir_status weir__mpi_note_address(const weir_enqueue *call) {
  weir__mpi_message *message = call->user;
  message->contents = (unsigned char *)(uintptr_t)call->args[0].pointer;
  message->native_context = call->native_context;
  return WEIR_OK;
}

// The range must be where MPI had it: the hold task has kept it there.
weir_status weir__mpi_end_hold(const weir_enqueue *call) {
  weir__mpi_message *message = call->user;
  bool moved = message->device != NULL && message->contents != NULL &&
               message->contents != (unsigned char *)(uintptr_t)call->args[0].pointer;
  if (moved)
    weir__mpi_fail(message->mpi, WEIR_ERROR_TASK_FAILED, true,
                   "rank %u: call %llu '%s': the memory of a message has moved", message->mpi->rank,
                   (unsigned long long)message->number, message->label);
  bool failed = message->kind == WEIR__MPI_RECEIVE && message->status != WEIR_OK;
  if (failed) weir_enqueue_fail(call, message->cause);
  return WEIR_OK;
}

static void release(void *user) {
  weir__mpi_message_release(user);
}

static weir_status submit(weir__mpi_message *message, weir_kernel *kernel, weir_arg arg, weir_event *after,
                          void (*destroy)(void *), weir_event **out_event) {
  char label[WEIR__MPI_LABEL] = "send";
  if (message->kind == WEIR__MPI_RECEIVE) weir__mpi_message_label(message, label);
  const weir_task task = {.kernel = kernel,
                          .device = message->device,
                          .user = message,
                          .args = &arg,
                          .arg_count = 1,
                          .after = &after,
                          .after_count = after != NULL,
                          .priority = WEIR_PRIORITY_HIGHEST,
                          .label = label,
                          .destroy = destroy};
  return weir_submit(message->mpi->context, &task, out_event);
}

static weir_status make_held(weir__mpi_message *message, weir_event **out_event) {
  weir_status status = weir_host_event_create(message->mpi->context, message->label, out_event);
  return status == WEIR_OK ? weir_host_event_hold(*out_event) : status;
}

// On failure no task of it is left.
static weir_status submit_around(weir__mpi_message *message, weir_arg arg, weir_event *submitted) {
  weir_mpi *mpi = message->mpi;
  weir_status status = submit(message, mpi->direct.address, arg, submitted, NULL, &message->event);
  if (status != WEIR_OK) return status;
  atomic_fetch_add_explicit(&message->references, 1, memory_order_relaxed);
  status = submit(message, mpi->direct.hold, arg, message->held, release, NULL);
  weir_host_event_signal(submitted, WEIR_OK);
  if (status == WEIR_OK) return WEIR_OK;
  weir_event_wait(message->event, WEIR_FOREVER); // it uses the message
  weir__mpi_message_release(message);
  return status;
}

weir_status weir__mpi_send_from_device(weir__mpi_message *message, weir_buffer *local) {
  const weir_arg arg = weir_reads_range(local, message->offset, message->bytes);
  weir_event *submitted = NULL;
  weir_status status = make_held(message, &message->held);
  if (status == WEIR_OK) status = weir_host_event_create(message->mpi->context, message->label, &submitted);
  if (status == WEIR_OK) status = submit_around(message, arg, submitted);
  weir_event_release(submitted);
  return status;
}

// The address of a receive is known, or there is none, as the task was cancelled: then the contents go to memory of their own, and
// nobody takes them.
static void addressed(void *user, weir_status status) {
  weir__mpi_message *message = user;
  if (status != WEIR_OK) {
    message->device = NULL;
    message->contents = message->spare = malloc((size_t)message->bytes);
    if (message->spare == NULL) {
      message->error = "no memory";
      weir__mpi_fail(message->mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for a message of call %llu",
                     message->mpi->rank, (unsigned long long)message->number);
    }
  }
  weir__mpi_post_receive(message);
  weir__mpi_message_release(message);
}

static weir_status submit_hold(weir__mpi_message *message, weir_buffer *local) {
  weir_mpi *mpi = message->mpi;
  const weir_arg arg = weir_updates_range(local, message->offset, message->bytes);
  weir_event *submitted = NULL;
  weir_status status = submit(message, mpi->direct.hold, arg, message->event, release, mpi->traces ? &submitted : NULL);
  if (submitted != NULL) weir_trace_note_receive(submitted, message->number, message->peer, message->order);
  weir_event_release(submitted);
  return status;
}

// The hold task and who is told of the address have a reference each. On failure nobody drives the message, nor is it a task's.
weir_status weir__mpi_receive_on_device(weir__mpi_message *message, weir_buffer *local) {
  weir_mpi *mpi = message->mpi;
  const weir_arg arg = weir_writes_range(local, message->offset, message->bytes);
  weir_event *address = NULL;
  weir_status status = weir_host_event_hold(message->event);
  if (status == WEIR_OK) status = weir_host_event_create(mpi->context, message->label, &message->held);
  if (status == WEIR_OK) status = submit(message, mpi->direct.address, arg, message->held, NULL, &address);
  if (status != WEIR_OK) {
    weir__mpi_message_release(message);
    return status;
  }
  atomic_fetch_add_explicit(&message->references, 1, memory_order_relaxed);
  status = submit_hold(message, local);
  bool told = status == WEIR_OK && weir_event_on_done(address, addressed, message) == WEIR_OK;
  weir_host_event_signal(message->held, WEIR_OK);
  if (!told) {
    weir_status ended = weir_event_wait(address, WEIR_FOREVER); // it uses the message
    if (status == WEIR_OK) addressed(message, ended);
  }
  if (status != WEIR_OK) {
    weir__mpi_message_release(message);
    weir__mpi_message_release(message);
  }
  weir_event_release(address);
  return status;
}
