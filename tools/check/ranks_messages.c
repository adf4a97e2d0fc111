// SPDX-License-Identifier: Apache-2.0
//
// The two ends of each message, and the calls of each rank.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/ranks.h"

static const weir__timeline_task *seen(const weir__ranks *self, uint32_t task) {
  return self->checker->tasks[task].seen;
}

static int compare_messages(const void *a, const void *b) {
  const weir__rank_message *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

// One entry for each end.
static void collect(weir__ranks *self) {
  for (uint32_t i = 0; i < self->checker->task_count; i++) {
    const weir__timeline_call *call = &seen(self, i)->call;
    uint64_t rank = weir__rank_of(seen(self, i));
    if (call->direction == WEIR__TIMELINE_NO_MESSAGE) continue;
    bool sends = call->direction == WEIR__TIMELINE_SENDS;
    self->messages[self->message_count++] = (weir__rank_message){.from = sends ? rank : call->peer,
                                                                 .to = sends ? call->peer : rank,
                                                                 .number = call->message,
                                                                 .send = sends ? i : UINT32_MAX,
                                                                 .receive = sends ? UINT32_MAX : i};
  }
}

static void join_ends(weir__ranks *self) {
  size_t kept = 0;
  qsort(self->messages, self->message_count, sizeof *self->messages, compare_messages);
  for (size_t i = 0; i < self->message_count; i++) {
    const weir__rank_message *end = &self->messages[i];
    weir__rank_message *before = kept > 0 ? &self->messages[kept - 1] : NULL;
    bool same = before != NULL && compare_messages(before, end) == 0, sends = end->send != UINT32_MAX;
    uint32_t *slot = same ? (sends ? &before->send : &before->receive) : NULL;
    if (!same) {
      self->messages[kept++] = *end;
    } else if (*slot == UINT32_MAX) {
      *slot = sends ? end->send : end->receive;
    } else {
      char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
      weir__check_add(self->checker,
                      "MESSAGE: %s and %s both %s message %" PRIu64 " from rank %" PRIu64 " to rank %" PRIu64,
                      weir__check_describe(self->checker, *slot, text),
                      weir__check_describe(self->checker, sends ? end->send : end->receive, other),
                      sends ? "send" : "receive", end->number, end->from, end->to);
    }
  }
  self->message_count = kept;
}

static uint64_t error_of(const weir__ranks *self, const weir__rank_message *message) {
  const weir__timeline *timeline = self->checker->timeline;
  return timeline->ranks[message->from].error_ns + timeline->ranks[message->to].error_ns; // below 2^64
}

static bool has_arrow(const weir__ranks *self, const weir__rank_message *message) {
  const weir__timeline_task *receive = seen(self, message->receive);
  for (uint32_t i = 0; i < receive->wait_count; i++) {
    const weir__timeline_wait *wait = &self->checker->timeline->waits[receive->wait_first + i];
    if (strcmp(wait->hazard, "MESSAGE") == 0 && wait->task == seen(self, message->send)->id) return true;
  }
  return false;
}

// The one access of an end of a message, to a shared buffer. A receive that updates what another task prepared is one, too.
static const weir__timeline_access *bytes_of(const weir__ranks *self, uint32_t task, bool reads) {
  const weir__timeline_task *end = seen(self, task);
  const weir__timeline_access *access = &self->checker->timeline->accesses[end->access_first];
  return end->access_count == 1 && (access->mode == WEIR_READ) == reads && access->shared != 0 ? access : NULL;
}

// The task before one, of its rank, that is the last to write to an access's buffer; UINT32_MAX: there is none.
static uint32_t find_writer(const weir__ranks *self, uint32_t task, const weir__timeline_access *access) {
  uint64_t rank = weir__rank_of(seen(self, task));
  while (task-- > 0 && weir__rank_of(seen(self, task)) == rank) {
    const weir__timeline_task *before = seen(self, task);
    for (uint32_t i = 0; i < before->access_count; i++) {
      const weir__timeline_access *other = &self->checker->timeline->accesses[before->access_first + i];
      if (other->buffer == access->buffer && other->mode != WEIR_READ) return task;
    }
  }
  return UINT32_MAX;
}

// What is sent may have been copied first, from a device to a buffer on the host that is nobody's else.
static const weir__timeline_access *find_sent(const weir__ranks *self, const weir__rank_message *message) {
  const weir__timeline_access *direct = bytes_of(self, message->send, true);
  const weir__timeline_task *send = seen(self, message->send);
  if (direct != NULL || send->access_count != 1) return direct;
  const weir__timeline_access *copy = &self->checker->timeline->accesses[send->access_first];
  uint32_t writer = find_writer(self, message->send, copy);
  if (copy->mode != WEIR_READ || writer == UINT32_MAX || !seen(self, writer)->copies) return NULL;
  const weir__timeline_access *accesses = &self->checker->timeline->accesses[seen(self, writer)->access_first];
  const weir__timeline_access *from = &accesses[accesses[0].mode != WEIR_READ], *to = &accesses[from == accesses];
  bool all = from->mode == WEIR_READ && to->mode == WEIR_WRITE && to->offset == copy->offset &&
             to->bytes == copy->bytes && from->bytes == copy->bytes;
  return all && from->shared != 0 ? from : NULL;
}

static void check_bytes(weir__ranks *self, weir__rank_message *message) {
  const weir__timeline_access *sent = message->sent = find_sent(self, message);
  const weir__timeline_access *received = bytes_of(self, message->receive, false);
  uint64_t call = seen(self, message->send)->call.number, other_call = seen(self, message->receive)->call.number;
  char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
  const char *sender = weir__check_describe(self->checker, message->send, text),
             *receiver = weir__check_describe(self->checker, message->receive, other);
  if (sent == NULL || received == NULL)
    weir__check_add(self->checker, "MESSAGE: %s does not %s one range of a shared buffer",
                    sent == NULL ? sender : receiver, sent == NULL ? "read" : "write");
  else if (sent->shared != received->shared || sent->offset != received->offset || sent->bytes != received->bytes)
    weir__check_add(self->checker,
                    "MESSAGE: %s sends shared buffer %" PRIu64 " [%" PRIu64 ", %" PRIu64
                    "), but %s receives shared buffer %" PRIu64 " [%" PRIu64 ", %" PRIu64 ")",
                    sender, sent->shared, sent->offset, sent->offset + sent->bytes, receiver, received->shared,
                    received->offset, received->offset + received->bytes);
  else if (call != other_call)
    weir__check_add(self->checker, "MESSAGE: %s receives for another call what %s sends", receiver, sender);
}

static void check_message(weir__ranks *self, weir__rank_message *message) {
  char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
  bool both = message->send != UINT32_MAX && message->receive != UINT32_MAX;
  uint32_t one = message->receive != UINT32_MAX ? message->receive : message->send;
  if (!both) {
    weir__check_add(self->checker, "MESSAGE: %s %s message %" PRIu64 " %s rank %" PRIu64 ", which no task there %s",
                    weir__check_describe(self->checker, one, text), one == message->receive ? "receives" : "sends",
                    message->number, one == message->receive ? "from" : "to",
                    one == message->receive ? message->from : message->to,
                    one == message->receive ? "sends" : "receives");
    return;
  }
  const char *sender = weir__check_describe(self->checker, message->send, text),
             *receiver = weir__check_describe(self->checker, message->receive, other);
  uint64_t sent_ns = seen(self, message->send)->end_ns, received_ns = seen(self, message->receive)->start_ns;
  self->checker->report->hazards++;
  if (!has_arrow(self, message))
    weir__check_add(self->checker, "MESSAGE: no arrow goes to %s from %s", receiver, sender);
  else if (sent_ns > received_ns && sent_ns - received_ns > error_of(self, message))
    weir__check_add(self->checker,
                    "MESSAGE broken: %s starts at %" PRIu64 " ns, but %s, which sends it, ends at %" PRIu64
                    " ns, and their clocks differ by %" PRIu64 " ns at most",
                    receiver, received_ns, sender, sent_ns, error_of(self, message));
  check_bytes(self, message);
}

bool weir__ranks_messages(weir__ranks *self) {
  size_t count = self->checker->task_count;
  self->messages = calloc(count + 1, sizeof *self->messages);
  self->message_of = malloc((count + 1) * sizeof *self->message_of);
  if (!self->messages || !self->message_of) return false;
  memset(self->message_of, 0xff, (count + 1) * sizeof *self->message_of);
  collect(self);
  join_ends(self);
  self->checker->report->messages = self->message_count;
  for (uint32_t i = 0; i < self->message_count && self->checker->report->broken == 0; i++) {
    weir__rank_message *message = &self->messages[i];
    check_message(self, message);
    if (message->send != UINT32_MAX) self->message_of[message->send] = i;
    if (message->receive != UINT32_MAX) self->message_of[message->receive] = i;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Calls

typedef struct made_call {
  uint64_t number;
  uint32_t task;
} made_call;

static int compare_calls(const void *a, const void *b) {
  const made_call *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->task < y->task ? -1 : x->task > y->task;
}

// Each rank makes calls in their order, and what it sends and receives for a call comes before it.
static void check_order(weir__ranks *self) {
  const weir__checker *checker = self->checker;
  for (uint32_t i = 0, last = UINT32_MAX; i < checker->task_count; i++) {
    const weir__timeline_task *task = seen(self, i), *before = last == UINT32_MAX ? NULL : seen(self, last);
    if (task->call.number == 0) continue;
    bool same_rank = before != NULL && weir__rank_of(before) == weir__rank_of(task);
    bool made = same_rank && before->call.direction == WEIR__TIMELINE_NO_MESSAGE;
    if (same_rank && (before->call.number > task->call.number || (made && before->call.number == task->call.number))) {
      char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
      weir__check_add(self->checker, "ORDER: %s was submitted after %s", weir__check_describe(checker, i, text),
                      weir__check_describe(checker, last, other));
    }
    last = i;
  }
}

bool weir__ranks_calls(weir__ranks *self) {
  const weir__checker *checker = self->checker;
  made_call *calls = malloc((checker->task_count + 1) * sizeof *calls);
  size_t count = 0;
  if (!calls) return false;
  for (uint32_t i = 0; i < checker->task_count; i++) {
    const weir__timeline_call *call = &seen(self, i)->call;
    if (call->number != 0 && call->direction == WEIR__TIMELINE_NO_MESSAGE)
      calls[count++] = (made_call){call->number, i};
  }
  qsort(calls, count, sizeof *calls, compare_calls);
  for (size_t i = 1; i < count; i++) {
    char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
    if (calls[i].number != calls[i - 1].number) continue;
    weir__check_add(self->checker, "DUPLICATE: %s and %s are one call",
                    weir__check_describe(checker, calls[i - 1].task, text),
                    weir__check_describe(checker, calls[i].task, other));
  }
  free(calls);
  check_order(self);
  return true;
}
