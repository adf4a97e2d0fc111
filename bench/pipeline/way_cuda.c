// SPDX-License-Identifier: Apache-2.0
//
// Baselines on CUDA devices.
#include <stdlib.h>

#include "way_cuda_lines.h"
#include "way_order.h"
#include "way_relay.h"
#include "way_team.h"
#include "ways.h"

typedef struct state {
  way_cuda *cuda;
  CUstream *streams;
  uint32_t stream_count;
  way_team *team; // NULL: the caller's thread alone
  way_order order;
  way_failure failure;
} state;

// What was put in streams has ended when this returns. The context is entered.
static void drain(const state *s) {
  for (uint32_t i = 0; i < s->stream_count; i++)
    if (s->streams[i]) s->cuda->driver->cuStreamSynchronize(s->streams[i]);
}

static void destroy_streams(const state *s) {
  char why[JOB_WHY];
  if (!s->streams || !way_cuda_enter(s->cuda, why)) return;
  drain(s);
  for (uint32_t i = 0; i < s->stream_count; i++)
    if (s->streams[i]) s->cuda->driver->cuStreamDestroy(s->streams[i]);
  way_cuda_leave(s->cuda);
}

static void close_ways(void *user) {
  state *s = user;
  if (s->cuda) destroy_streams(s);
  way_team_destroy(s->team);
  way_order_free(&s->order);
  way_cuda_destroy(s->cuda);
  free(s->streams);
  free(s);
}

static bool make_streams(state *s, uint32_t count, char why[JOB_WHY]) {
  s->streams = calloc(count, sizeof *s->streams);
  if (!s->streams) return way_refuse(why, "no memory");
  if (!way_cuda_enter(s->cuda, why)) return false;
  s->stream_count = count;
  bool made = true;
  for (uint32_t i = 0; made && i < count; i++) {
    CUresult result = s->cuda->driver->cuStreamCreateWithPriority(&s->streams[i], CU_STREAM_NON_BLOCKING, 0);
    made = way_cuda_good(s->cuda, result, "cuStreamCreateWithPriority", why);
  }
  way_cuda_leave(s->cuda);
  return made;
}

static state *open_state(const job_shape *shape, const job_options *options, uint32_t lines, bool graphs,
                         uint32_t streams, uint32_t threads, char why[JOB_WHY]) {
  state *s = calloc(1, sizeof *s);
  if (!s) {
    way_refuse(why, "no memory");
    return NULL;
  }
  s->cuda = way_cuda_create(shape, options->device, lines, graphs, why);
  bool made = s->cuda && make_streams(s, streams, why);
  if (made && threads > 0) {
    s->team = way_team_create(threads);
    made = s->team && way_order_make(&s->order, s->cuda->line_count);
    if (!made) way_refuse(why, "no memory, or no threads, for %u workers", threads);
  }
  if (made) return s;
  close_ways(s);
  return NULL;
}

static uint32_t at_least_one(uint32_t number) {
  return number > 0 ? number : 1;
}

static void *open_one(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_state(shape, options, 1, false, 1, 0, why);
}

static void *open_one_graph(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_state(shape, options, 1, true, 1, 0, why);
}

static void *open_graphs(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_state(shape, options, options->lines, true, at_least_one(options->lines), 2, why);
}

static void *open_batches(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_state(shape, options, options->lines, false, at_least_one(options->lines), 0, why);
}

static void *open_queue(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  uint32_t workers = at_least_one(options->workers);
  return open_state(shape, options, options->lines, false, workers, workers, why);
}

static void *open_graph_queue(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  uint32_t workers = at_least_one(options->workers);
  return open_state(shape, options, options->lines, true, workers, workers, why);
}

// ---------------------------------------------------------------------------------------------------------------
// Parts of all ways

// Puts a job in a stream: as the line's graph, where it has one.
static bool launch(state *s, uint32_t line, uint32_t stream, void *const *inputs, char why[JOB_WHY]) {
  return s->cuda->lines[line].exec ? way_cuda_graph_launch(s->cuda, line, s->streams[stream], inputs, why)
                                   : way_cuda_enqueue(s->cuda, line, s->streams[stream], inputs, why);
}

static bool wait(state *s, uint32_t stream, char why[JOB_WHY]) {
  return way_cuda_good(s->cuda, s->cuda->driver->cuStreamSynchronize(s->streams[stream]), "cuStreamSynchronize", why);
}

static bool run(state *s, uint64_t count, const job_feed *feed,
                bool (*all)(state *s, uint64_t count, const job_feed *feed, char why[JOB_WHY]), char why[JOB_WHY]) {
  if (!way_cuda_enter(s->cuda, why)) return false;
  way_cuda_begin(s->cuda);
  bool good = all(s, count, feed, why);
  if (!good) drain(s);
  way_cuda_leave(s->cuda);
  return good;
}

// ---------------------------------------------------------------------------------------------------------------
// One job at a time

static bool run_each(state *s, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  for (uint64_t token = 0; token < count; token++) {
    void *const *inputs = feed->next(feed->user, token);
    if (!launch(s, 0, 0, inputs, why) || !wait(s, 0, why)) return false;
    feed->done(feed->user, token, s->cuda->lines[0].results);
  }
  return true;
}

static bool run_one(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  return run(user, count, feed, run_each, why);
}

// ---------------------------------------------------------------------------------------------------------------
// Batches

static bool run_batch(state *s, uint64_t first, uint32_t jobs, const job_feed *feed, char why[JOB_WHY]) {
  for (uint32_t i = 0; i < jobs; i++) {
    void *const *inputs = feed->next(feed->user, first + i);
    if (!launch(s, i, i, inputs, why)) return false;
  }
  for (uint32_t i = 0; i < jobs; i++)
    if (!wait(s, i, why)) return false;
  for (uint32_t i = 0; i < jobs; i++) feed->done(feed->user, first + i, s->cuda->lines[i].results);
  return true;
}

static bool run_all_batches(state *s, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  const uint32_t lines = s->cuda->line_count;
  for (uint64_t first = 0; first < count; first += lines)
    if (!run_batch(s, first, count - first < lines ? (uint32_t)(count - first) : lines, feed, why)) return false;
  return true;
}

static bool run_batches(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  return run(user, count, feed, run_all_batches, why);
}

// ---------------------------------------------------------------------------------------------------------------
// Queue of jobs

static bool work_jobs(state *s, uint32_t worker, char why[JOB_WHY]) {
  uint64_t token;
  void *const *inputs;
  while (way_order_take(&s->order, &token, &inputs)) {
    uint32_t line = (uint32_t)(token % s->cuda->line_count);
    if (!launch(s, line, worker, inputs, why) || !wait(s, worker, why)) return false;
    way_order_finish(&s->order, token, s->cuda->lines[line].results);
  }
  return true;
}

static void work_queue(void *user, uint32_t worker) {
  state *s = user;
  char why[JOB_WHY] = "";
  bool entered = way_cuda_enter(s->cuda, why);
  if (!entered || !work_jobs(s, worker, why)) {
    way_failure_note(&s->failure, why);
    way_order_stop(&s->order);
  }
  if (entered) way_cuda_leave(s->cuda);
}

static bool run_all_workers(state *s, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  way_failure_clear(&s->failure);
  way_order_begin(&s->order, count, feed);
  way_team_run(s->team, work_queue, s);
  return !s->failure.failed || way_refuse(why, "%s", s->failure.why);
}

static bool run_queue(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  return run(user, count, feed, run_all_workers, why);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs in flight: each line has a stream

static bool launch_line(void *user, uint32_t line, void *const *inputs, char why[JOB_WHY]) {
  return launch(user, line, line, inputs, why);
}

static bool wait_line(void *user, uint32_t line, char why[JOB_WHY]) {
  return wait(user, line, why);
}

static void *const *results_of(void *user, uint32_t line) {
  return ((state *)user)->cuda->lines[line].results;
}

static bool enter(void *user, char why[JOB_WHY]) {
  return way_cuda_enter(((state *)user)->cuda, why);
}

static void leave(void *user) {
  way_cuda_leave(((state *)user)->cuda);
}

static bool relay_graphs(state *s, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  const way_relay relay = {.lines = s->cuda->line_count,
                           .launch = launch_line,
                           .wait = wait_line,
                           .results = results_of,
                           .enter = enter,
                           .leave = leave,
                           .user = s};
  return way_relay_run(&relay, s->team, count, feed, why);
}

static bool run_graphs(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  return run(user, count, feed, relay_graphs, why);
}

const job_way job_ways_cuda[] = {
    {"one job at a time", "a stream, which is waited for after each job", open_one, run_one, close_ways},
    {"one graph per job", "a CUDA graph, made beforehand, launched and waited for", open_one_graph, run_one,
     close_ways},
    {"graphs in flight",
     "a CUDA graph and a stream for each of `lines` jobs; a line's graph is waited for before it is launched again",
     open_graphs, run_graphs, close_ways},
    {"batches", "`lines` jobs on as many streams, then all streams are waited for", open_batches, run_batches,
     close_ways},
    {"queue of jobs", "workers take whole jobs, each on a stream of its own, `lines` jobs in flight at most",
     open_queue, run_queue, close_ways},
    {"queue of graphs", "as the queue of jobs, with a CUDA graph for each job", open_graph_queue, run_queue,
     close_ways},
};
const uint32_t job_ways_cuda_count = sizeof job_ways_cuda / sizeof job_ways_cuda[0];
