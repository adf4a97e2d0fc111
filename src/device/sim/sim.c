// SPDX-License-Identifier: Apache-2.0
#include "device/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/sim/batch.h"
#include "device/sim/builtin.h"

enum { MAX_QUEUES = 1024, LANES_WITHOUT_QUEUES = 128 };

extern const weir__device_ops weir__sim_ops;
static const weir__device_ops card_ops; // of one with memory of its own

static bool probe(char *text, size_t size) {
  int used = snprintf(text, size, "a GPU simulated in virtual time; profiles:");
  for (const weir__sim_builtin *builtin = weir__sim_builtins; builtin->name != NULL; builtin++) {
    if (used > 0 && (size_t)used < size) {
      used += snprintf(text + used, size - (size_t)used, " %s,", builtin->name);
    }
  }
  if (used > 0 && (size_t)used < size) snprintf(text + used, size - (size_t)used, " or a file");
  return true;
}

static void destroy(weir_device *base) {
  weir__sim_device *device = weir__sim_of(base);
  weir__sim_engine_destroy(device->engine);
  weir__sim_batches_destroy(device);
  weir__queues_destroy(device->queues);
  while (device->free_tasks != NULL) {
    weir__sim_task *task = device->free_tasks;
    device->free_tasks = task->next_free;
    weir__free(task);
  }
  weir__free_sparse(device->tasks, device->base.host->window.size * sizeof(weir__sim_task *));
  weir__free(device->waits);
  weir__free(device->places);
  weir__free(device->lane_ends);
  weir__free(device);
}

static void describe(weir__sim_device *device, const weir__sim_profile *profile, uint32_t queues) {
  snprintf(device->base.name, sizeof device->base.name, "sim:%s", profile->name);
  char in_queues[32] = "no queues";
  if (queues > 0) snprintf(in_queues, sizeof in_queues, "%u queue%s", queues, queues == 1 ? "" : "s");
  snprintf(device->base.description, sizeof device->base.description, "simulated: %.80s; %u multiprocessors, %s",
           profile->description, (unsigned)profile->sms, in_queues);
}

static weir__sim_device *leader_of(weir__host *host) {
  for (uint32_t i = 0; i < host->device_count; i++) {
    if (weir__is_sim(host->devices[i])) return weir__sim_of(host->devices[i]);
  }
  return NULL;
}

// Devices that have a link to others of their kind copy directly.
static void find_peers(weir__sim_device *device) {
  weir__host *host = device->base.host;
  for (uint32_t i = 0; i < host->device_count; i++) {
    if (host->devices[i]->ops != &card_ops) continue;
    const weir__sim_device *other = weir__sim_of(host->devices[i]);
    if (weir__sim_engine_profile(other->engine)->peer_rate == 0) continue;
    device->base.near |= 1U << i;
    host->devices[i]->near |= 1U << host->device_count;
  }
}

static weir_status create(weir__host *host, const char *argument, uint32_t queues, weir_device **out_device) {
  weir__sim_profile profile;
  weir_status status = weir__sim_profile_load(argument[0] != '\0' ? argument : "ideal", &profile);
  if (status != WEIR_OK) return status;
  if (queues > MAX_QUEUES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device sim: %u queues; 1 to %d are possible", queues, MAX_QUEUES);
  if (host->issue == WEIR_ISSUE_RESIDENT && weir__sim_profile_make_resident(&profile)) queues = 0;
  if (queues == 0) queues = (uint32_t)profile.queues;
  if (queues > 0 && (host->flags & WEIR_CONTEXT_IN_ORDER)) queues = 1;
  weir__sim_device *device = weir__allocate_zeroed(sizeof *device);
  if (device == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device sim: no memory");
  device->base = (weir_device){.ops = profile.memory_mib > 0 ? &card_ops : &weir__sim_ops,
                               .memory_bytes = profile.memory_mib << 20,
                               .host = host,
                               .lanes = queues > 0 ? queues : LANES_WITHOUT_QUEUES,
                               .queues = queues,
                               .callers = 1};
  device->memory_left = device->base.memory_bytes;
  if (profile.memory_mib > 0 && profile.peer_rate > 0) find_peers(device);
  describe(device, &profile, queues);
  device->fluid = profile.sharing == WEIR__SIM_SHARING_FLUID;
  device->random = host->seed;
  device->engine = weir__sim_engine_create(&profile, queues);
  device->tasks = weir__allocate_sparse(host->window.size * sizeof(weir__sim_task *));
  device->lane_ends = weir__allocate_zeroed(device->base.lanes * sizeof *device->lane_ends);
  if (queues > 0) device->queues = weir__queues_create(queues, 0);
  if (device->engine == NULL || device->tasks == NULL || device->lane_ends == NULL ||
      (queues > 0 && device->queues == NULL))
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device sim: no memory");
  else
    status = weir__sim_batches_create(device);
  if (status != WEIR_OK) {
    destroy(&device->base);
    return status;
  }
  device->leader = leader_of(host);
  if (device->leader == NULL)
    device->leader = device;
  else
    weir__sim_engine_share_host(device->engine, device->leader->engine);
  *out_device = &device->base;
  return WEIR_OK;
}

// Host tasks take no time here.
static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  (void)device;
  return kernel == NULL || weir__sim_code_of(kernel) != NULL;
}

// Where a device has memory of its own, the host does what the host does.
static bool card_has_code(const weir_device *device, const weir_kernel *kernel) {
  (void)device;
  return kernel != NULL && weir__sim_code_of(kernel) != NULL;
}

static bool can_access_host(weir_device *device, const void *memory, uint64_t bytes, bool ask) {
  (void)device;
  (void)memory;
  (void)bytes;
  (void)ask;
  return true;
}

static uint64_t time_now(weir_device *device) {
  return weir__sim_engine_host_ps(weir__sim_of(device)->engine) / WEIR__SIM_PS_PER_NS;
}

static const weir__graph_ops graph_ops = {.build = weir__sim_graph_build};
static const weir__polled_ops polled_ops = {.progress = weir__sim_progress, .poll = weir__sim_poll};

const weir__device_ops weir__sim_ops = {.kind = "sim",
                                        .code = WEIR__CODE_SIM,
                                        .run_ahead = true,
                                        .probe = probe,
                                        .create = create,
                                        .destroy = destroy,
                                        .has_code = has_code,
                                        .issue = weir__sim_issue,
                                        .graphs = &graph_ops,
                                        .polled = &polled_ops,
                                        .flush = weir__sim_flush,
                                        .time = time_now};

static const weir__graph_ops card_graph_ops = {.build = weir__sim_graph_build, .can_access_host = can_access_host};

static const weir__device_ops card_ops = {.kind = "sim",
                                          .code = WEIR__CODE_SIM,
                                          .run_ahead = true,
                                          .peers = true,
                                          .probe = probe,
                                          .create = create,
                                          .destroy = destroy,
                                          .memory = &weir__sim_memory_ops,
                                          .has_code = card_has_code,
                                          .issue = weir__sim_issue,
                                          .graphs = &card_graph_ops,
                                          .polled = &polled_ops,
                                          .flush = weir__sim_flush,
                                          .time = time_now};
