// SPDX-License-Identifier: Apache-2.0
#include "issue/recurrence.h"

#include "base/allocate.h"
#include "base/clock.h"
#include "issue/wait_history.h"

enum {
  FEWEST_LAUNCHES = 4, // of a batch that is worth a graph
  WORTH_A_WAIT = 64,   // tasks of a batch for which the direct path is waited for
};

struct weir__recurrence {
  const weir__recurrence_ops *ops;
  void *device;
  weir__host *host;
  weir__graph_cache *graphs;
  bool always;
  bool mixes; // a seed, for tests, has tasks of one batch go different ways
  uint32_t worth_a_wait;
  weir__batch_history history;
  weir__wait_history waits;
  weir__collection collection;
  weir__batch_boundaries boundaries;
  weir__task *first[WEIR__MOST_COLLECTED], *again[WEIR__MOST_COLLECTED];
};

weir__recurrence *weir__recurrence_create(const weir__recurrence_ops *ops, void *device, weir__host *host,
                                          const weir__recurrence_options *options) {
  weir__recurrence *recurrence = weir__allocate_zeroed(sizeof *recurrence);
  if (recurrence == NULL) return NULL;
  recurrence->ops = ops;
  recurrence->device = device;
  recurrence->host = host;
  recurrence->always = options->always;
  recurrence->mixes = (options->seed >> 8 & 1) != 0;
  recurrence->worth_a_wait = options->seed == 0 ? WORTH_A_WAIT : FEWEST_LAUNCHES; // of any size in tests
  weir__batch_history_initialize(&recurrence->history, options->seed);
  weir__wait_history_initialize(&recurrence->waits, options->seed);
  weir__batch_boundaries_initialize(&recurrence->boundaries, options->window);
  recurrence->graphs = weir__graph_cache_create(&ops->graphs, device, options->exclusive);
  if (weir__collection_initialize(&recurrence->collection, options->window) && recurrence->graphs != NULL)
    return recurrence;
  weir__recurrence_destroy(recurrence);
  return NULL;
}

void weir__recurrence_destroy(weir__recurrence *recurrence) {
  if (recurrence == NULL) return;
  weir__graph_cache_destroy(recurrence->graphs);
  weir__collection_deinitialize(&recurrence->collection);
  weir__free(recurrence);
}

weir__graph_cache *weir__recurrence_graphs(weir__recurrence *recurrence) {
  return recurrence->graphs;
}

uint32_t weir__recurrence_stalled(const weir__recurrence *recurrence) {
  return recurrence->collection.count;
}

bool weir__recurrence_is_direct(const weir__recurrence *recurrence) {
  return weir__wait_history_is_direct(&recurrence->waits);
}

bool weir__recurrence_is_known(const weir__recurrence *recurrence) {
  return recurrence->boundaries.known;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

static uint64_t topology_of(const weir__collection *collection, uint32_t count) {
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++) {
    const weir__collected *task = &collection->tasks[i];
    const uint32_t *predecessors = collection->predecessors + task->first_predecessor;
    hash = mix(hash, (uint64_t)task->launches << 32 | task->predecessor_count);
    for (uint32_t j = 0; j < task->predecessor_count; j++) hash = mix(hash, i - predecessors[j]);
  }
  return hash;
}

// Finds a graph for the batch, with `only_same` one in which nothing has to be set. False: its tasks are better launched one by one.
static bool find_graph(weir__recurrence *recurrence, weir__batch *batch, bool only_same, weir__graph_found *out_found) {
  const weir__recurrence_ops *ops = recurrence->ops;
  batch->topology = topology_of(batch->collection, batch->count);
  batch->known = recurrence->boundaries.known;
  if (!ops->prepare(recurrence->device, batch)) return false;
  weir__batch_wish wish = ops->wish != NULL ? ops->wish(recurrence->device, batch) : WEIR__ANY_GRAPH;
  bool any = wish == WEIR__ANY_GRAPH;
  weir__graph_request request = {.topology = batch->topology,
                                 .known = batch->known,
                                 .make_now = any ? ops->request_graph == NULL : wish == WEIR__GRAPH_MADE_AT_ONCE,
                                 .only_same = any && only_same,
                                 .keeps_shape = !any};
  *out_found = weir__graph_cache_take(recurrence->graphs, &request);
  bool found = out_found->graph != NULL;
  weir__batch_history_note(&recurrence->history, batch->count,
                           found && (out_found->same || batch->count >= recurrence->worth_a_wait));
  if (any && out_found->wanted && ops->request_graph != NULL && (batch->known || !only_same))
    ops->request_graph(recurrence->device, batch);
  return found;
}

static const weir__direct_ops *ready_direct(const weir__recurrence *recurrence) {
  const weir__direct_ops *direct = recurrence->ops->direct;
  return direct != NULL && direct->is_ready(recurrence->device) ? direct : NULL;
}

// Whether the batch comes after something that the direct path has.
static bool comes_after_direct(const weir__recurrence *recurrence, const weir__batch *batch) {
  const weir__direct_ops *direct = ready_direct(recurrence);
  const weir__collected *last = &batch->collection->tasks[batch->count - 1];
  return direct != NULL &&
         direct->has_any(recurrence->device, batch->collection->outside, last->first_outside + last->outside_count);
}

// Whether some task of the batch is to be skipped. When it was collected that was not known: what it comes after was on the direct
// path, and not decided, or is another task that was collected, which is.
static bool has_skipped(const weir__recurrence *recurrence, const weir__batch *batch) {
  for (uint32_t i = 0; i < batch->count; i++)
    if (weir__host_skip_status(recurrence->host, batch->collection->tasks[i].task) != WEIR_OK) return true;
  return false;
}

// Launches the batch as one, if that can and should be. False: nothing was done. `direct`: its tasks may take the direct path, which is
// faster than a graph that is small or must be set.
static bool launch_whole(weir__recurrence *recurrence, weir__batch *batch, bool direct) {
  const weir__recurrence_ops *ops = recurrence->ops;
  if (has_skipped(recurrence, batch)) return false;
  bool behind = comes_after_direct(recurrence, batch), small = batch->count < recurrence->worth_a_wait;
  if (batch->count > 1 && batch->launches == 0 && !behind && ops->launch_batch(recurrence->device, batch, NULL, true))
    return true;
  bool enough = batch->launches >= FEWEST_LAUNCHES || recurrence->always;
  weir__graph_found found;
  if (batch->count == 1 || !enough || (behind && small) || !find_graph(recurrence, batch, direct && small, &found))
    return false;
  if (behind) ops->direct->drain(recurrence->device);
  bool good = !behind || !has_skipped(recurrence, batch);
  if (good && ops->launch_batch(recurrence->device, batch, found.graph, found.same)) return true;
  weir__graph_cache_give(recurrence->graphs, found.graph, false);
  return false;
}

static void launch_apart(weir__recurrence *recurrence, uint32_t count, bool direct) {
  const weir__recurrence_ops *ops = recurrence->ops;
  if (!direct && ops->direct != NULL) ops->direct->missed(recurrence->device, recurrence->first, count);
  weir__batch_history_note_apart(&recurrence->history, count);
  for (uint32_t i = 0; i < count; i++) {
    weir__task **task = &recurrence->first[i];
    bool takes = direct || (recurrence->mixes && ready_direct(recurrence) != NULL &&
                            ops->direct->wants(recurrence->device, task, 1));
    if (takes)
      ops->direct->take(recurrence->device, *task);
    else
      ops->launch_task(recurrence->device, *task);
  }
}

// Launches the first `count` tasks, and collects the others anew, for what they wait for is elsewhere now.
static void launch_first(weir__recurrence *recurrence, uint32_t count) {
  weir__collection *collection = &recurrence->collection;
  weir__batch batch = {.collection = collection, .count = count};
  uint32_t rest = collection->count - count, launches[WEIR__MOST_COLLECTED];
  for (uint32_t i = 0; i < rest; i++) {
    recurrence->again[i] = collection->tasks[count + i].task;
    launches[i] = collection->tasks[count + i].launches;
  }
  for (uint32_t i = 0; i < count; i++) {
    recurrence->first[i] = collection->tasks[i].task;
    batch.launches += collection->tasks[i].launches;
  }
  const weir__direct_ops *direct = ready_direct(recurrence);
  bool may = direct != NULL && !weir__batch_history_repeats(&recurrence->history) &&
             direct->wants(recurrence->device, recurrence->first, count);
  if (!launch_whole(recurrence, &batch, may))
    launch_apart(recurrence, count, may);
  else if (recurrence->ops->direct != NULL && direct == NULL && weir__wait_history_is_often(&recurrence->waits))
    recurrence->ops->direct->missed(recurrence->device, recurrence->first, count); // it may be faster than graphs are
  weir__collection_clear(collection);
  for (uint32_t i = 0; i < rest; i++) (void)weir__collection_append(collection, recurrence->again[i], launches[i]);
}

static void launch_all(weir__recurrence *recurrence) {
  uint32_t most = recurrence->boundaries.largest;
  while (recurrence->collection.count > 0) {
    uint32_t count = recurrence->collection.count;
    launch_first(recurrence, count > most ? most : count);
  }
}

void weir__recurrence_flush(weir__recurrence *recurrence) {
  weir__batch_boundaries_close(&recurrence->boundaries, recurrence->collection.count);
  launch_all(recurrence);
  weir__batch_boundaries_end(&recurrence->boundaries);
}

void weir__recurrence_note_wait(weir__recurrence *recurrence) {
  if (recurrence->ops->direct == NULL) return;
  weir__wait_history_note_wait(&recurrence->waits, ready_direct(recurrence) != NULL, weir__clock_ns());
}

void weir__recurrence_pass(weir__recurrence *recurrence, weir__task *task) {
  const weir__collection *collection = &recurrence->collection;
  bool waits = false;
  for (uint32_t i = 0; i < task->predecessor_count && !waits; i++)
    waits = weir__collection_index(collection, task->predecessors[i]) != UINT32_MAX;
  if (waits) {
    weir__batch_boundaries_taken(&recurrence->boundaries, collection->count);
    launch_all(recurrence);
  }
  recurrence->ops->launch_task(recurrence->device, task);
}

// A program that waits often may be faster when nothing is collected (wait_history.h). And one whose batches have been new for long
// need not have its tasks collected: beyond the first of each sequence, they take the direct path at once. Now and then all are
// collected for a while. Returns whether this one has gone.
static bool goes_direct(weir__recurrence *recurrence, weir__task *task) {
  const weir__direct_ops *direct = ready_direct(recurrence);
  if (direct == NULL) return false;
  if (weir__wait_history_is_direct(&recurrence->waits) && direct->wants(recurrence->device, &task, 1)) {
    launch_all(recurrence);
    direct->take(recurrence->device, task);
    return true;
  }
  if (!weir__batch_history_is_new(&recurrence->history, recurrence->boundaries.taken_count)) return false;
  if (!weir__batch_history_skip(&recurrence->history) || !direct->wants(recurrence->device, &task, 1)) {
    weir__batch_history_sample(&recurrence->history);
    launch_all(recurrence);
    weir__batch_boundaries_end(&recurrence->boundaries); // the next sequence begins with this task
    return false;
  }
  launch_all(recurrence);
  direct->take(recurrence->device, task);
  return true;
}

void weir__recurrence_add(weir__recurrence *recurrence, weir__task *task, uint64_t kind, uint32_t launches) {
  weir__collection *collection = &recurrence->collection;
  weir__wait_history_note_task(&recurrence->waits);
  if (weir__host_skip_status(recurrence->host, task) != WEIR_OK) { // it launches nothing
    weir__recurrence_pass(recurrence, task);
    return;
  }
  if (goes_direct(recurrence, task)) return;
  weir__batch_boundaries_note(&recurrence->boundaries, task, kind);
  if (!weir__collection_append(collection, task, launches)) {
    launch_all(recurrence);
    recurrence->ops->launch_task(recurrence->device, task);
    return;
  }
  bool ends;
  uint32_t count = weir__batch_boundaries_find(&recurrence->boundaries, collection, &ends);
  if (count == 0) return;
  launch_first(recurrence, count);
  if (!ends) weir__batch_boundaries_taken(&recurrence->boundaries, count);
}
