// SPDX-License-Identifier: Apache-2.0
#include "modes.h"

#include "clock.h"

const layer_mode layer_modes[LAYER_MODES] = {
    {"serial", "one task after another, in one queue", WEIR_ISSUE_QUEUES, WEIR_CONTEXT_IN_ORDER, false},
    {"queues", "queues and events", WEIR_ISSUE_QUEUES, 0, false},
    {"auto", "queues and graphs, as the library chooses", WEIR_ISSUE_AUTO, 0, false},
    {"graph", "one graph of all tasks, made beforehand; only its second launch counts", WEIR_ISSUE_QUEUES, 0, true},
    {"resident", "a kernel that stays on the card and is fed task by task", WEIR_ISSUE_RESIDENT, 0, false},
};

static weir_status launch(layer_tasks *tasks, weir_graph *recorded, const layer_graph *graph, layer_times *out_times) {
  weir_status status = layer_tasks_clear(tasks);
  double start = weir__bench_seconds();
  if (status == WEIR_OK)
    status = recorded != NULL ? weir_graph_launch(recorded, NULL) : layer_tasks_submit(tasks, graph, NULL);
  out_times->submit = weir__bench_seconds() - start;
  if (status == WEIR_OK) status = weir_finish(tasks->context);
  out_times->total = weir__bench_seconds() - start;
  return status;
}

weir_status layer_mode_run(const layer_mode *mode, layer_tasks *tasks, const layer_graph *graph, layer_times *out_times,
                           uint32_t *out_wrong) {
  *out_times = (layer_times){0};
  *out_wrong = 0;
  weir_graph *recorded = NULL;
  weir_status status = WEIR_OK;
  if (mode->recorded) {
    double start = weir__bench_seconds();
    status = weir_graph_create(tasks->context, NULL, &recorded);
    if (status == WEIR_OK) status = layer_tasks_submit(tasks, graph, recorded);
    if (status == WEIR_OK) status = launch(tasks, recorded, graph, out_times);
    out_times->build = weir__bench_seconds() - start;
  }
  double build = out_times->build;
  if (status == WEIR_OK) status = launch(tasks, recorded, graph, out_times);
  out_times->build = build;
  if (recorded != NULL) weir_graph_release(recorded);
  return status == WEIR_OK ? layer_tasks_check(tasks, graph, out_wrong) : status;
}

weir_status layer_mode_wait(layer_tasks *tasks, const layer_graph *graph, uint32_t times, double *out_seconds) {
  layer_graph one = *graph;
  one.tasks = 1;
  double sum = 0;
  weir_status status = layer_tasks_clear(tasks);
  for (uint32_t i = 0; i < times && status == WEIR_OK; i++) {
    double start = weir__bench_seconds();
    status = layer_tasks_submit(tasks, &one, NULL);
    if (status == WEIR_OK) status = weir_finish(tasks->context);
    sum += weir__bench_seconds() - start;
  }
  *out_seconds = sum / times;
  return status;
}
