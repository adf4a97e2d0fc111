// SPDX-License-Identifier: Apache-2.0
//
// Baselines on the CPU, by threads that live from open to close. What keeps them apart is what they divide among the threads: the
// work-groups of a kernel, the kernels of a job, or the jobs.
#include <stdlib.h>

#include "way_cpu_job.h"
#include "way_order.h"
#include "way_steps.h"
#include "way_team.h"
#include "ways.h"

enum { PARTS_PER_WORKER = 4 };

typedef struct state {
  way_cpu_job job;
  way_team *team;
  way_order order;
  _Atomic uint32_t *taken; // parts of each step, or jobs of a batch in the first
  void *const **inputs;    // per line
  uint32_t batch;          // jobs of this batch
  uint64_t count;          // of this run
  const job_feed *feed;    //
  struct graph *graph;     // of the static graph; else NULL
} state;

// ---------------------------------------------------------------------------------------------------------------
// One job at a time: a barrier after each step.

static void run_steps(state *s) {
  const uint32_t workers = way_team_workers(s->team);
  for (uint32_t step = 0; step < s->job.shape->step_count; step++) {
    uint32_t parts = way_cpu_step_parts(&s->job, step, workers > 1 ? workers * PARTS_PER_WORKER : 1), part;
    while ((part = atomic_fetch_add(&s->taken[step], 1)) < parts)
      way_cpu_run_part(&s->job, 0, step, part, parts, s->inputs[0]);
    way_team_barrier(s->team);
  }
}

static void one_at_a_time(void *user, uint32_t worker) {
  state *s = user;
  for (uint64_t token = 0; token < s->count; token++) {
    if (worker == 0) {
      for (uint32_t i = 0; i < s->job.shape->step_count; i++) atomic_store(&s->taken[i], 0);
      s->inputs[0] = s->feed->next(s->feed->user, token);
    }
    way_team_barrier(s->team);
    run_steps(s);
    if (worker == 0) s->feed->done(s->feed->user, token, s->job.lines[0].results);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Static graph: steps are divided into parts; a part is ready when all parts of all steps before it are through. Parts stand in a
// list in the order in which they became ready, and worker after worker takes the next place of it, filled or not yet.

typedef struct graph {
  way_steps steps;
  uint32_t total;                   // parts of all steps
  uint32_t *first, *step_of;        // per step: its first part; per part
  _Atomic uint32_t *missing, *left; // per step: steps before it, and its own parts, that are not through
  way_gate *places;                 // part + 1; 0: not filled
  _Atomic uint32_t filled, taken;
} graph;

static void graph_free(graph *g) {
  if (!g) return;
  way_steps_free(&g->steps);
  free(g->first);
  free(g->step_of);
  free(g->missing);
  free(g->left);
  free(g->places);
  free(g);
}

static graph *graph_make(const way_cpu_job *job, uint32_t workers) {
  uint32_t count = job->shape->step_count;
  graph *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  bool made = way_steps_make(job->shape, &g->steps);
  g->first = calloc((size_t)count + 1, sizeof *g->first);
  g->step_of = calloc((size_t)count * workers + 1, sizeof *g->step_of);
  g->missing = calloc((size_t)count + 1, sizeof *g->missing);
  g->left = calloc((size_t)count + 1, sizeof *g->left);
  g->places = calloc((size_t)count * workers + 1, sizeof *g->places);
  if (!made || !g->first || !g->step_of || !g->missing || !g->left || !g->places) {
    graph_free(g);
    return NULL;
  }
  for (uint32_t s = 0; s < count; s++) {
    uint32_t parts = way_cpu_step_parts(job, s, workers);
    g->first[s + 1] = g->first[s] + parts;
    for (uint32_t i = 0; i < parts; i++) g->step_of[g->first[s] + i] = s;
  }
  g->total = g->first[count];
  return g;
}

static void graph_ready(graph *g, uint32_t step) {
  uint32_t parts = g->first[step + 1] - g->first[step];
  uint32_t place = atomic_fetch_add(&g->filled, parts);
  for (uint32_t i = 0; i < parts; i++) way_gate_set(&g->places[place + i], g->first[step] + i + 1);
}

static void graph_begin(graph *g) {
  uint32_t count = g->steps.count;
  atomic_store(&g->filled, 0);
  atomic_store(&g->taken, 0);
  for (uint32_t i = 0; i < g->total; i++) atomic_store(&g->places[i].value, 0);
  for (uint32_t s = 0; s < count; s++) {
    atomic_store(&g->missing[s], g->steps.first_before[s + 1] - g->steps.first_before[s]);
    atomic_store(&g->left[s], g->first[s + 1] - g->first[s]);
  }
  for (uint32_t s = 0; s < count; s++)
    if (g->steps.first_before[s + 1] == g->steps.first_before[s]) graph_ready(g, s);
}

static void graph_work(state *s) {
  graph *g = s->graph;
  for (uint32_t place; (place = atomic_fetch_add(&g->taken, 1)) < g->total;) {
    way_gate_wait(&g->places[place], 0);
    uint32_t part = way_gate_value(&g->places[place]) - 1, step = g->step_of[part];
    way_cpu_run_part(&s->job, 0, step, part - g->first[step], g->first[step + 1] - g->first[step], s->inputs[0]);
    if (atomic_fetch_sub(&g->left[step], 1) > 1) continue;
    for (uint32_t i = g->steps.first_after[step]; i < g->steps.first_after[step + 1]; i++)
      if (atomic_fetch_sub(&g->missing[g->steps.after[i]], 1) == 1) graph_ready(g, g->steps.after[i]);
  }
}

static void one_graph_at_a_time(void *user, uint32_t worker) {
  state *s = user;
  for (uint64_t token = 0; token < s->count; token++) {
    if (worker == 0) {
      s->inputs[0] = s->feed->next(s->feed->user, token);
      graph_begin(s->graph);
    }
    way_team_barrier(s->team);
    graph_work(s);
    way_team_barrier(s->team);
    if (worker == 0) s->feed->done(s->feed->user, token, s->job.lines[0].results);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Batches: each worker takes whole jobs of the batch.

static void in_batches(void *user, uint32_t worker) {
  state *s = user;
  for (uint64_t first = 0; first < s->count; first += s->job.line_count) {
    if (worker == 0) {
      uint64_t left = s->count - first;
      s->batch = left < s->job.line_count ? (uint32_t)left : s->job.line_count;
      atomic_store(&s->taken[0], 0);
      for (uint32_t i = 0; i < s->batch; i++) s->inputs[i] = s->feed->next(s->feed->user, first + i);
    }
    way_team_barrier(s->team);
    for (uint32_t job; (job = atomic_fetch_add(&s->taken[0], 1)) < s->batch;) way_cpu_run(&s->job, job, s->inputs[job]);
    way_team_barrier(s->team);
    for (uint32_t i = 0; worker == 0 && i < s->batch; i++)
      s->feed->done(s->feed->user, first + i, s->job.lines[i].results);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Queue of jobs.

static void from_queue(void *user, uint32_t worker) {
  (void)worker;
  state *s = user;
  uint64_t token;
  void *const *inputs;
  while (way_order_take(&s->order, &token, &inputs)) {
    uint32_t line = (uint32_t)(token % s->job.line_count);
    way_cpu_run(&s->job, line, inputs);
    way_order_finish(&s->order, token, s->job.lines[line].results);
  }
}

// ---------------------------------------------------------------------------------------------------------------

static void close_ways(void *user) {
  state *s = user;
  way_team_destroy(s->team);
  graph_free(s->graph);
  way_order_free(&s->order);
  way_cpu_job_free(&s->job);
  free(s->taken);
  free(s->inputs);
  free(s);
}

static state *open_lines(const job_shape *shape, const job_options *options, uint32_t lines, char why[JOB_WHY]) {
  job_options own = *options;
  own.lines = lines > 0 ? lines : 1;
  state *s = calloc(1, sizeof *s);
  if (!s) {
    way_refuse(why, "no memory");
    return NULL;
  }
  if (way_cpu_job_make(shape, &own, &s->job, why)) {
    s->team = way_team_create(options->workers);
    s->taken = calloc((size_t)shape->step_count + 1, sizeof *s->taken);
    s->inputs = calloc(own.lines, sizeof *s->inputs);
    if (s->team && s->taken && s->inputs && way_order_make(&s->order, own.lines)) return s;
    way_refuse(why, "no memory, or no threads, for %u workers", options->workers);
  }
  close_ways(s);
  return NULL;
}

static void *open_one(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_lines(shape, options, 1, why);
}

static void *open_graph(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  state *s = open_lines(shape, options, 1, why);
  if (!s) return NULL;
  s->graph = graph_make(&s->job, way_team_workers(s->team));
  if (s->graph) return s;
  way_refuse(why, "no memory for the graph");
  close_ways(s);
  return NULL;
}

static void *open_many(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_lines(shape, options, options->lines, why);
}

static bool run(state *s, uint64_t count, const job_feed *feed, void (*work)(void *user, uint32_t worker)) {
  s->count = count;
  s->feed = feed;
  way_order_begin(&s->order, count, feed);
  way_team_run(s->team, work, s);
  return true;
}

static bool run_one(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  (void)why;
  return run(user, count, feed, one_at_a_time);
}

static bool run_graph(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  (void)why;
  return run(user, count, feed, one_graph_at_a_time);
}

static bool run_batches(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  (void)why;
  return run(user, count, feed, in_batches);
}

static bool run_queue(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  (void)why;
  return run(user, count, feed, from_queue);
}

const job_way job_ways_cpu[] = {
    {"one job at a time", "each kernel's work-groups divided over all workers, a barrier after each kernel", open_one,
     run_one, close_ways},
    {"static graph per job",
     "the job's graph found beforehand and run by workers with counters, as Taskflow's static graphs; kernels divided "
     "over workers",
     open_graph, run_graph, close_ways},
    {"batches", "each worker runs whole jobs, `lines` jobs a batch, a barrier after each batch", open_many, run_batches,
     close_ways},
    {"queue of jobs", "workers take whole jobs from one queue, `lines` jobs in flight at most", open_many, run_queue,
     close_ways},
};
const uint32_t job_ways_cpu_count = sizeof job_ways_cpu / sizeof job_ways_cpu[0];
