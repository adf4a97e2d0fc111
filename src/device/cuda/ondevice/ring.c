// SPDX-License-Identifier: Apache-2.0
//
// Tasks of the launcher: to the card and back.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/ondevice/inside.h"
#include "device/cuda/resident/resident.h"

enum { POLLS_PER_QUERY = 1024 };

static bool is_ready(const weir__ondevice *launcher) {
  return launcher != NULL && atomic_load_explicit(&launcher->state, memory_order_acquire) == WEIR__ONDEVICE_READY;
}

uint32_t weir__ondevice_in_flight(const weir__ondevice *launcher) {
  return launcher == NULL ? 0 : launcher->in_flight;
}

// ---------------------------------------------------------------------------------------------------------------
// Pools

static bool is_of(const weir__ondevice_pool *pool, CUfunction function, const weir__cuda_launch *launch) {
  return pool->function == function && memcmp(pool->block, launch->block, sizeof pool->block) == 0 &&
         pool->shared_bytes == launch->shared_bytes;
}

// The function's pool; NULL: there are too many.
static weir__ondevice_pool *pool_of(weir__ondevice *launcher, const weir__cuda_launch *launch) {
  CUfunction function = launch->functions[launcher->device->base.index];
  uint32_t count = atomic_load_explicit(&launcher->pool_count, memory_order_relaxed);
  for (uint32_t i = 0; i < count; i++)
    if (is_of(&launcher->pools[i], function, launch)) return &launcher->pools[i];
  if (count == WEIR__ONDEVICE_POOLS) return NULL;
  weir__ondevice_pool *pool = &launcher->pools[count];
  pool->function = function;
  memcpy(pool->block, launch->block, sizeof pool->block);
  pool->shared_bytes = launch->shared_bytes;
  pool->limit = launcher->most_of_pool;
  atomic_store_explicit(&launcher->pool_count, count + 1, memory_order_release);
  return pool;
}

static void give(weir__ondevice_pool *pool, weir__ondevice_graph *graph) {
  graph->next = NULL;
  if (pool->first == NULL)
    pool->first = graph;
  else
    pool->last->next = graph;
  pool->last = graph;
}

// A graph that was not used for longest; NULL: none is free.
static weir__ondevice_graph *take(weir__ondevice_pool *pool) {
  if (pool->first == NULL) {
    weir__ondevice_graph *fresh = atomic_exchange_explicit(&pool->fresh, NULL, memory_order_acquire);
    while (fresh != NULL) {
      weir__ondevice_graph *next = fresh->next;
      give(pool, fresh);
      fresh = next;
    }
  }
  weir__ondevice_graph *graph = pool->first;
  if (graph != NULL) pool->first = graph->next;
  return graph;
}

// There was no free graph: more are made, unless there are as many as there may be. Those then come back soon.
static weir__ondevice_answer miss(weir__ondevice *launcher, weir__ondevice_pool *pool) {
  uint32_t wanted = atomic_load_explicit(&pool->wanted, memory_order_relaxed);
  uint32_t made = atomic_load_explicit(&pool->made, memory_order_acquire);
  bool refused = atomic_load_explicit(&pool->refused, memory_order_acquire);
  if (refused || made >= pool->limit) return pool->in_flight > 0 ? WEIR__ONDEVICE_WAIT : WEIR__ONDEVICE_REFUSED;
  if (made < wanted) return WEIR__ONDEVICE_REFUSED; // on the way
  wanted = wanted == 0 ? WEIR__ONDEVICE_FIRST_OF_POOL : 2 * wanted;
  atomic_store_explicit(&pool->wanted, wanted < pool->limit ? wanted : pool->limit, memory_order_release);
  weir__ondevice_ask(launcher);
  return WEIR__ONDEVICE_REFUSED;
}

// For tests: waits until some that are wanted are made. False: there will be none.
static bool await_some(const weir__ondevice *launcher, const weir__ondevice_pool *pool) {
  if (!launcher->always) return false;
  while (atomic_load_explicit(&pool->fresh, memory_order_acquire) == NULL) {
    uint32_t made = atomic_load_explicit(&pool->made, memory_order_acquire);
    if (made == atomic_load_explicit(&pool->wanted, memory_order_relaxed) ||
        atomic_load_explicit(&pool->refused, memory_order_acquire) || !weir__cuda_is_well(launcher->device))
      return atomic_load_explicit(&pool->fresh, memory_order_acquire) != NULL;
    weir__pause();
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Writing

static void write_args(weir__l_task *entry, const weir__task *task, const weir__cuda_launch *launch) {
  char *args = (char *)entry->args;
  entry->arg_bytes = 0;
  for (uint32_t i = 0; i < launch->parameter_count; i++) {
    const void *from = launch->value;
    if (from == NULL) from = weir__task_is_value(task, i) ? task->args[i] : (const void *)&task->args[i];
    memcpy(args + launch->parameter_offsets[i], from, launch->parameter_bytes[i]);
    entry->arg_bytes = launch->parameter_offsets[i] + launch->parameter_bytes[i];
  }
}

weir__ondevice_answer weir__ondevice_write(weir__ondevice *launcher, weir__task *task, const uint32_t *edges,
                                           uint32_t edge_count, uint32_t *out_number) {
  if (!is_ready(launcher)) return WEIR__ONDEVICE_REFUSED;
  const weir__cuda_launch *launch = &((const weir__cuda_kernel *)task->code)->launches[0];
  weir__ondevice_pool *pool = pool_of(launcher, launch);
  if (pool == NULL) return WEIR__ONDEVICE_REFUSED;
  uint32_t number = launcher->written + 1;
  weir__ondevice_flight *flight = &launcher->flight[number % WEIR__L_SLOTS];
  if (flight->task != NULL) return WEIR__ONDEVICE_WAIT;
  weir__ondevice_graph *graph = take(pool);
  if (graph == NULL) {
    weir__ondevice_answer answer = miss(launcher, pool);
    if (answer == WEIR__ONDEVICE_REFUSED && await_some(launcher, pool)) graph = take(pool);
    if (graph == NULL) return answer;
  }
  pool->in_flight++;
  launcher->in_flight++;
  launcher->written = *out_number = number;
  *flight = (weir__ondevice_flight){.task = task, .graph = graph};
  weir__l_task *entry = &launcher->host->ring[number % WEIR__L_SLOTS];
  const uint32_t *groups = weir__resident_groups(task, launch);
  entry->exec = (uintptr_t)graph->exec;
  entry->node = graph->node;
  entry->number = number;
  entry->graph = graph->index;
  entry->sets_grid = memcmp(graph->grid, groups, sizeof graph->grid) != 0;
  memcpy(entry->groups, groups, sizeof entry->groups);
  memcpy(graph->grid, groups, sizeof graph->grid);
  entry->edge_count = edge_count;
  memcpy(entry->edges, edges, edge_count * sizeof *edges);
  write_args(entry, task, launch);
  launcher->host->errors[number % WEIR__L_SLOTS] = 0;
  return WEIR__ONDEVICE_TAKEN;
}

// ---------------------------------------------------------------------------------------------------------------
// The scheduler on the card

static bool has_left(const weir__ondevice *launcher) {
  return weir__r_host_load_acquire(&launcher->host->gone) == launcher->epoch;
}

// The lock is held. `status`: not WEIR_OK: the task did not run.
static void report(weir__ondevice *launcher, weir__ondevice_flight *flight, weir_status status, const char *message) {
  weir__host *host = launcher->device->base.host;
  weir__task *task = flight->task;
  weir__completion completion = {.status = status, .message = message, .lane = launcher->device->queue_count};
  if (status == WEIR_OK) {
    host->statistics.card_launches++;
    // It ran, but on what a task that could not be launched should have written.
    if (task->reads_poison && weir__host_skip_status(host, task) != WEIR_OK)
      completion.status = WEIR_ERROR_UPSTREAM_FAILED;
  }
  if (status != WEIR_OK)
    memset(flight->graph->grid, 0, sizeof flight->graph->grid); // it may have another than was wanted
  give(flight->graph->pool, flight->graph);
  flight->graph->pool->in_flight--;
  launcher->in_flight--;
  flight->task = NULL;
  weir__resident_settled(launcher->device, task->id);
  weir__host_complete(host, task, &completion);
}

// All that is in flight fails, oldest first: the device is lost.
static void fail_all(weir__ondevice *launcher, weir_status status, const char *message) {
  weir__host *host = launcher->device->base.host;
  weir__host_lock(host);
  for (uint32_t i = 1; i <= WEIR__L_SLOTS; i++) {
    weir__ondevice_flight *flight = &launcher->flight[(launcher->written + i) % WEIR__L_SLOTS];
    if (flight->task != NULL) report(launcher, flight, status, message);
  }
  weir__host_completed(host);
  weir__host_unlock(host);
}

// A task that has not run goes to a queue.
static void take_back(weir__ondevice *launcher, weir__ondevice_flight *flight) {
  weir__resident *resident = launcher->device->resident;
  weir__resident_slot *slot = weir__resident_slot_of(launcher->device, flight->task->id);
  give(flight->graph->pool, flight->graph);
  flight->graph->pool->in_flight--;
  launcher->in_flight--;
  flight->task = NULL;
  slot->state = WEIR__RESIDENT_HELD;
  slot->card_launch = false;
  resident->held++;
  resident->stuck = false;
  weir__resident_append(launcher->device, &resident->again, (uint32_t)(slot - resident->slots) + 1);
}

// The scheduler cannot be launched, though the device is well: what it has not launched goes to queues, and all later tasks.
static void give_up(weir__ondevice *launcher, CUresult result) {
  char text[160], why[256];
  while (weir__ondevice_poll(launcher)) {
  }
  snprintf(why, sizeof why, "the launcher on the card could not be launched: %s",
           weir__cuda_result_text(launcher->device->driver, result, text, sizeof text));
  weir__ondevice_refuse(launcher, why);
  for (uint32_t i = 1; i <= WEIR__L_SLOTS; i++) { // oldest first
    weir__ondevice_flight *flight = &launcher->flight[(launcher->written + i) % WEIR__L_SLOTS];
    if (flight->task != NULL) take_back(launcher, flight);
  }
}

void weir__ondevice_tell(weir__ondevice *launcher) {
  if (!is_ready(launcher)) return;
  if (launcher->published != launcher->written) {
    launcher->published = launcher->written;
    weir__r_host_store_release(&launcher->host->tail, launcher->written);
    weir__resident_make_room(launcher->device->resident);
  }
  if (launcher->running || launcher->in_flight == 0 || !weir__cuda_is_well(launcher->device)) return;
  if (++launcher->epoch == 0) launcher->epoch = 1;
  weir__r_host_store_release(&launcher->host->epoch, launcher->epoch);
  CUresult result = launcher->device->driver->cuGraphLaunch(launcher->schedulers[0], launcher->stream);
  if (result == CUDA_SUCCESS) {
    launcher->running = launcher->launched = true;
    launcher->quiet = 0;
  } else if (weir__cuda_is_sticky(result)) {
    weir__cuda_trouble(launcher->device, result);
  } else {
    give_up(launcher, result);
  }
}

// Whether the last launch has left; notices, now and then, whether it has failed.
static void watch(weir__ondevice *launcher) {
  if (!launcher->running) return;
  if (has_left(launcher)) {
    launcher->running = false;
    return;
  }
  if (launcher->in_flight == 0 || ++launcher->quiet % POLLS_PER_QUERY != 0) return;
  CUresult result = launcher->device->driver->cuStreamQuery(launcher->stream);
  if (result == CUDA_SUCCESS && !has_left(launcher)) result = CUDA_ERROR_LAUNCH_FAILED;
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(launcher->device, result);
}

bool weir__ondevice_poll(weir__ondevice *launcher) {
  if (!is_ready(launcher)) return false;
  uint32_t number, count = 0;
  if (launcher->in_flight == 0 || !weir__l_is_reported(launcher->host, launcher->reported + 1, &number)) {
    watch(launcher);
    return false;
  }
  weir__host *host = launcher->device->base.host;
  weir__host_lock(host);
  do {
    launcher->reported++;
    uint32_t error = launcher->host->errors[number % WEIR__L_SLOTS];
    char message[96];
    snprintf(message, sizeof message, "the card could not launch it: error %u of CUDA's runtime", error);
    report(launcher, &launcher->flight[number % WEIR__L_SLOTS], error == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED,
           error == 0 ? NULL : message);
  } while (++count < WEIR__ONDEVICE_REPORTS && launcher->in_flight > 0 &&
           weir__l_is_reported(launcher->host, launcher->reported + 1, &number));
  weir__host_completed(host);
  weir__host_unlock(host);
  launcher->quiet = 0;
  return true;
}

bool weir__ondevice_report_lost(weir__ondevice *launcher) {
  if (launcher == NULL) return false;
  weir__ondevice_stop(launcher);
  if (launcher->in_flight == 0) return false;
  fail_all(launcher, launcher->device->lost, launcher->device->lost_text);
  return true;
}

void weir__ondevice_stop(weir__ondevice *launcher) {
  if (launcher == NULL || !launcher->launched) return;
  weir__r_host_store_release(&launcher->host->stop, launcher->epoch);
  CUresult result = launcher->device->driver->cuStreamSynchronize(launcher->stream);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(launcher->device, result);
  launcher->running = launcher->launched = false;
}

void weir__ondevice_abort(weir__ondevice *launcher) {
  if (launcher == NULL) return;
  atomic_store_explicit(&launcher->aborted, true, memory_order_seq_cst);
  if (atomic_load_explicit(&launcher->state, memory_order_seq_cst) == WEIR__ONDEVICE_READY)
    weir__r_host_store_release(&launcher->host->abort, 1);
}
