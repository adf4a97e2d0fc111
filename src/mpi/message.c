// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_message.h"
#include "drive.h"
#include "job.h"
#include "staging.h"
#include "weir/external.h"
#include "weir/trace.h"

enum { ALIGNMENT = WEIR__MPI_POOL_ALIGNMENT };

_Static_assert(sizeof(weir__mpi_header) == ALIGNMENT, "contents are aligned behind the header");

weir__mpi_message *weir__mpi_message_create(weir_mpi *mpi, weir__mpi_message_kind kind, uint64_t bytes, uint64_t room) {
  size_t own = weir__mpi_pool_aligned(sizeof(weir__mpi_message));
  if (room < WEIR__MPI_CAUSE) room = WEIR__MPI_CAUSE;
  if (room > SIZE_MAX - own - 2 * ALIGNMENT) return NULL;
  size_t all = own + ALIGNMENT + weir__mpi_pool_aligned((size_t)room);
  weir__mpi_message *message = weir__mpi_pool_take(&mpi->pool, all, &all);
  if (message == NULL) return NULL;
  *message = (weir__mpi_message){.mpi = mpi, .kind = kind, .bytes = bytes, .pieces = 1, .allocated = all};
  message->wire = (weir__mpi_header *)((unsigned char *)message + own);
  *message->wire = (weir__mpi_header){0};
  message->contents = (unsigned char *)(message->wire + 1);
  atomic_init(&message->references, 1);
  return message;
}

void weir__mpi_message_release(weir__mpi_message *message) {
  if (atomic_fetch_sub_explicit(&message->references, 1, memory_order_acq_rel) != 1) return;
  weir_mpi *mpi = message->mpi;
  bool counted = message->is_counted; // others may wait for its memory
  weir_event_release(message->event);
  weir_event_release(message->held);
  free(message->spare);
  if (message->is_staged) weir__mpi_unstage(message);
  weir__mpi_pool_give(&mpi->pool, message, message->allocated);
  if (counted) weir__mpi_stage_waiting(mpi);
}

void weir__mpi_message_post(weir__mpi_message *message) {
  weir_mpi *mpi = message->mpi;
  message->next = NULL;
  *mpi->inbox_end = message;
  mpi->inbox_end = &message->next;
  atomic_store_explicit(&mpi->has_inbox, true, memory_order_seq_cst);
}

uint64_t weir__mpi_message_pieces(const weir__mpi_message *message) {
  uint64_t most = message->mpi->options.piece_bytes;
  if (message->is_apart) return 1 + (message->bytes + most - 1) / most;
  return (sizeof(weir__mpi_header) + message->bytes + most - 1) / most;
}

static weir__mpi_message *create_for(weir_mpi *mpi, weir__mpi_message_kind kind, const weir__mpi_call *call,
                                     uint32_t peer, const weir__mpi_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     weir_device *device) {
  bool is_apart = bytes >= mpi->options.direct_bytes || bytes >= WEIR__MPI_STAGING_BYTES;
  weir__mpi_message *message = weir__mpi_message_create(mpi, kind, bytes, is_apart ? 0 : bytes);
  if (message == NULL) {
    weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for a message of call %llu", mpi->rank,
                   (unsigned long long)call->number);
    return NULL;
  }
  _Atomic uint64_t *tags = kind == WEIR__MPI_SEND ? mpi->sent_to : mpi->received_from;
  message->peer = peer;
  message->order = atomic_fetch_add_explicit(&tags[peer], 1, memory_order_relaxed);
  message->tag = (uint32_t)(message->order % mpi->transport->tags);
  message->number = call->number;
  message->hash = call->hash;
  message->buffer = buffer->number;
  message->offset = offset;
  message->device = device;
  if (is_apart) message->contents = NULL;
  message->is_apart = is_apart;
  message->is_staged = is_apart && device == NULL;
  message->pieces = weir__mpi_message_pieces(message);
  memcpy(message->label, call->label, sizeof message->label);
  const char *name = weir__mpi_kind_name(call->kind); // of fewer bytes
  if (call->label[0] == '\0') memcpy(message->label, name, strlen(name) + 1);
  return message;
}

// Says in place of the contents why they do not come.
static void write_cause(weir__mpi_message *message, weir_status status, const char *cause) {
  static const char before[] = "the first task that failed is ";
  char *text = (char *)(message->wire + 1);
  const char *first = strstr(cause, before); // there is little room, and the send itself is of no interest
  snprintf(text, WEIR__MPI_CAUSE, "%s", first == NULL ? cause : first + sizeof before - 1);
  message->wire->status = (uint32_t)status;
  message->wire->text_bytes = (uint32_t)strlen(text) + 1;
}

void weir__mpi_post_send(weir__mpi_message *message, weir_status status, const char *cause) {
  weir_mpi *mpi = message->mpi;
  if (status != WEIR_OK) write_cause(message, status, cause);
  message->wire->number = message->number;
  message->wire->hash = message->hash;
  message->wire->bytes = message->bytes;
  pthread_mutex_lock(&mpi->shared);
  if (status == WEIR_OK) {
    mpi->statistics.messages_sent++;
    mpi->statistics.bytes_sent += message->bytes;
    mpi->statistics.direct_sent += message->device != NULL;
  } else {
    mpi->statistics.poisoned++;
  }
  weir__mpi_message_post(message);
  pthread_mutex_unlock(&mpi->shared);
  weir__mpi_drive_posted(mpi);
}

// A copy that its end was reported of, or that was refused, is done with the job by this.
static void end_copy(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->shared);
  if (--mpi->copies == 0) pthread_cond_broadcast(&mpi->changed);
  pthread_mutex_unlock(&mpi->shared);
}

// The task behind a send in a context whose contents are all in the host's memory.
static void give(const weir_work *work) {
  weir__mpi_message *message = work->user;
  if (message->is_staged && !weir__mpi_stage(message)) {
    weir_work_fail(work, "there is no memory for a message");
    return;
  }
  memcpy(message->contents, work->args[0], (size_t)message->bytes);
  message->is_given = true;
  weir__mpi_post_send(message, WEIR_OK, "");
}

// The copy has ended, by whatever means.
void weir__mpi_copied(void *user, weir_status status) {
  weir__mpi_message *message = user;
  weir_mpi *mpi = message->mpi;
  if (!message->is_given)
    weir__mpi_post_send(message, status, status == WEIR_OK ? "" : weir_event_message(message->event));
  weir__mpi_message_release(message);
  end_copy(mpi);
}

// A task of ours goes before those that are ready, since another rank waits for it. weir_copy_out finds the best way from
// the memory of a device, and has ended in the timeline before its message leaves.
static weir_status submit_send(weir__mpi_message *message, weir_buffer *local) {
  if (!message->mpi->only_host || message->mpi->traces) {
    if (message->is_staged && !weir__mpi_stage(message))
      return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "there is no memory for a message");
    return weir_copy_out(local, message->offset, message->bytes, message->contents, &message->event);
  }
  const weir_arg arg = weir_reads_range(local, message->offset, message->bytes);
  const weir_task task = {
      .host = give, .user = message, .args = &arg, .arg_count = 1, .priority = WEIR_PRIORITY_HIGHEST, .label = "send"};
  return weir_submit(message->mpi->context, &task, &message->event);
}

// Whether there is room for what is to be sent. Ranks that wait here cannot wait for each other in a circle: the
// one that has submitted least gets rid of all, since the others have submitted the receives.
static bool has_room(const weir_mpi *mpi, uint64_t bytes) {
  return mpi->failure != WEIR_OK || mpi->outgoing_count == 0 ||
         (mpi->outgoing_bytes + bytes <= mpi->options.send_limit && mpi->outgoing_count < mpi->transport->tags / 2);
}

static void wait_for_room(weir_mpi *mpi, uint64_t bytes) {
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_drive_until(mpi, has_room, bytes);
  mpi->outgoing_bytes += bytes;
  mpi->outgoing_count++;
  mpi->copies++;
  pthread_mutex_unlock(&mpi->shared);
}

void weir__mpi_send(weir_mpi *mpi, const weir__mpi_call *call, uint32_t to, weir_buffer *local, uint64_t offset,
                    uint64_t bytes) {
  const weir__mpi_buffer *buffer = weir__mpi_buffers_find(&mpi->buffers, local);
  wait_for_room(mpi, bytes);
  weir_device *device = weir__mpi_source(mpi, local, offset, bytes);
  weir__mpi_message *message = create_for(mpi, WEIR__MPI_SEND, call, to, buffer, offset, bytes, device);
  if (message == NULL) {
    pthread_mutex_lock(&mpi->shared);
    mpi->outgoing_bytes -= bytes;
    mpi->outgoing_count--;
    mpi->copies--;
    pthread_mutex_unlock(&mpi->shared);
    return;
  }
  atomic_store_explicit(&message->references, 2, memory_order_relaxed); // who drives, and the copy
  weir_status status = device != NULL ? weir__mpi_send_from_device(message, local) : submit_send(message, local);
  weir_status ended = status;
  if (status == WEIR_OK) {
    if (mpi->traces) weir_trace_note_send(message->event, message->number, to, message->order);
    status = weir_event_on_done(message->event, weir__mpi_copied, message);
    if (status == WEIR_OK) return;
    ended = weir_event_wait(message->event, WEIR_FOREVER); // the copy writes to the message
  }
  if (!message->is_given) weir__mpi_post_send(message, ended, weir_last_error());
  weir__mpi_message_release(message);
  end_copy(mpi);
}

// The task behind a receive.
static void take(const weir_work *work) {
  weir__mpi_message *message = work->user;
  if (message->status == WEIR_OK)
    memcpy(work->args[0], message->contents, (size_t)message->bytes);
  else
    weir_work_fail(work, message->cause);
}

static void release(void *user) {
  weir__mpi_message_release(user);
}

// "from rank 7: " and the label of the call, cut where that of a task is. Without printf, which takes as long as all the rest.
void weir__mpi_message_label(const weir__mpi_message *message, char *out_label) {
  static const char before[] = "from rank ";
  char digits[12];
  size_t first = sizeof digits;
  uint32_t rank = message->peer;
  digits[--first] = ' ';
  digits[--first] = ':';
  do digits[--first] = (char)('0' + rank % 10);
  while ((rank /= 10) > 0);
  size_t at = sizeof before - 1;
  memcpy(out_label, before, at);
  memcpy(out_label + at, digits + first, sizeof digits - first);
  at += sizeof digits - first;
  size_t length = strnlen(message->label, WEIR__MPI_LABEL - 1 - at);
  memcpy(out_label + at, message->label, length);
  out_label[at + length] = '\0';
}

static weir_status submit_receive(weir__mpi_message *message, weir_buffer *local, weir_event *event,
                                  weir_device *device) {
  bool copies = weir__mpi_copies_to(message, device);
  char label[WEIR__MPI_LABEL];
  weir__mpi_message_label(message, label);
  const weir_arg arg = weir_writes_range(local, message->offset, message->bytes);
  const weir_task task = {.host = copies ? NULL : take,
                          .kernel = copies ? message->mpi->direct.copy : NULL,
                          .device = copies ? device : NULL,
                          .user = message,
                          .args = &arg,
                          .arg_count = 1,
                          .after = &event,
                          .after_count = 1,
                          .priority = WEIR_PRIORITY_HIGHEST,
                          .label = label,
                          .destroy = release};
  weir_event *submitted = NULL;
  weir_status status = weir_submit(message->mpi->context, &task, message->mpi->traces ? &submitted : NULL);
  if (submitted != NULL) weir_trace_note_receive(submitted, message->number, message->peer, message->order);
  weir_event_release(submitted);
  return status;
}

void weir__mpi_post_receive(weir__mpi_message *message) {
  weir_mpi *mpi = message->mpi;
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_message_post(message);
  pthread_mutex_unlock(&mpi->shared);
  weir__mpi_drive_posted(mpi);
}

static void bring(weir__mpi_message *message) {
  if (message->is_staged)
    weir__mpi_stage_receive(message);
  else
    weir__mpi_post_receive(message);
}

void weir__mpi_receive(weir_mpi *mpi, const weir__mpi_call *call, uint32_t from, weir_buffer *local, uint64_t offset,
                       uint64_t bytes, weir_device *device) {
  const weir__mpi_buffer *buffer = weir__mpi_buffers_find(&mpi->buffers, local);
  weir_device *direct = weir__mpi_destination(mpi, device, bytes);
  weir__mpi_message *message = create_for(mpi, WEIR__MPI_RECEIVE, call, from, buffer, offset, bytes, direct);
  if (message == NULL) return;
  weir_status status = weir_host_event_create(mpi->context, call->label, &message->event);
  if (status == WEIR_OK) {
    weir_event *event = message->event;
    atomic_store_explicit(&message->references, 3, memory_order_relaxed);
    if (direct == NULL) bring(message); // before the task, whose submission may wait
    status =
        direct != NULL ? weir__mpi_receive_on_device(message, local) : submit_receive(message, local, event, device);
    weir__mpi_message_release(message);
    if (status == WEIR_OK) return;
  }
  weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u cannot receive for call %llu: %s", mpi->rank,
                 (unsigned long long)call->number, weir_last_error());
  weir__mpi_message_release(message);
}
