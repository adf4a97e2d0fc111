// SPDX-License-Identifier: Apache-2.0
#include "transport_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi_devices.h"

enum { CHANNELS = 2, MAX_RANKS = 8, STUCK_MS = 300, SLOW_POLLS = 12 };

// A message that was sent and not received, a receive, or something that ended. Contents of a device are taken when they are
// received, and end then.
typedef struct item {
  struct item *next;
  uint32_t channel, other, tag; // `other`: the sender
  unsigned char *memory;        // of a message: its own copy, or NULL
  const void *device_memory;    // in place of it
  struct item *end;             // of that
  uint32_t polls;               // of the receiver since it was matched,
  int64_t matched_ms;           // which was then
  int64_t due_ms;               // of a message that arrives late
  uint64_t bytes;
  weir__mpi_done done;
} item;

typedef struct items {
  item *first;
} items;

typedef struct rank_transport {
  weir__mpi_transport base;
  threads_job *job;
  items messages, receives, ended, stuck, slow; // `slow`: matched messages with device memory, each before its receive
  items late;                                   // messages that have not arrived
  threads_sticking sticks;
  bool has_ended_late, spoils;
  int64_t cancelled_ms; // when
  uint64_t sent_bytes, sent;
  uint64_t posted, most_posted; // bytes of receives of contents that have not ended; most of them at a time
  uint64_t left;                // messages until it dies; 0: it does not
  bool dead;
} rank_transport;

struct threads_job {
  pthread_mutex_t lock;
  uint32_t size;
  int64_t slow_ms, control_ms;
  rank_transport ranks[MAX_RANKS];
};

static item *create(uint32_t channel, uint32_t other, uint32_t tag, uint64_t bytes, void *token) {
  item *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  *made = (item){.channel = channel, .other = other, .tag = tag, .bytes = bytes, .done.token = token};
  return made;
}

static void append(items *queue, item *appended) {
  item **end = &queue->first;
  while (*end != NULL) end = &(*end)->next;
  appended->next = NULL;
  *end = appended;
}

static bool fits(const item *message, const item *receive) {
  return message->channel == receive->channel && message->tag == receive->tag &&
         (receive->other == WEIR__MPI_ANY_RANK || receive->other == message->other);
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_of_device(const void *memory, uint64_t bytes) {
  return mpi_devices_memory(memory, bytes) != memory;
}

static void deliver(rank_transport *self, item *message, item *receive) {
  uint64_t bytes = message->bytes < receive->bytes ? message->bytes : receive->bytes;
  bool from_device = message->device_memory != NULL;
  const void *from = from_device ? mpi_devices_memory(message->device_memory, bytes) : message->memory;
  void *to = mpi_devices_memory(receive->memory, bytes);
  if (bytes > 0 && from != NULL && to != NULL) memcpy(to, from, bytes);
  if (from_device) append(&self->job->ranks[message->other].ended, message->end);
  receive->done.truncated = message->bytes > receive->bytes;
  if (message->bytes > receive->bytes) receive->done.error = "the message is longer than the receive";
  if (self->spoils && receive->channel == WEIR__MPI_CONTROL) receive->done.error = "the network is gone";
  if (receive->channel == WEIR__MPI_CONTROL) self->spoils = false;
  receive->done.source = message->other;
  if (receive->channel == WEIR__MPI_CONTENTS) self->posted -= receive->bytes;
  receive->done.bytes = bytes;
  bool sticks = self->sticks != THREADS_FLOW && message->channel == WEIR__MPI_CONTENTS;
  append(sticks ? &self->stuck : &self->ended, receive);
  free(message->memory);
  free(message);
}

// Ends the first receive that fits a message, and the other way round. Contents of a device, or for one, take a while.
static void match(rank_transport *self) {
  for (item **m = &self->messages.first; *m != NULL;) {
    item *message = *m, **r = &self->receives.first;
    while (*r != NULL && !fits(message, *r)) r = &(*r)->next;
    item *receive = *r;
    if (receive == NULL) {
      m = &message->next;
      continue;
    }
    *m = message->next;
    *r = receive->next;
    if (message->device_memory == NULL && !is_of_device(receive->memory, receive->bytes)) {
      deliver(self, message, receive);
      continue;
    }
    message->matched_ms = now_ms();
    append(&self->slow, message);
    append(&self->slow, receive);
  }
}

static void deliver_slow(rank_transport *self) {
  for (item *message = self->slow.first; message != NULL; message = message->next->next) message->polls++;
  while (self->slow.first != NULL && self->slow.first->polls > SLOW_POLLS &&
         now_ms() >= self->slow.first->matched_ms + self->job->slow_ms) {
    item *message = self->slow.first, *receive = message->next;
    self->slow.first = receive->next;
    deliver(self, message, receive);
  }
}

static void deliver_late(rank_transport *self) {
  while (self->late.first != NULL && now_ms() >= self->late.first->due_ms) {
    item *message = self->late.first;
    self->late.first = message->next;
    append(&self->messages, message);
    match(self);
  }
}

// Ends late what was stuck, and writes to its memory once more.
static void end_stuck(rank_transport *self) {
  if (self->sticks != THREADS_STICK_FOR_LONG || self->cancelled_ms == 0 || now_ms() < self->cancelled_ms + STUCK_MS)
    return;
  while (self->stuck.first != NULL) {
    item *late = self->stuck.first;
    self->stuck.first = late->next;
    void *memory = mpi_devices_memory(late->memory, late->bytes);
    if (memory != NULL) memset(memory, 0xff, late->bytes);
    append(&self->ended, late);
    self->has_ended_late = true;
  }
}

static bool send_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t to, uint32_t tag,
                         const void *memory, uint64_t bytes, void *token) {
  rank_transport *self = (rank_transport *)base, *other = &self->job->ranks[to];
  item *message = create(channel, base->rank, tag, bytes, NULL), *ended = create(channel, to, tag, bytes, token);
  bool of_device = is_of_device(memory, bytes);
  if (message != NULL && !of_device) message->memory = malloc(bytes + 1);
  if (message == NULL || (message->memory == NULL && !of_device) || ended == NULL) {
    free(message);
    free(ended);
    return false;
  }
  if (of_device)
    *message = (item){
        .channel = channel, .other = base->rank, .tag = tag, .bytes = bytes, .device_memory = memory, .end = ended};
  else
    memcpy(message->memory, memory, bytes);
  pthread_mutex_lock(&self->job->lock);
  if (self->left > 0 && --self->left == 0) self->dead = true;
  self->sent += channel == WEIR__MPI_CONTENTS;
  self->sent_bytes += channel == WEIR__MPI_CONTENTS ? bytes : 0;
  if (!of_device) append(&self->ended, ended);
  if (!self->dead && !other->dead) {
    bool late = channel == WEIR__MPI_CONTROL && self->job->control_ms > 0;
    if (late) message->due_ms = now_ms() + self->job->control_ms;
    append(late ? &other->late : &other->messages, message);
    match(other);
  } else {
    free(message->memory);
    if (of_device) free(ended); // it does not end
    free(message);
  }
  pthread_mutex_unlock(&self->job->lock);
  return true;
}

static bool receive_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t from, uint32_t tag,
                            void *memory, uint64_t bytes, void *token) {
  rank_transport *self = (rank_transport *)base;
  item *receive = create(channel, from, tag, bytes, token);
  if (receive == NULL) return false;
  receive->memory = memory;
  pthread_mutex_lock(&self->job->lock);
  append(&self->receives, receive);
  if (channel == WEIR__MPI_CONTENTS) self->posted += bytes;
  if (self->posted > self->most_posted) self->most_posted = self->posted;
  match(self);
  pthread_mutex_unlock(&self->job->lock);
  return true;
}

static uint32_t poll_messages(weir__mpi_transport *base, weir__mpi_done *out_done, uint32_t most) {
  rank_transport *self = (rank_transport *)base;
  uint32_t count = 0;
  pthread_mutex_lock(&self->job->lock);
  end_stuck(self);
  deliver_slow(self);
  deliver_late(self);
  while (count < most && self->ended.first != NULL) {
    item *ended = self->ended.first;
    self->ended.first = ended->next;
    out_done[count++] = ended->done;
    free(ended);
  }
  pthread_mutex_unlock(&self->job->lock);
  return count;
}

static void cancel_messages(weir__mpi_transport *base) {
  rank_transport *self = (rank_transport *)base;
  pthread_mutex_lock(&self->job->lock);
  self->cancelled_ms = now_ms();
  for (item **r = &self->receives.first; *r != NULL;) {
    item *receive = *r;
    if (receive->channel == WEIR__MPI_CONTROL) {
      r = &receive->next;
      continue;
    }
    *r = receive->next;
    receive->done.cancelled = true;
    receive->done.error = "cancelled";
    append(&self->ended, receive);
  }
  pthread_mutex_unlock(&self->job->lock);
}

static void drop(items *queue, bool owns) {
  while (queue->first != NULL) {
    item *dropped = queue->first;
    queue->first = dropped->next;
    if (owns) free(dropped->memory);
    if (owns) free(dropped->end);
    free(dropped);
  }
}

static void drop_slow(rank_transport *self) {
  while (self->slow.first != NULL) {
    item *message = self->slow.first, *receive = message->next;
    self->slow.first = receive->next;
    free(message->memory);
    free(message->end);
    free(message);
    free(receive);
  }
}

// What a transport would still write to.
static items left_behind;

static bool close_transport(weir__mpi_transport *base, bool lost) {
  (void)lost;
  rank_transport *self = (rank_transport *)base;
  pthread_mutex_lock(&self->job->lock);
  self->dead = true;
  drop(&self->messages, true);
  drop(&self->late, true);
  drop(&self->receives, false);
  drop(&self->ended, false);
  drop_slow(self);
  while (self->stuck.first != NULL) {
    item *stuck = self->stuck.first;
    self->stuck.first = stuck->next;
    append(&left_behind, stuck);
  }
  pthread_mutex_unlock(&self->job->lock);
  return true;
}

threads_job *threads_job_create(uint32_t size) {
  threads_job *job = calloc(1, sizeof *job);
  if (job == NULL || size > MAX_RANKS) abort();
  pthread_mutex_init(&job->lock, NULL);
  job->size = size;
  return job;
}

void threads_job_release(threads_job *job) {
  pthread_mutex_destroy(&job->lock);
  free(job);
}

weir__mpi_transport *threads_transport(threads_job *job, uint32_t rank) {
  rank_transport *self = &job->ranks[rank];
  self->job = job;
  self->base = (weir__mpi_transport){.rank = rank,
                                     .size = job->size,
                                     .tags = 32767,
                                     .send = send_message,
                                     .receive = receive_message,
                                     .poll = poll_messages,
                                     .cancel = cancel_messages,
                                     .close = close_transport};
  return &self->base;
}

void threads_kill(threads_job *job, uint32_t rank) {
  pthread_mutex_lock(&job->lock);
  job->ranks[rank].dead = true;
  pthread_mutex_unlock(&job->lock);
}

void threads_stick(threads_job *job, uint32_t rank, threads_sticking how) {
  pthread_mutex_lock(&job->lock);
  job->ranks[rank].sticks = how;
  pthread_mutex_unlock(&job->lock);
}

void threads_slow(threads_job *job, uint32_t ms) {
  pthread_mutex_lock(&job->lock);
  job->slow_ms = ms;
  pthread_mutex_unlock(&job->lock);
}

void threads_delay_control(threads_job *job, uint32_t ms) {
  pthread_mutex_lock(&job->lock);
  job->control_ms = ms;
  pthread_mutex_unlock(&job->lock);
}

void threads_spoil_control(threads_job *job, uint32_t rank) {
  pthread_mutex_lock(&job->lock);
  job->ranks[rank].spoils = true;
  pthread_mutex_unlock(&job->lock);
}

bool threads_has_ended_late(threads_job *job, uint32_t rank) {
  pthread_mutex_lock(&job->lock);
  bool has = job->ranks[rank].has_ended_late;
  pthread_mutex_unlock(&job->lock);
  return has;
}

void threads_kill_at(threads_job *job, uint32_t rank, uint64_t message) {
  pthread_mutex_lock(&job->lock);
  job->ranks[rank].left = message + 1;
  pthread_mutex_unlock(&job->lock);
}

bool threads_is_dead(threads_job *job, uint32_t rank) {
  pthread_mutex_lock(&job->lock);
  bool dead = job->ranks[rank].dead;
  pthread_mutex_unlock(&job->lock);
  return dead;
}

uint64_t threads_most_posted(threads_job *job, uint32_t rank) {
  pthread_mutex_lock(&job->lock);
  uint64_t most = job->ranks[rank].most_posted;
  pthread_mutex_unlock(&job->lock);
  return most;
}

uint64_t threads_sent(threads_job *job, uint32_t rank, uint64_t *out_messages) {
  pthread_mutex_lock(&job->lock);
  uint64_t bytes = job->ranks[rank].sent_bytes;
  *out_messages = job->ranks[rank].sent;
  pthread_mutex_unlock(&job->lock);
  return bytes;
}
