// SPDX-License-Identifier: Apache-2.0
#include "acs.h"

#include <stdlib.h>

#include "acs_model.h"

// ---------------------------------------------------------------------------------------------------------------
// The application

void weir__acs_submit(weir__acs *acs, uint64_t now_ps) {
  acs->resume_ps = WEIR__ACS_NEVER;
  while (acs->available < acs->task_count) {
    uint32_t task = acs->available++;
    acs->result->records[task].submit_ps = now_ps;
    if (acs->tasks[task].wait != WEIR__ACS_GO_ON) return;
  }
}

void weir__acs_learn(weir__acs *acs, uint32_t task, uint64_t seen_ps) {
  acs->learned++;
  uint32_t last = acs->available - 1;
  bool all = acs->tasks[last].wait == WEIR__ACS_WAIT_ALL;
  if (all ? acs->learned == acs->available : task == last) acs->resume_ps = seen_ps;
}

bool weir__acs_resume(weir__acs *acs) {
  uint64_t now_ps = acs->resume_ps;
  acs->result->records[acs->available - 1].resume_ps = now_ps;
  acs->result->end_ps = now_ps;
  bool more = acs->available < acs->task_count;
  weir__acs_submit(acs, now_ps);
  return more;
}

// ---------------------------------------------------------------------------------------------------------------
// The window

bool weir__acs_has_room(weir__acs *acs, uint32_t task) {
  if (acs->window_count < acs->settings->window) return true;
  if (acs->full_for != task + 1) acs->result->window_waits++;
  acs->full_for = task + 1;
  return false;
}

static bool writes(const weir__acs_range *range) {
  return range->mode != WEIR_READ;
}

static weir__hazard hazard_of(const weir__acs_range *before, const weir__acs_range *after) {
  if (!writes(before)) return WEIR__HAZARD_WAR;
  return after->mode == WEIR_WRITE ? WEIR__HAZARD_WAW : WEIR__HAZARD_RAW;
}

// The first pair of ranges that conflict, if there is one.
static bool conflict(const weir__acs_task *before, const weir__acs_task *after, weir__acs_upstream *out_upstream) {
  for (uint32_t i = 0; i < after->range_count; i++) {
    for (uint32_t j = 0; j < before->range_count; j++) {
      const weir__acs_range *late = &after->ranges[i], *early = &before->ranges[j];
      if (!writes(late) && !writes(early)) continue;
      if (late->lo >= early->hi || early->lo >= late->hi) continue;
      out_upstream->hazard = hazard_of(early, late);
      out_upstream->lo = late->lo > early->lo ? late->lo : early->lo;
      out_upstream->hi = late->hi < early->hi ? late->hi : early->hi;
      return true;
    }
  }
  return false;
}

static bool add_upstream(weir__acs_result *result, const weir__acs_upstream *upstream) {
  if (result->upstream_count == result->upstream_capacity) {
    uint64_t capacity = result->upstream_capacity ? 2 * result->upstream_capacity : 256;
    weir__acs_upstream *grown = realloc(result->upstreams, capacity * sizeof *grown);
    if (!grown) return false;
    result->upstreams = grown;
    result->upstream_capacity = capacity;
  }
  result->upstreams[result->upstream_count++] = *upstream;
  return true;
}

void weir__acs_insert(weir__acs *acs, uint32_t task, uint64_t now_ps) {
  weir__acs_record *record = &acs->result->records[task];
  record->first_upstream = acs->result->upstream_count;
  for (uint32_t i = 0; i < acs->window_count; i++) {
    weir__acs_upstream upstream = {.task = acs->window[i]};
    if (!conflict(&acs->tasks[upstream.task], &acs->tasks[task], &upstream)) continue;
    if (!add_upstream(acs->result, &upstream)) {
      acs->failed = true;
      return;
    }
    record->upstream_count++;
  }
  acs->progress[task].upstream_left = record->upstream_count;
  record->ready_ps = now_ps;
  acs->window[acs->window_count++] = task;
}

static bool waits_for(const weir__acs *acs, uint32_t task, uint32_t upstream) {
  const weir__acs_record *record = &acs->result->records[task];
  const weir__acs_upstream *upstreams = acs->result->upstreams + record->first_upstream;
  for (uint32_t i = 0; i < record->upstream_count; i++) {
    if (upstreams[i].task == upstream) return true;
  }
  return false;
}

void weir__acs_remove(weir__acs *acs, uint32_t task, uint64_t now_ps) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < acs->window_count; i++) {
    uint32_t other = acs->window[i];
    if (other == task) continue;
    acs->window[kept++] = other;
    if (acs->progress[other].upstream_left == 0 || !waits_for(acs, other, task)) continue;
    if (--acs->progress[other].upstream_left > 0) continue;
    acs->progress[other].became_ready = true;
    acs->result->records[other].ready_ps = now_ps;
  }
  acs->window_count = kept;
}

// ---------------------------------------------------------------------------------------------------------------
// The device

weir__sim_op *weir__acs_launch(weir__acs *acs, uint32_t task, uint32_t launch, uint64_t arrival_ps, uint32_t queue,
                               weir__sim_op *wait) {
  weir__sim_wait before = {.op = wait, .link = WEIR__SIM_LINK_GRAPH};
  weir__sim_op *op = weir__sim_engine_add(acs->engine, &(weir__sim_request){.cost = &acs->tasks[task].launches[launch],
                                                                            .queue = queue,
                                                                            .waits = &before,
                                                                            .wait_count = wait ? 1 : 0,
                                                                            .arrival_ps = arrival_ps,
                                                                            .user = &acs->progress[task]});
  if (!op) acs->failed = true;
  return op;
}

bool weir__acs_take(weir__acs *acs, uint32_t *out_task) {
  for (weir__sim_op *op; (op = weir__sim_engine_take(acs->engine)) != NULL;) {
    weir__acs_progress *progress = weir__sim_op_user(op);
    weir__acs_record *record = &acs->result->records[progress->task];
    if (progress->launches_ended++ == 0) record->start_ps = weir__sim_op_start_ps(op);
    record->end_ps = weir__sim_op_end_ps(op);
    weir__sim_engine_free_op(acs->engine, op);
    if (progress->launches_ended < acs->tasks[progress->task].launch_count) continue;
    *out_task = progress->task;
    return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------------------------
// The whole

static bool open_model(weir__acs *acs) {
  const weir__acs_settings *settings = acs->settings;
  // No more tasks than there are can be in the window.
  uint32_t most = settings->window < acs->task_count ? settings->window : acs->task_count;
  acs->engine = weir__sim_engine_create(acs->profile, settings->hardware ? 0 : settings->streams);
  acs->progress = calloc(acs->task_count, sizeof *acs->progress);
  acs->window = calloc(most, sizeof *acs->window);
  acs->result->records = calloc(acs->task_count, sizeof *acs->result->records);
  if (!acs->engine || !acs->progress || !acs->window || !acs->result->records) return false;
  for (uint32_t t = 0; t < acs->task_count; t++) acs->progress[t].task = t;
  return true;
}

static void close_model(weir__acs *acs) {
  weir__sim_engine_destroy(acs->engine);
  free(acs->progress);
  free(acs->window);
}

weir_status weir__acs_run(const weir__sim_profile *profile, const weir__acs_settings *settings,
                          const weir__acs_task *tasks, uint32_t task_count, weir__acs_result *out_result) {
  *out_result = (weir__acs_result){0};
  if (task_count == 0) return WEIR_OK;
  weir__acs acs = {
      .profile = profile, .settings = settings, .tasks = tasks, .task_count = task_count, .result = out_result};
  acs.failed = !open_model(&acs);
  if (!acs.failed) {
    weir__acs_submit(&acs, 0);
    if (settings->hardware)
      weir__acs_run_hardware(&acs);
    else
      weir__acs_run_software(&acs);
  }
  close_model(&acs);
  if (!acs.failed) return WEIR_OK;
  weir__acs_result_free(out_result);
  return WEIR_ERROR_OUT_OF_MEMORY;
}

void weir__acs_result_free(weir__acs_result *result) {
  free(result->records);
  free(result->upstreams);
  *result = (weir__acs_result){0};
}
