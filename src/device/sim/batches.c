// SPDX-License-Identifier: Apache-2.0
//
// What the recurrence asks of a simulated device.
#include "base/allocate.h"
#include "base/error.h"
#include "device/sim/batch.h"

enum { MOST_REQUESTED = 64 };

static const weir__sim_profile *profile_of(const weir__sim_device *device) {
  return weir__sim_engine_profile(device->engine);
}

static void launch_task(void *user, weir__task *task) {
  weir__sim_launch_task(weir__sim_of(user), task);
}

static bool prepare(void *user, const weir__batch *batch) {
  weir__sim_of(user)->batches->prepared = batch;
  return true;
}

static weir__graph_likeness compare(void *user, const weir__cached_graph *graph) {
  return weir__sim_graph_compare((const weir__sim_graph *)graph, weir__sim_of(user)->batches->prepared);
}

static bool set(void *user, weir__cached_graph *graph) {
  weir__sim_device *device = weir__sim_of(user);
  const weir__sim_profile *profile = profile_of(device);
  uint32_t functions, parameters;
  if (!weir__sim_graph_set((weir__sim_graph *)graph, device->batches->prepared, &functions, &parameters)) return false;
  weir__sim_engine_host_spend(device->engine,
                              functions * profile->graph_set_function + parameters * profile->graph_set_parameters);
  return true;
}

static uint64_t build_ps(const weir__sim_device *device, const weir__batch *batch) {
  const weir__sim_profile *profile = profile_of(device);
  return batch->launches * (profile->graph_build_node + profile->graph_instantiate_node);
}

static weir__cached_graph *make(void *user) {
  weir__sim_device *device = weir__sim_of(user);
  const weir__batch *batch = device->batches->prepared;
  weir__sim_graph *graph = weir__sim_graph_create(batch);
  if (graph == NULL) return NULL;
  weir__sim_engine_host_spend(device->engine, build_ps(device, batch));
  return &graph->head;
}

static void destroy(void *user, weir__cached_graph *graph) {
  (void)user;
  weir__sim_graph_destroy((weir__sim_graph *)graph);
}

// Has a graph made, unless one is being made that need not be set otherwise but for its parameters.
static void request_graph(void *user, const weir__batch *batch) {
  weir__sim_device *device = weir__sim_of(user);
  weir__sim_batches *batches = device->batches;
  if (batches->requested_count == MOST_REQUESTED) return;
  weir__sim_graph **link = &batches->requested;
  for (; *link != NULL; link = &(*link)->next) {
    weir__graph_likeness likeness = weir__sim_graph_compare(*link, batch);
    if (likeness == WEIR__SAME_GRAPH || likeness == WEIR__SAME_SHAPE) return;
  }
  weir__sim_graph *graph = weir__sim_graph_create(batch);
  if (graph == NULL) return;
  uint64_t now_ps = weir__sim_engine_host_ps(device->engine);
  if (batches->maker_free_ps < now_ps) batches->maker_free_ps = now_ps;
  batches->maker_free_ps += build_ps(device, batch);
  graph->ready_ps = batches->maker_free_ps;
  graph->head.topology = batch->topology;
  *link = graph;
  batches->requested_count++;
}

// Installs the graphs that are made by now.
static void install(weir__sim_device *device) {
  weir__sim_batches *batches = device->batches;
  uint64_t now_ps = weir__sim_engine_host_ps(device->engine);
  while (batches->requested != NULL && batches->requested->ready_ps <= now_ps) {
    weir__sim_graph *graph = batches->requested;
    batches->requested = graph->next;
    batches->requested_count--;
    weir__graph_cache_add(weir__recurrence_graphs(batches->recurrence), &graph->head, graph->head.topology);
  }
}

#define GRAPH_OPS                                                                                                      \
  { .compare = compare, .set = set, .make = make, .destroy = destroy }

static const weir__recurrence_ops at_once = {
    .graphs = GRAPH_OPS, .launch_task = launch_task, .prepare = prepare, .launch_batch = weir__sim_batch_launch};

static const weir__recurrence_ops on_the_side = {.graphs = GRAPH_OPS,
                                                 .launch_task = launch_task,
                                                 .prepare = prepare,
                                                 .launch_batch = weir__sim_batch_launch,
                                                 .request_graph = request_graph};

weir_status weir__sim_batches_create(weir__sim_device *device) {
  weir__host *host = device->base.host;
  bool always = host->issue == WEIR_ISSUE_GRAPHS;
  bool chooses = host->issue == WEIR_ISSUE_AUTO && profile_of(device)->auto_graphs != 0;
  if ((!always && !chooses) || (host->flags & WEIR_CONTEXT_IN_ORDER)) return WEIR_OK;
  weir__recurrence_options options = {.window = host->window.size, .seed = host->seed, .always = always};
  device->batches = weir__allocate_zeroed(sizeof *device->batches);
  if (device->batches != NULL)
    device->batches->recurrence =
        weir__recurrence_create(always ? &at_once : &on_the_side, &device->base, host, &options);
  return device->batches != NULL && device->batches->recurrence != NULL
             ? WEIR_OK
             : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device sim: no memory for graphs");
}

void weir__sim_batches_destroy(weir__sim_device *device) {
  weir__sim_batches *batches = device->batches;
  if (batches == NULL) return;
  weir__recurrence_destroy(batches->recurrence);
  while (batches->requested != NULL) {
    weir__sim_graph *graph = batches->requested;
    batches->requested = graph->next;
    weir__sim_graph_destroy(graph);
  }
  while (batches->free_batches != NULL) {
    weir__sim_batch *batch = batches->free_batches;
    batches->free_batches = batch->next_free;
    weir__free(batch);
  }
  weir__free(batches);
}

void weir__sim_batches_take(weir__sim_device *device, weir__task *task) {
  weir__recurrence *recurrence = device->batches->recurrence;
  install(device);
  if (task->kind == WEIR__TASK_KERNEL)
    weir__recurrence_add(recurrence, task, task->kernel->code_change, weir__sim_code_of(task->kernel)->count);
  else
    weir__recurrence_pass(recurrence, task);
}

bool weir__sim_batches_stall(const weir__sim_device *device) {
  return device->batches != NULL && weir__recurrence_stalled(device->batches->recurrence) > 0;
}

void weir__sim_flush(weir_device *base) {
  weir__sim_device *device = weir__sim_of(base);
  if (device->batches == NULL) return;
  install(device);
  weir__recurrence_flush(device->batches->recurrence);
}
