// SPDX-License-Identifier: Apache-2.0
//
// Baselines on OpenCL devices.
#include <stdlib.h>

#include "way_opencl_lines.h"
#include "way_order.h"
#include "way_relay.h"
#include "way_team.h"
#include "ways.h"

typedef struct state {
  way_opencl *opencl;
  cl_command_queue *queues;
  uint32_t queue_count;
  cl_event *ends; // of a batch's jobs
  way_team *team; // NULL: the caller's thread alone
  way_order order;
  way_failure failure;
} state;

// What was put in queues has ended when this returns. Returns false, for a run that failed.
static bool drain(const state *s) {
  for (uint32_t i = 0; i < s->queue_count; i++)
    if (s->queues[i]) s->opencl->driver->clFinish(s->queues[i]);
  return false;
}

static void close_ways(void *user) {
  state *s = user;
  drain(s);
  for (uint32_t i = 0; i < s->queue_count; i++)
    if (s->queues[i]) s->opencl->driver->clReleaseCommandQueue(s->queues[i]);
  way_team_destroy(s->team);
  way_order_free(&s->order);
  way_opencl_destroy(s->opencl);
  free(s->queues);
  free(s->ends);
  free(s);
}

static bool make_queues(state *s, uint32_t count, bool out_of_order, char why[JOB_WHY]) {
  s->queues = calloc(count, sizeof(cl_command_queue));
  s->ends = calloc(count, sizeof(cl_event));
  if (!s->queues || !s->ends) return way_refuse(why, "no memory");
  s->queue_count = count;
  for (uint32_t i = 0; i < count; i++) {
    s->queues[i] = way_opencl_queue(s->opencl, out_of_order, why);
    if (!s->queues[i]) return false;
  }
  return true;
}

static state *open_state(const job_shape *shape, const job_options *options, uint32_t lines, uint32_t queues,
                         bool out_of_order, uint32_t threads, char why[JOB_WHY]) {
  state *s = calloc(1, sizeof *s);
  if (!s) {
    way_refuse(why, "no memory");
    return NULL;
  }
  s->opencl = way_opencl_create(shape, options->device, lines, why);
  bool made = s->opencl && make_queues(s, queues, out_of_order, why);
  if (made && threads > 0) {
    s->team = way_team_create(threads);
    made = s->team && way_order_make(&s->order, s->opencl->line_count);
    if (!made) way_refuse(why, "no memory, or no threads, for %u workers", threads);
  }
  if (made) return s;
  if (s->opencl)
    close_ways(s);
  else
    free(s);
  return NULL;
}

static uint32_t at_least_one(uint32_t number) {
  return number > 0 ? number : 1;
}

static void *open_one(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_state(shape, options, 1, 1, false, 0, why);
}

static void *open_batches(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_state(shape, options, options->lines, at_least_one(options->lines), false, 0, why);
}

static void *open_queue(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  uint32_t workers = at_least_one(options->workers);
  return open_state(shape, options, options->lines, workers, false, workers, why);
}

static void *open_graph(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_state(shape, options, options->lines, 1, true, 2, why);
}

// ---------------------------------------------------------------------------------------------------------------

static bool run_one(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  state *s = user;
  for (uint64_t token = 0; token < count; token++) {
    void *const *inputs = feed->next(feed->user, token);
    if (!way_opencl_enqueue(s->opencl, 0, s->queues[0], inputs, why) ||
        !way_opencl_good(s->opencl->driver->clFinish(s->queues[0]), "clFinish", why))
      return drain(s);
    feed->done(feed->user, token, s->opencl->lines[0].results);
  }
  return true;
}

static bool enqueue_batch(state *s, uint64_t first, uint32_t jobs, const job_feed *feed, char why[JOB_WHY]) {
  const weir__opencl_driver *driver = s->opencl->driver;
  for (uint32_t i = 0; i < jobs; i++) {
    void *const *inputs = feed->next(feed->user, first + i);
    bool good =
        way_opencl_enqueue(s->opencl, i, s->queues[i], inputs, why) &&
        way_opencl_good(driver->clEnqueueMarkerWithWaitList(s->queues[i], 0, NULL, &s->ends[i]), "a marker", why) &&
        way_opencl_good(driver->clFlush(s->queues[i]), "clFlush", why);
    if (!good) return false;
  }
  return way_opencl_good(driver->clWaitForEvents(jobs, s->ends), "clWaitForEvents", why);
}

static bool run_batches(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  state *s = user;
  const uint32_t lines = s->opencl->line_count;
  bool good = true;
  for (uint64_t first = 0; good && first < count; first += lines) {
    uint32_t jobs = count - first < lines ? (uint32_t)(count - first) : lines;
    good = enqueue_batch(s, first, jobs, feed, why) || drain(s);
    for (uint32_t i = 0; i < jobs; i++) {
      if (good) feed->done(feed->user, first + i, s->opencl->lines[i].results);
      if (s->ends[i]) s->opencl->driver->clReleaseEvent(s->ends[i]);
      s->ends[i] = NULL;
    }
  }
  return good;
}

static void work_queue(void *user, uint32_t worker) {
  state *s = user;
  uint64_t token;
  void *const *inputs;
  char why[JOB_WHY] = "";
  while (way_order_take(&s->order, &token, &inputs)) {
    uint32_t line = (uint32_t)(token % s->opencl->line_count);
    if (!way_opencl_enqueue(s->opencl, line, s->queues[worker], inputs, why) ||
        !way_opencl_good(s->opencl->driver->clFinish(s->queues[worker]), "clFinish", why)) {
      way_failure_note(&s->failure, why);
      way_order_stop(&s->order);
      return;
    }
    way_order_finish(&s->order, token, s->opencl->lines[line].results);
  }
}

static bool run_queue(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  state *s = user;
  way_failure_clear(&s->failure);
  way_order_begin(&s->order, count, feed);
  way_team_run(s->team, work_queue, s);
  if (!s->failure.failed) return true;
  way_refuse(why, "%s", s->failure.why);
  return drain(s);
}

static bool launch_graph(void *user, uint32_t line, void *const *inputs, char why[JOB_WHY]) {
  state *s = user;
  return way_opencl_enqueue_graph(s->opencl, line, s->queues[0], inputs, why);
}

static bool wait_graph(void *user, uint32_t line, char why[JOB_WHY]) {
  state *s = user;
  way_opencl_line *at = &s->opencl->lines[line];
  if (!at->end) return true;
  bool good = way_opencl_good(s->opencl->driver->clWaitForEvents(1, &at->end), "clWaitForEvents", why);
  s->opencl->driver->clReleaseEvent(at->end);
  at->end = NULL;
  return good;
}

static void *const *results_of(void *user, uint32_t line) {
  return ((state *)user)->opencl->lines[line].results;
}

static bool run_graph(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  state *s = user;
  const way_relay relay = {
      .lines = s->opencl->line_count, .launch = launch_graph, .wait = wait_graph, .results = results_of, .user = s};
  return way_relay_run(&relay, s->team, count, feed, why) || drain(s);
}

const job_way job_ways_opencl[] = {
    {"one job at a time", "an in-order queue, clFinish after each job", open_one, run_one, close_ways},
    {"batches", "`lines` jobs on as many in-order queues, one wait for all", open_batches, run_batches, close_ways},
    {"queue of jobs", "workers take whole jobs, each on an in-order queue of its own, `lines` jobs in flight at most",
     open_queue, run_queue, close_ways},
    {"out-of-order queue", "dependences found beforehand, commands wait for lists of events, `lines` jobs in flight",
     open_graph, run_graph, close_ways},
};
const uint32_t job_ways_opencl_count = sizeof job_ways_opencl / sizeof job_ways_opencl[0];
