// SPDX-License-Identifier: Apache-2.0
//
// The launcher's life, and a thread that makes what takes long: its code, and graphs, some 50 us each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/topology.h"
#include "device/cuda/ondevice/inside.h"

void weir__ondevice_refuse(weir__ondevice *launcher, const char *why) {
  pthread_mutex_lock(&launcher->mutex);
  snprintf(launcher->reason, sizeof launcher->reason, "%s", why);
  pthread_mutex_unlock(&launcher->mutex);
  atomic_store_explicit(&launcher->state, WEIR__ONDEVICE_REFUSED_FOR_GOOD, memory_order_release);
}

void weir__ondevice_reason(weir__ondevice *launcher, char *out_text, size_t bytes) {
  out_text[0] = '\0';
  if (launcher == NULL) return;
  pthread_mutex_lock(&launcher->mutex);
  snprintf(out_text, bytes, "%s", launcher->reason);
  pthread_mutex_unlock(&launcher->mutex);
}

weir_status weir__ondevice_create(weir__cuda_device *device, weir__ondevice **out_launcher) {
  const weir__host *host = device->base.host;
  const char *choice = getenv("WEIR_CARD_LAUNCH");
  *out_launcher = NULL;
  if (host->trace != NULL || (choice != NULL && strcmp(choice, "never") == 0)) return WEIR_OK;
  weir__ondevice *launcher = weir__allocate_zeroed(sizeof *launcher);
  if (launcher != NULL) launcher->depths = weir__allocate_sparse(host->window.size * sizeof *launcher->depths);
  if (launcher == NULL || launcher->depths == NULL) {
    weir__free(launcher);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for the launcher on the card");
  }
  launcher->device = device;
  launcher->always = (choice != NULL && strcmp(choice, "always") == 0) || host->seed % 4 == 1;
  launcher->most_of_pool = host->seed == 0 ? WEIR__ONDEVICE_MOST_OF_POOL : 1 + (uint32_t)(host->seed / 4 % 16);
  // Numbers wrap soon.
  if (host->seed % 2 == 1)
    launcher->written = launcher->published = launcher->reported = 0u - WEIR__L_SLOTS - WEIR__ONDEVICE_MOST_OF_POOL;
  pthread_mutex_init(&launcher->mutex, NULL);
  pthread_cond_init(&launcher->asked, NULL);
  *out_launcher = launcher;
  if (!weir__ondevice_driver_can(device->driver))
    weir__ondevice_refuse(launcher, "the launcher on the card: the driver has no device graphs whose nodes can be set");
  return WEIR_OK;
}

static void destroy_graphs(weir__ondevice *launcher) {
  const weir__cuda_driver *driver = launcher->device->driver;
  for (uint32_t i = 0; i < launcher->graph_count; i++) {
    driver->cuGraphExecDestroy(launcher->graphs[i].exec);
    driver->cuGraphDestroy(launcher->graphs[i].graph);
  }
  for (uint32_t i = 0; i < WEIR__L_RELAYS; i++) {
    if (launcher->schedulers[i] != NULL) driver->cuGraphExecDestroy(launcher->schedulers[i]);
    if (launcher->scheduler_graphs[i] != NULL) driver->cuGraphDestroy(launcher->scheduler_graphs[i]);
  }
}

void weir__ondevice_destroy(weir__ondevice *launcher, bool entered) {
  if (launcher == NULL) return;
  weir__ondevice_end(launcher);
  const weir__cuda_driver *driver = launcher->device->driver;
  if (entered) {
    destroy_graphs(launcher);
    if (launcher->stream != NULL) driver->cuStreamDestroy(launcher->stream);
    if (launcher->upload != NULL) driver->cuStreamDestroy(launcher->upload);
    if (launcher->card != 0) driver->cuMemFree(launcher->card);
    if (launcher->host != NULL) driver->cuMemFreeHost(launcher->host);
    if (launcher->module != NULL) driver->cuModuleUnload(launcher->module);
  }
  pthread_mutex_destroy(&launcher->mutex);
  pthread_cond_destroy(&launcher->asked);
  weir__free_sparse(launcher->depths, launcher->device->base.host->window.size * sizeof *launcher->depths);
  weir__free(launcher);
}

// Of a graph with its nodes: an executable one that is on the card.
static CUresult instantiate(weir__ondevice *launcher, CUgraph graph, CUgraphExec *out_exec) {
  const weir__cuda_driver *driver = launcher->device->driver;
  CUresult result = driver->cuGraphInstantiateWithFlags(out_exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  if (result != CUDA_SUCCESS) {
    *out_exec = NULL;
    return result;
  }
  result = driver->cuGraphUpload(*out_exec, launcher->upload);
  CUresult end = driver->cuStreamSynchronize(launcher->upload);
  if (result == CUDA_SUCCESS) result = end;
  if (result == CUDA_SUCCESS) return result;
  driver->cuGraphExecDestroy(*out_exec);
  *out_exec = NULL;
  return result;
}

static CUresult make_scheduler(weir__ondevice *launcher, uint32_t index) {
  const weir__cuda_driver *driver = launcher->device->driver;
  CUgraphNode node;
  void *parameters[] = {&launcher->card, &launcher->host};
  CUDA_KERNEL_NODE_PARAMS kernel = {.func = launcher->schedule,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 32,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = parameters};
  CUresult result = driver->cuGraphCreate(&launcher->scheduler_graphs[index], 0);
  if (result == CUDA_SUCCESS)
    result = driver->cuGraphAddKernelNode(&node, launcher->scheduler_graphs[index], NULL, 0, &kernel);
  return result == CUDA_SUCCESS ? instantiate(launcher, launcher->scheduler_graphs[index], &launcher->schedulers[index])
                                : result;
}

// What was done before the first task, as far as numbers tell.
static CUresult set_numbers(weir__ondevice *launcher) {
  const weir__cuda_driver *driver = launcher->device->driver;
  static const struct {
    size_t at, words;
  } parts[] = {{offsetof(weir__l_card, reports), 1},
               {offsetof(weir__l_card, finished), 1},
               {offsetof(weir__l_card, done), WEIR__L_SLOTS},
               {offsetof(weir__l_card, fetched), 1}};
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && result == CUDA_SUCCESS; i++)
    result =
        driver->cuMemsetD32Async(launcher->card + parts[i].at, launcher->written, parts[i].words, launcher->stream);
  launcher->host->tail = launcher->written;
  return result;
}

// What the card begins with: zeros, numbers, and the schedulers.
static CUresult set_card(weir__ondevice *launcher) {
  const weir__cuda_driver *driver = launcher->device->driver;
  CUresult result = driver->cuMemsetD8Async(launcher->card, 0, sizeof(weir__l_card), launcher->stream);
  if (result == CUDA_SUCCESS) result = set_numbers(launcher);
  for (uint32_t i = 0; i < WEIR__L_RELAYS; i++) launcher->host->ring[0].args[i] = (uintptr_t)launcher->schedulers[i];
  if (result == CUDA_SUCCESS)
    result = driver->cuMemcpyAsync(launcher->card + offsetof(weir__l_card, relay),
                                   (CUdeviceptr)(uintptr_t)launcher->host->ring[0].args,
                                   WEIR__L_RELAYS * sizeof(uint64_t), launcher->stream);
  CUresult end = driver->cuStreamSynchronize(launcher->stream);
  return result != CUDA_SUCCESS ? result : end;
}

static CUresult make_memory(weir__ondevice *launcher) {
  const weir__cuda_driver *driver = launcher->device->driver;
  int least = 0, greatest = 0;
  CUresult result = driver->cuCtxGetStreamPriorityRange(&least, &greatest);
  if (result == CUDA_SUCCESS)
    result = driver->cuStreamCreateWithPriority(&launcher->stream, CU_STREAM_NON_BLOCKING, greatest);
  if (result == CUDA_SUCCESS) result = driver->cuStreamCreateWithPriority(&launcher->upload, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS) result = driver->cuMemAlloc(&launcher->card, sizeof(weir__l_card));
  void *host = NULL;
  if (result == CUDA_SUCCESS) result = driver->cuMemHostAlloc(&host, sizeof(weir__l_host), CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_SUCCESS) memset(host, 0, sizeof(weir__l_host));
  launcher->host = host;
  return result;
}

static void make_launcher(weir__ondevice *launcher) {
  weir__cuda_device *device = launcher->device;
  weir_status status = weir__ondevice_load(launcher);
  if (status != WEIR_OK) {
    weir__ondevice_refuse(launcher, weir_last_error());
    return;
  }
  CUresult result = make_memory(launcher);
  for (uint32_t i = 0; i < WEIR__L_RELAYS && result == CUDA_SUCCESS; i++) result = make_scheduler(launcher, i);
  if (result == CUDA_SUCCESS) result = set_card(launcher);
  if (result == CUDA_SUCCESS) {
    launcher->host->idle_ns = WEIR__ONDEVICE_IDLE_NS;
    launcher->host->most_ns = WEIR__ONDEVICE_MOST_NS;
    if (device->base.host->seed % 3 == 1) launcher->host->idle_ns = 0;
    atomic_store_explicit(&launcher->state, WEIR__ONDEVICE_READY, memory_order_seq_cst);
    if (atomic_load_explicit(&launcher->aborted, memory_order_seq_cst)) weir__ondevice_abort(launcher);
    return;
  }
  char text[160], why[256];
  snprintf(why, sizeof why, "the launcher on the card cannot be made: %s",
           weir__cuda_result_text(device->driver, result, text, sizeof text));
  weir__ondevice_refuse(launcher, why);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
}

// A graph of the pool's function, whose parameters are zeros, and of weir__l_done.
static CUresult add_nodes(weir__ondevice *launcher, const weir__ondevice_pool *pool, weir__ondevice_graph *graph) {
  const weir__cuda_driver *driver = launcher->device->driver;
  CUgraphNode node, last;
  uint64_t zeros[WEIR__L_ARG_BYTES / 8] = {0};
  void *parameters[WEIR__ONDEVICE_PARAMETERS], *own[] = {&launcher->card, &launcher->host, &graph->index};
  for (uint32_t i = 0; i < WEIR__ONDEVICE_PARAMETERS; i++) parameters[i] = zeros;
  CUDA_KERNEL_NODE_PARAMS kernel = {.func = pool->function,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = pool->block[0],
                                    .blockDimY = pool->block[1],
                                    .blockDimZ = pool->block[2],
                                    .sharedMemBytes = pool->shared_bytes,
                                    .kernelParams = parameters};
  CUDA_KERNEL_NODE_PARAMS done = {.func = launcher->done,
                                  .gridDimX = 1,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .kernelParams = own};
  CUlaunchAttributeValue value = {.deviceUpdatableKernelNode = {.deviceUpdatable = 1}};
  const CUlaunchAttributeID attribute = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  CUresult result = driver->cuGraphAddKernelNode(&node, graph->graph, NULL, 0, &kernel);
  if (result == CUDA_SUCCESS) result = driver->cuGraphKernelNodeSetAttribute(node, attribute, &value);
  if (result == CUDA_SUCCESS) result = driver->cuGraphKernelNodeGetAttribute(node, attribute, &value);
  if (result == CUDA_SUCCESS) result = driver->cuGraphAddKernelNode(&last, graph->graph, &node, 1, &done);
  graph->node = (uintptr_t)value.deviceUpdatableKernelNode.devNode;
  return result;
}

static CUresult make_graph(weir__ondevice *launcher, weir__ondevice_pool *pool) {
  const weir__cuda_driver *driver = launcher->device->driver;
  weir__ondevice_graph *graph = &launcher->graphs[launcher->graph_count];
  *graph = (weir__ondevice_graph){.pool = pool, .index = launcher->graph_count, .grid = {1, 1, 1}};
  CUresult result = driver->cuGraphCreate(&graph->graph, 0);
  if (result != CUDA_SUCCESS) return result;
  result = add_nodes(launcher, pool, graph);
  if (result == CUDA_SUCCESS) result = instantiate(launcher, graph->graph, &graph->exec);
  if (result != CUDA_SUCCESS) {
    driver->cuGraphDestroy(graph->graph);
    return result;
  }
  launcher->graph_count++;
  graph->next = atomic_load_explicit(&pool->fresh, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&pool->fresh, &graph->next, graph, memory_order_release,
                                                memory_order_relaxed)) {
  }
  atomic_fetch_add_explicit(&pool->made, 1, memory_order_release);
  return CUDA_SUCCESS;
}

// Makes one graph that is wanted. Returns whether there was one.
static bool make_wanted(weir__ondevice *launcher) {
  uint32_t count = atomic_load_explicit(&launcher->pool_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    weir__ondevice_pool *pool = &launcher->pools[i];
    uint32_t wanted = atomic_load_explicit(&pool->wanted, memory_order_acquire);
    if (atomic_load_explicit(&pool->refused, memory_order_relaxed) ||
        atomic_load_explicit(&pool->made, memory_order_relaxed) >= wanted)
      continue;
    CUresult result = launcher->graph_count < WEIR__L_GRAPHS ? make_graph(launcher, pool) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) atomic_store_explicit(&pool->refused, true, memory_order_release);
    if (weir__cuda_is_sticky(result)) weir__cuda_trouble(launcher->device, result);
    return true;
  }
  return false;
}

static void *maker_main(void *argument) {
  weir__ondevice *launcher = argument;
  weir__this_thread.in_task = true;
  weir__unpin(); // the device's thread, which has begun this one, has a core to itself, and goes on meanwhile
  if (!weir__cuda_begin_thread(launcher->device, &launcher->thread_state)) {
    weir__ondevice_refuse(launcher, "the launcher on the card: its thread cannot use the device's context");
    return NULL;
  }
  make_launcher(launcher);
  for (;;) {
    pthread_mutex_lock(&launcher->mutex);
    while (!launcher->work && !launcher->stopping) pthread_cond_wait(&launcher->asked, &launcher->mutex);
    bool stopping = launcher->stopping;
    launcher->work = false;
    pthread_mutex_unlock(&launcher->mutex);
    if (stopping) return NULL;
    bool more = true;
    while (more && atomic_load_explicit(&launcher->state, memory_order_acquire) == WEIR__ONDEVICE_READY &&
           atomic_load_explicit(&launcher->device->trouble, memory_order_relaxed) == 0) {
      more = make_wanted(launcher);
      pthread_mutex_lock(&launcher->mutex);
      more = more && !launcher->stopping;
      pthread_mutex_unlock(&launcher->mutex);
    }
  }
}

void weir__ondevice_begin(weir__ondevice *launcher) {
  atomic_store_explicit(&launcher->state, WEIR__ONDEVICE_MAKING, memory_order_relaxed);
  launcher->has_thread = weir__allocate_permit() && pthread_create(&launcher->thread, NULL, maker_main, launcher) == 0;
  if (!launcher->has_thread) weir__ondevice_refuse(launcher, "the launcher on the card: no thread to make it");
}

void weir__ondevice_ask(weir__ondevice *launcher) {
  pthread_mutex_lock(&launcher->mutex);
  launcher->work = true;
  pthread_cond_signal(&launcher->asked);
  pthread_mutex_unlock(&launcher->mutex);
}

void weir__ondevice_end(weir__ondevice *launcher) {
  if (!launcher->has_thread) return;
  pthread_mutex_lock(&launcher->mutex);
  launcher->stopping = true;
  pthread_cond_signal(&launcher->asked);
  pthread_mutex_unlock(&launcher->mutex);
  pthread_join(launcher->thread, NULL);
  launcher->has_thread = false;
}
