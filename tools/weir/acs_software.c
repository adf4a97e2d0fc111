// SPDX-License-Identifier: Apache-2.0
//
// ACS-SW: the window is on the host. A thread checks tasks and puts them into it. Each stream has a thread that takes a ready
// task, the oldest first, launches it, and synchronises with its stream before it takes another: nothing ever queues behind a
// task that runs. A task leaves the window when its thread knows that it has ended.
#include <stdlib.h>

#include "acs_model.h"

typedef enum doing { IDLE = 0, LAUNCHING = 1, RUNNING = 2, ENDED = 3 } doing;

// A stream with its thread.
typedef struct stream {
  doing doing;
  uint32_t task;
  uint32_t launch;   // the next one of the task
  uint64_t timer_ps; // LAUNCHING: when the thread calls the driver; ENDED: when its synchronisation returns; else NEVER
} stream;

typedef struct software {
  weir__acs *acs;
  stream *streams;
  uint32_t stream_count;
  uint64_t driver_free_ps;
  uint32_t next;     // task that is or will be checked next
  uint64_t check_ps; // when its check ends; NEVER: it has not begun
} software;

static void start_check(software *sw, uint64_t now_ps) {
  weir__acs *acs = sw->acs;
  if (sw->check_ps != WEIR__ACS_NEVER || sw->next == acs->available || !weir__acs_has_room(acs, sw->next)) return;
  sw->check_ps = now_ps;
  for (uint32_t i = 0; i < acs->window_count; i++) {
    sw->check_ps += acs->tasks[acs->window[i]].range_count * acs->settings->check_ps;
  }
}

static void end_check(software *sw) {
  weir__acs_insert(sw->acs, sw->next++, sw->check_ps);
  sw->check_ps = WEIR__ACS_NEVER;
}

// Ready tasks go to idle threads.
static void hand_out(software *sw, uint64_t now_ps) {
  weir__acs *acs = sw->acs;
  uint32_t index = 0;
  for (uint32_t i = 0; i < acs->window_count; i++) {
    uint32_t task = acs->window[i];
    if (acs->progress[task].upstream_left > 0 || acs->progress[task].handed_out) continue;
    while (index < sw->stream_count && sw->streams[index].doing != IDLE) index++;
    if (index == sw->stream_count) return;
    sw->streams[index] = (stream){.doing = LAUNCHING, .task = task, .timer_ps = now_ps + acs->settings->poll_ps};
    acs->progress[task].handed_out = true;
    acs->result->records[task].lane = index;
  }
}

static void launch(software *sw, uint32_t index, uint64_t now_ps) {
  weir__acs *acs = sw->acs;
  stream *each = &sw->streams[index];
  if (sw->driver_free_ps > now_ps) {
    each->timer_ps = sw->driver_free_ps;
    return;
  }
  sw->driver_free_ps = now_ps + acs->settings->driver_ps;
  uint64_t end_ps = now_ps + acs->profile->launch;
  weir__acs_launch(acs, each->task, each->launch++, end_ps + acs->profile->launch_latency, index, NULL);
  bool more = each->launch < acs->tasks[each->task].launch_count;
  each->timer_ps = more ? end_ps : WEIR__ACS_NEVER;
  if (!more) each->doing = RUNNING;
}

static void synchronised(software *sw, uint32_t index, uint64_t now_ps) {
  stream *each = &sw->streams[index];
  weir__acs_remove(sw->acs, each->task, now_ps);
  weir__acs_learn(sw->acs, each->task, now_ps);
  *each = (stream){.doing = IDLE, .timer_ps = WEIR__ACS_NEVER};
}

static void end_tasks(software *sw) {
  for (uint32_t task; weir__acs_take(sw->acs, &task);) {
    const weir__acs_record *record = &sw->acs->result->records[task];
    stream *each = &sw->streams[record->lane];
    each->doing = ENDED;
    each->timer_ps = record->end_ps + sw->acs->profile->synchronize;
  }
}

// The stream whose timer comes first.
static uint32_t first_stream(const software *sw) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < sw->stream_count; i++) {
    if (sw->streams[i].timer_ps < sw->streams[first].timer_ps) first = i;
  }
  return first;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

// What happens on the host at `now_ps`, one thing. False: the application is done.
static bool handle_host(software *sw, uint64_t now_ps) {
  uint32_t index = first_stream(sw);
  if (sw->streams[index].timer_ps == now_ps) {
    if (sw->streams[index].doing == LAUNCHING)
      launch(sw, index, now_ps);
    else
      synchronised(sw, index, now_ps);
  } else if (sw->check_ps == now_ps) {
    end_check(sw);
  } else if (!weir__acs_resume(sw->acs)) {
    return false;
  }
  start_check(sw, now_ps);
  hand_out(sw, now_ps);
  return true;
}

void weir__acs_run_software(weir__acs *acs) {
  software sw = {.acs = acs, .stream_count = acs->settings->streams, .check_ps = WEIR__ACS_NEVER};
  sw.streams = calloc(sw.stream_count, sizeof *sw.streams);
  if (!sw.streams) {
    acs->failed = true;
    return;
  }
  for (uint32_t i = 0; i < sw.stream_count; i++) sw.streams[i].timer_ps = WEIR__ACS_NEVER;
  start_check(&sw, 0);
  for (bool more = true; more && !acs->failed;) {
    uint64_t device_ps = weir__sim_engine_next_ps(acs->engine);
    uint64_t host_ps = least(least(sw.streams[first_stream(&sw)].timer_ps, sw.check_ps), acs->resume_ps);
    if (device_ps <= host_ps) {
      weir__sim_engine_handle_next(acs->engine);
      end_tasks(&sw);
    } else {
      more = handle_host(&sw, host_ps);
    }
  }
  free(sw.streams);
}
