// SPDX-License-Identifier: Apache-2.0
//
// Tasks get their storage in program order and start when every earlier conflicting access of the same bytes has ended,
// found by looking at all of them.
#include "schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct use {
  uint64_t storage, lo, hi, end_ns, task;
  bool writes;
} use;

typedef struct scheduler {
  const weir__stream *stream;
  const schedule_options *options;
  weir__timeline *timeline;
  uint64_t seed, now_ns, next_storage, next_number, base;
  uint64_t *storage, *number; // per buffer of the stream
  uint64_t *spare;            // storages that nothing holds
  size_t spare_count;
  uint64_t *worker_free_ns;
  use *uses; // all accesses so far
} scheduler;

static uint64_t new_storage(scheduler *s) {
  if (s->spare_count == 0 || random_in(&s->seed, 0, 4) == 0) return s->next_storage++;
  size_t pick = random_in(&s->seed, 0, s->spare_count);
  uint64_t storage = s->spare[pick];
  s->spare[pick] = s->spare[--s->spare_count];
  return storage;
}

static void drop_storage(scheduler *s, uint64_t storage) {
  s->spare[s->spare_count++] = storage;
}

static void make_buffer(scheduler *s, uint32_t buffer) {
  s->number[buffer] = s->options->by_address ? 1 : s->next_number++;
  s->storage[buffer] = s->options->by_address ? 1 : new_storage(s);
}

static bool lives_on(const scheduler *s, uint32_t buffer) {
  return s->options->kept || s->options->by_address || s->stream->buffers[buffer].parameter;
}

static weir__timeline_access place(scheduler *s, const weir__stream_access *planned) {
  const weir__stream_buffer *buffer = &s->stream->buffers[planned->buffer];
  bool whole = planned->mode == WEIR_WRITE && planned->bytes == buffer->bytes;
  if (whole && s->options->rename && !s->options->by_address) {
    uint64_t old = s->storage[planned->buffer];
    s->storage[planned->buffer] = new_storage(s);
    drop_storage(s, old);
  }
  weir__timeline_access access = {.mode = planned->mode, .offset = planned->offset, .bytes = planned->bytes};
  if (s->options->by_address) access.offset = buffer->address - s->base + planned->offset;
  access.buffer = s->number[planned->buffer];
  access.storage = s->storage[planned->buffer];
  return access;
}

static void add_access(scheduler *s, weir__timeline_task *task, const weir__timeline_access *access) {
  weir__timeline *timeline = s->timeline;
  uint64_t lo = access->offset, hi = lo + access->bytes;
  for (size_t i = 0; i < timeline->access_count; i++) {
    const use *earlier = &s->uses[i];
    if (earlier->task == task->id || earlier->storage != access->storage || earlier->hi <= lo || hi <= earlier->lo)
      continue;
    if (!earlier->writes && access->mode == WEIR_READ) continue;
    if (task->start_ns < earlier->end_ns) task->start_ns = earlier->end_ns;
  }
  s->uses[timeline->access_count] = (use){access->storage, lo, hi, 0, task->id, access->mode != WEIR_READ};
  timeline->accesses[timeline->access_count++] = *access;
  task->access_count++;
}

static void run_task(scheduler *s, uint32_t pass, uint32_t index) {
  weir__timeline *timeline = s->timeline;
  const weir__stream_task *planned = &s->stream->tasks[index];
  weir__timeline_task task = {
      .id = timeline->task_count + 1, .tag = (uint64_t)pass << 32 | (index + 1), .status = "WEIR_OK"};
  snprintf(task.label, sizeof task.label, "%s", planned->op);
  s->now_ns += random_in(&s->seed, 0, 3);
  task.submit_ns = task.start_ns = s->now_ns;
  task.access_first = timeline->access_count;
  for (uint32_t i = 0; i < planned->access_count; i++) {
    weir__timeline_access access = place(s, &planned->accesses[i]);
    add_access(s, &task, &access);
  }
  uint32_t worker = (uint32_t)random_in(&s->seed, 0, s->options->workers);
  if (task.start_ns < s->worker_free_ns[worker]) task.start_ns = s->worker_free_ns[worker];
  task.start_ns += random_in(&s->seed, 0, 4) == 0 ? random_in(&s->seed, 0, 20) : 0;
  task.end_ns = task.start_ns + random_in(&s->seed, 0, 4) * random_in(&s->seed, 0, 20);
  s->worker_free_ns[worker] = task.end_ns;
  for (uint32_t i = 0; i < task.access_count; i++) s->uses[task.access_first + i].end_ns = task.end_ns;
  if (planned->host_wait && s->now_ns < task.end_ns) s->now_ns = task.end_ns;
  timeline->tasks[timeline->task_count++] = task;
}

static void run_pass(scheduler *s, uint32_t pass) {
  for (uint32_t i = 0; i < s->stream->event_count; i++) {
    const weir__stream_event *event = &s->stream->events[i];
    if (event->kind == WEIR__STREAM_TASK) run_task(s, pass, event->index);
    if (event->kind == WEIR__STREAM_BUFFER && (pass == 0 || !lives_on(s, event->index))) make_buffer(s, event->index);
    for (uint32_t k = 0; event->kind == WEIR__STREAM_FREE && k < event->count; k++) {
      uint32_t buffer = s->stream->freed[event->index + k];
      if (!lives_on(s, buffer)) drop_storage(s, s->storage[buffer]);
    }
  }
  for (uint32_t i = 0; i < s->stream->buffer_count; i++) {
    if (!s->stream->buffers[i].freed && !lives_on(s, i)) drop_storage(s, s->storage[i]);
  }
}

weir__timeline *schedule(const weir__stream *stream, const schedule_options *options) {
  size_t tasks = (size_t)stream->task_count * options->passes, accesses = 0;
  for (uint32_t i = 0; i < stream->task_count; i++) accesses += stream->tasks[i].access_count;
  accesses *= options->passes;
  size_t buffers = (size_t)stream->buffer_count;
  weir__timeline *timeline = calloc(1, sizeof *timeline);
  scheduler s = {.stream = stream, .options = options, .timeline = timeline, .seed = options->seed, .base = UINT64_MAX};
  s.next_storage = s.next_number = 1;
  s.storage = calloc(buffers + 1, sizeof *s.storage);
  s.number = calloc(buffers + 1, sizeof *s.number);
  s.spare = calloc(buffers * options->passes + accesses + 1, sizeof *s.spare);
  s.worker_free_ns = calloc(options->workers, sizeof *s.worker_free_ns);
  s.uses = calloc(accesses + 1, sizeof *s.uses);
  if (!timeline || !s.storage || !s.number || !s.spare || !s.worker_free_ns || !s.uses) abort();
  timeline->tasks = calloc(tasks + 1, sizeof *timeline->tasks);
  timeline->accesses = calloc(accesses + 1, sizeof *timeline->accesses);
  timeline->waits = calloc(1, sizeof *timeline->waits);
  if (!timeline->tasks || !timeline->accesses || !timeline->waits) abort();
  for (uint32_t i = 0; i < stream->buffer_count; i++) {
    if (stream->buffers[i].address < s.base) s.base = stream->buffers[i].address;
  }
  for (uint32_t pass = 0; pass < options->passes; pass++) run_pass(&s, pass);
  free(s.storage);
  free(s.number);
  free(s.spare);
  free(s.worker_free_ns);
  free(s.uses);
  return timeline;
}

char *timeline_text(const weir__timeline *timeline) {
  static const char *const modes[] = {"value", "read", "write", "read_write", "commute"};
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) abort();
  fprintf(out, "{\"displayTimeUnit\":\"ns\",\"weir\":{\"version\":1,\"title\":\"made\",\"dropped\":%" PRIu64 "},\n",
          timeline->dropped);
  fprintf(out, "\"traceEvents\":[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{\"name\":\"made\"}}");
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    fprintf(out,
            ",\n{\"name\":\"%s\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
            "\"id\":%" PRIu64 ",\"tag\":%" PRIu64 ",\"status\":\"%s\",\"kernel\":\"k\",\"submit_ns\":%" PRIu64
            ",\"ready_ns\":%" PRIu64 ",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"accesses\":[",
            task->label, (double)task->start_ns / 1000, (double)(task->end_ns - task->start_ns) / 1000, task->id,
            task->tag, task->status, task->submit_ns, task->submit_ns, task->start_ns, task->end_ns);
    for (uint32_t k = 0; k < task->access_count; k++) {
      const weir__timeline_access *access = &timeline->accesses[task->access_first + k];
      fprintf(out,
              "%s{\"mode\":\"%s\",\"buffer\":%" PRIu64 ",\"label\":\"b\",\"storage\":%" PRIu64 ",\"offset\":%" PRIu64
              ",\"bytes\":%" PRIu64 "}",
              k ? "," : "", modes[access->mode], access->buffer, access->storage, access->offset, access->bytes);
    }
    fputs("],\"waits\":[", out);
    for (uint32_t k = 0; k < task->wait_count; k++) {
      const weir__timeline_wait *wait = &timeline->waits[task->wait_first + k];
      fprintf(out, "%s{\"task\":%" PRIu64 ",\"hazard\":\"%s\",\"buffer\":0,\"lo\":0,\"hi\":0}", k ? "," : "",
              wait->task, wait->hazard);
    }
    fputs("]}}", out);
  }
  fputs("\n]}\n", out);
  fclose(out);
  return text;
}

weir__check_result check_as_json(const weir__timeline *timeline, const weir__stream *stream,
                                 const weir__check_options *options, weir__check_report *out_report) {
  char *text = timeline_text(timeline), message[300];
  weir__timeline *again = NULL;
  if (weir__timeline_read_memory("made.json", text, strlen(text), message, sizeof message, &again) != WEIR_OK) {
    fprintf(stderr, "%s\n", message);
    abort();
  }
  free(text);
  weir__check_timeline(again, stream, options, out_report);
  weir__timeline_destroy(again);
  return out_report->result;
}
