// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pieces.h"

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/pieces_inside.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/resident/resident.h"

enum {
  FEWEST_LAUNCHES = 4, // of a piece that is worth a graph
  WORTH_A_WAIT = 64,
  IDLE_NS = 50000,
};

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

weir_status weir__cuda_pieces_create(weir__cuda_device *device) {
  const weir__host *host = device->base.host;
  bool one_by_one = host->issue == WEIR_ISSUE_QUEUES || host->issue == WEIR_ISSUE_RESIDENT;
  if (one_by_one || (host->flags & WEIR_CONTEXT_IN_ORDER)) return WEIR_OK;
  weir__cuda_pieces *pieces = weir__allocate_zeroed(sizeof *pieces);
  bool collects = false;
  device->pieces = pieces;
  if (pieces != NULL) {
    pieces->device = device;
    pieces->worth_a_wait = host->seed == 0 ? WORTH_A_WAIT : FEWEST_LAUNCHES; // of any size in tests
    weir__cuda_past_initialize(&pieces->past, host->seed);
    pieces->always = host->issue == WEIR_ISSUE_GRAPHS;
    pieces->cache = weir__cuda_cache_create(device);
    collects = weir__cuda_collection_initialize(&pieces->collection, host->window.size);
    weir__cuda_cuts_initialize(&pieces->cuts, host->window.size);
  }
  // Where launching goes on in other threads there is a core for this, too.
  bool builds = device->launcher_count > 0 && host->issue == WEIR_ISSUE_AUTO && host->trace == NULL;
  if (pieces != NULL && builds) pieces->builder = weir__cuda_builder_create(device);
  if (pieces == NULL || pieces->cache == NULL || !collects || (builds && pieces->builder == NULL))
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for graphs");
  return WEIR_OK;
}

void weir__cuda_pieces_destroy(weir__cuda_pieces *pieces) {
  if (pieces == NULL) return;
  weir__cuda_builder_destroy(pieces->builder);
  weir__cuda_cache_destroy(pieces->cache);
  weir__cuda_free_pieces(pieces);
  weir__cuda_collection_deinitialize(&pieces->collection);
  weir__free(pieces->parameters);
  weir__free(pieces);
}

uint32_t weir__cuda_held_back(const weir__cuda_device *device) {
  return device->pieces->collection.count;
}

static bool reserve_parameters(weir__cuda_pieces *pieces, uint32_t wanted) {
  if (wanted <= pieces->parameter_capacity) return true;
  void **larger = weir__allocate(2 * (size_t)wanted * sizeof(void *));
  if (larger == NULL) return false;
  weir__free(pieces->parameters);
  pieces->parameters = larger;
  pieces->parameter_capacity = 2 * wanted;
  return true;
}

// Makes steps of the first `count` tasks. Returns false without memory.
static bool make_steps(weir__cuda_pieces *pieces, uint32_t count, uint64_t *out_hash) {
  uint32_t total = 0, at = 0;
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++) total += pieces->collection.tasks[i].task->arg_count;
  if (!reserve_parameters(pieces, total + 1)) return false;
  for (uint32_t i = 0; i < count; i++) {
    const weir__cuda_collected *from = &pieces->collection.tasks[i];
    const weir__task *task = from->task;
    const uint32_t *predecessors = pieces->collection.predecessors + from->first_predecessor;
    pieces->steps[i] = (weir__cuda_step){.kernel = from->code,
                                         .groups = task->groups,
                                         .parameters = pieces->parameters + at,
                                         .parameter_count = task->arg_count,
                                         .predecessors = predecessors,
                                         .predecessor_count = from->predecessor_count};
    for (uint32_t j = 0; j < task->arg_count; j++)
      pieces->parameters[at++] = weir__task_is_value(task, j) ? task->args[j] : (void *)&task->args[j];
    hash = mix(hash, (uint64_t)from->launches << 32 | from->predecessor_count);
    for (uint32_t j = 0; j < from->predecessor_count; j++) hash = mix(hash, i - predecessors[j]);
  }
  *out_hash = hash;
  return true;
}

// Finds an executable graph for the first `count` tasks, with `only_same` one in which nothing has to be set. False: they are better
// launched one by one.
static bool find_graph(weir__cuda_pieces *pieces, uint32_t count, bool only_same, weir__cuda_exec **out_exec,
                       bool *out_same) {
  uint64_t hash;
  bool wanted;
  *out_exec = NULL;
  if (!make_steps(pieces, count, &hash)) return false;
  CUresult result = CUDA_SUCCESS;
  if (only_same) {
    *out_exec = weir__cuda_cache_take_same(pieces->cache, pieces->steps, count, hash, &wanted);
    *out_same = true;
  } else {
    result = weir__cuda_cache_take(pieces->cache, pieces->steps, count, hash, pieces->cuts.known,
                                   pieces->builder == NULL, out_exec, &wanted, out_same);
  }
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(pieces->device, result);
  weir__cuda_past_note(&pieces->past, count, *out_exec != NULL && (*out_same || count >= pieces->worth_a_wait));
  if (wanted && pieces->builder != NULL && (pieces->cuts.known || !only_same))
    weir__cuda_builder_ask(pieces->builder, pieces->steps, count, hash, pieces->cuts.known);
  return *out_exec != NULL;
}

// Puts a task into a queue, or has it wait for the resident kernel where what it comes after is there, or, if it is a small copy, has
// it go there as well.
static void issue(weir__cuda_device *device, weir__task *task) {
  if (device->resident != NULL && weir__resident_is_busy(device)) {
    weir__resident_take(device, task, task->move != NULL);
    return;
  }
  if (device->resident != NULL) weir__resident_make_room(device->resident);
  weir__cuda_issue(device, task);
}

// Whether the first `count` tasks come after something that the resident kernel has, or that waits for it.
static bool comes_after_resident(const weir__cuda_pieces *pieces, uint32_t count) {
  const weir__cuda_device *device = pieces->device;
  const weir__cuda_collection *collection = &pieces->collection;
  if (device->resident == NULL || !weir__resident_is_busy(device)) return false;
  const weir__cuda_collected *last = &collection->tasks[count - 1];
  return weir__resident_has_any(device, collection->outside, last->first_outside + last->outside_count);
}

// Launches the first `count` tasks as one, if that can and should be. False: nothing was done. `resident`: they may go to the resident
// kernel, which is faster than a graph that is small or must be set.
static bool launch_whole(weir__cuda_pieces *pieces, uint32_t count, uint32_t launches, bool resident) {
  bool behind = comes_after_resident(pieces, count), small = count < pieces->worth_a_wait;
  if (count > 1 && launches == 0 && !behind && weir__cuda_launch_as_piece(pieces, count, NULL, true)) return true;
  bool worth_it = count > 1 && (launches >= FEWEST_LAUNCHES || pieces->always) && !(behind && small);
  weir__cuda_exec *exec;
  bool same;
  if (!worth_it || !find_graph(pieces, count, resident && small, &exec, &same)) return false;
  // No graph can wait for a task of the resident kernel.
  if (behind) weir__resident_drain(pieces->device);
  if (weir__cuda_launch_as_piece(pieces, count, exec, same)) return true;
  weir__cuda_cache_give(pieces->cache, exec, false);
  return false;
}

// A seed, for tests, has tasks of one piece go to different places.
static bool mixes(weir__cuda_device *device, weir__task *const *task) {
  return device->resident != NULL && device->base.host->seed >> 8 & 1 && weir__resident_wants(device, task, 1);
}

// Launches the first `count` tasks one by one.
static void launch_apart(weir__cuda_pieces *pieces, uint32_t count, bool resident) {
  weir__cuda_device *device = pieces->device;
  if (!resident && device->automatic != NULL) weir__resident_missed(device, pieces->first, count);
  weir__cuda_past_note_apart(&pieces->past, count);
  for (uint32_t i = 0; i < count; i++) {
    if (resident || mixes(device, &pieces->first[i]))
      weir__resident_take(device, pieces->first[i], true);
    else
      issue(device, pieces->first[i]);
  }
}

// Launches the first `count` tasks, and collects the others anew, for what they wait for is elsewhere now.
static void launch_first(weir__cuda_pieces *pieces, uint32_t count) {
  weir__cuda_collection *collection = &pieces->collection;
  uint32_t rest = collection->count - count, launches = 0;
  for (uint32_t i = 0; i < count; i++) launches += collection->tasks[i].launches;
  for (uint32_t i = 0; i < rest; i++) pieces->again[i] = collection->tasks[count + i].task;
  for (uint32_t i = 0; i < count; i++) pieces->first[i] = collection->tasks[i].task;
  bool resident = pieces->device->resident != NULL && !weir__cuda_past_repeats(&pieces->past) &&
                  weir__resident_wants(pieces->device, pieces->first, count);
  if (!launch_whole(pieces, count, launches, resident)) launch_apart(pieces, count, resident);
  weir__cuda_collection_clear(collection);
  for (uint32_t i = 0; i < rest; i++) (void)weir__cuda_collection_append(collection, pieces->again[i]);
}

static void launch_all(weir__cuda_pieces *pieces) {
  uint32_t most = pieces->cuts.largest;
  while (pieces->collection.count > 0)
    launch_first(pieces, pieces->collection.count > most ? most : pieces->collection.count);
}

static bool can_collect(weir__cuda_device *device, const weir__task *task) {
  return task->kernel != NULL && task->run == NULL && task->move == NULL && device->lost == WEIR_OK &&
         weir__host_skip_status(device->base.host, task) == WEIR_OK;
}

// A program whose pieces have been new for long need not have its tasks collected: beyond the first of each sequence, they go straight
// to the resident kernel. Now and then all are looked at for a while. Returns whether this one has gone.
static bool goes_straight(weir__cuda_pieces *pieces, weir__task *task) {
  weir__cuda_device *device = pieces->device;
  if (device->resident == NULL || !weir__cuda_past_is_new(&pieces->past, pieces->cuts.cut_count)) return false;
  if (!weir__cuda_past_skip(&pieces->past) || !weir__resident_wants(device, &task, 1)) {
    weir__cuda_past_look(&pieces->past);
    launch_all(pieces);
    weir__cuda_cuts_end(&pieces->cuts); // the next sequence begins with this task
    return false;
  }
  launch_all(pieces);
  weir__resident_take(device, task, true);
  return true;
}

void weir__cuda_collect(weir__cuda_device *device, weir__task *task) {
  weir__cuda_pieces *pieces = device->pieces;
  weir__cuda_collection *collection = &pieces->collection;
  pieces->last_collected_ns = 0;
  if (!can_collect(device, task)) {
    bool waits = false;
    for (uint32_t i = 0; i < task->predecessor_count && !waits; i++)
      waits = weir__cuda_collection_index(collection, task->predecessors[i]) != UINT32_MAX;
    if (waits) {
      weir__cuda_cuts_done(&pieces->cuts, collection->count);
      launch_all(pieces);
    }
    issue(device, task);
    return;
  }
  if (goes_straight(pieces, task)) return;
  weir__cuda_cuts_note(&pieces->cuts, task);
  if (!weir__cuda_collection_append(collection, task)) {
    launch_all(pieces);
    issue(device, task);
    return;
  }
  bool ends;
  uint32_t count = weir__cuda_cuts_find(&pieces->cuts, collection, &ends);
  if (count == 0) return;
  launch_first(pieces, count);
  if (!ends) weir__cuda_cuts_done(&pieces->cuts, count);
}

static bool is_busy(const weir__cuda_device *device) {
  return device->ops_in_flight > 0 || (device->resident != NULL && weir__resident_is_busy(device));
}

void weir__cuda_launch_collected(weir__cuda_device *device, bool wanted) {
  weir__cuda_pieces *pieces = device->pieces;
  if (!wanted) {
    if (pieces->collection.count == 0 || is_busy(device)) return;
    uint64_t now = weir__clock_ns();
    if (pieces->last_collected_ns == 0) pieces->last_collected_ns = now;
    if (now - pieces->last_collected_ns < IDLE_NS) return;
  }
  weir__cuda_cuts_close(&pieces->cuts, pieces->collection.count);
  launch_all(pieces);
  weir__cuda_cuts_end(&pieces->cuts);
}

void weir__cuda_note_work(weir__cuda_device *device, bool any) {
  weir__cuda_pieces *pieces = device->pieces;
  if (pieces->builder == NULL) return;
  bool busy = any || is_busy(device);
  weir__cuda_builder_note_work(pieces->builder, !busy                ? WEIR__CUDA_IDLE
                                                : pieces->cuts.known ? WEIR__CUDA_BUSY
                                                                     : WEIR__CUDA_BUSY_WITH_NEW);
  uint64_t hash;
  weir__cuda_exec *exec = weir__cuda_builder_fetch(pieces->builder, &hash);
  if (exec != NULL) weir__cuda_cache_add(pieces->cache, exec, hash);
}
