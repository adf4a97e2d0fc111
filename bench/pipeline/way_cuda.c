// SPDX-License-Identifier: Apache-2.0
//
// Baselines on CUDA devices: a CUDA graph for each job, one at a time, and whole jobs in host threads.
#include <stdlib.h>

#include "way_cuda_lines.h"
#include "way_queue.h"
#include "ways.h"

typedef struct state {
  way_cuda *cuda;
  CUstream *streams;
  uint32_t stream_count;
  way_queue *queue; // NULL: the caller's thread alone
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

static void close_way(void *user) {
  state *s = user;
  if (s->cuda) destroy_streams(s);
  way_queue_destroy(s->queue);
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

// `workers` 0: no queue.
static state *open_way(const job_shape *shape, const char *device, uint32_t lines, uint32_t workers,
                       char why[JOB_WHY]) {
  state *s = calloc(1, sizeof *s);
  if (!s) {
    way_refuse(why, "no memory");
    return NULL;
  }
  s->cuda = way_cuda_create(shape, device, lines, why);
  bool made = s->cuda && make_streams(s, workers > 0 ? workers : 1, why);
  if (made && workers > 0) {
    s->queue = way_queue_create(workers, s->cuda->line_count);
    made = s->queue || way_refuse(why, "no memory, or no threads, for %u workers", workers);
  }
  if (made) return s;
  close_way(s);
  return NULL;
}

// A job as its line's graph, until its results are there.
static bool run_job(void *user, uint32_t stream, uint32_t line, void *const *inputs, void *const **out_results,
                    char why[JOB_WHY]) {
  state *s = user;
  *out_results = s->cuda->lines[line].results;
  return way_cuda_graph_launch(s->cuda, line, s->streams[stream], inputs, why) &&
         way_cuda_good(s->cuda, s->cuda->driver->cuStreamSynchronize(s->streams[stream]), "cuStreamSynchronize", why);
}

// ---------------------------------------------------------------------------------------------------------------
// One at a time

static void *open_one(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_way(shape, options->device, 1, 0, why);
}

static bool run_each(state *s, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  void *const *results;
  for (uint64_t token = 0; token < count; token++) {
    void *const *inputs = feed->next(feed->user, token);
    if (!run_job(s, 0, 0, inputs, &results, why)) return false;
    feed->done(feed->user, token, results);
  }
  return true;
}

static bool run_one(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  state *s = user;
  if (!way_cuda_enter(s->cuda, why)) return false;
  way_cuda_begin(s->cuda);
  bool good = run_each(s, count, feed, why);
  if (!good) drain(s);
  way_cuda_leave(s->cuda);
  return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Whole jobs in threads, each with a stream

static void *open_queue(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_way(shape, options->device, options->lines, options->workers > 0 ? options->workers : 1, why);
}

static bool enter(void *user, char why[JOB_WHY]) {
  return way_cuda_enter(((state *)user)->cuda, why);
}

static void leave(void *user) {
  way_cuda_leave(((state *)user)->cuda);
}

static bool run_queue(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  state *s = user;
  way_cuda_begin(s->cuda);
  const way_work work = {.enter = enter, .leave = leave, .run = run_job, .user = s};
  bool good = way_queue_run(s->queue, &work, count, feed, why);
  char ignored[JOB_WHY];
  if (!good && way_cuda_enter(s->cuda, ignored)) {
    drain(s);
    way_cuda_leave(s->cuda);
  }
  return good;
}

const job_way job_ways_cuda[] = {
    {"one graph per job", "a CUDA graph, made beforehand, launched and waited for", open_one, run_one, close_way},
    {"queue of graphs",
     "workers take whole jobs, each launches them on a stream of its own as graphs made beforehand, `lines` jobs in "
     "flight "
     "at most",
     open_queue, run_queue, close_way},
};
const uint32_t job_ways_cuda_count = sizeof job_ways_cuda / sizeof job_ways_cuda[0];
