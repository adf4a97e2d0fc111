// SPDX-License-Identifier: Apache-2.0
//
// The caller's memory in graphs: reached by the device itself, or through memory of the launch's in between.
#include <string.h>

#include "base/error.h"
#include "base/tsan.h"
#include "engine/pressure.h"
#include "graph/graph.h"

enum { STAGING_ALIGNMENT = 256 };

void weir__graph_lay_out_hosts(weir__graph_plan *plan) {
  for (uint32_t i = 0; i < plan->host_count; i++) {
    plan->hosts[i].offset = plan->host_bytes;
    plan->host_bytes += (plan->hosts[i].bytes + STAGING_ALIGNMENT - 1) & ~(uint64_t)(STAGING_ALIGNMENT - 1);
  }
}

// A device that does not prepare graphs is asked as for writing: what it reads while the caller goes on must be reached just as
// well.
static bool can_access(weir_device *device, const void *memory, uint64_t bytes) {
  const weir__device_ops *ops = device->ops;
  if (ops->graphs != NULL) return ops->graphs->can_access_host(device, memory, bytes, true);
  return ops->memory->can_access_host(device, memory, bytes, true);
}

bool weir__graph_run_reach(weir__graph_run *run) {
  weir_device *device = run->plan->device;
  bool all = true;
  for (uint32_t i = 0; i < run->plan->host_count; i++) {
    const weir__graph_host *host = &run->plan->hosts[i];
    run->reached[i] = can_access(device, run->hosts[i], host->bytes);
    all = all && run->reached[i];
  }
  run->staged = all;
  return all;
}

bool weir__graph_run_host_access_known(weir__graph_run *run) {
  weir_device *device = run->plan->device;
  if (device->ops->graphs == NULL) return false;
  for (uint32_t i = 0; i < run->plan->host_count; i++) {
    if (!device->ops->graphs->can_access_host(device, run->hosts[i], run->plan->hosts[i].bytes, false)) return false;
  }
  run->staged = true; // all are noted as reached from the start
  return true;
}

weir__admit_result weir__graph_run_take_staging(weir__graph_run *run, const weir__submission *submission,
                                                weir_status *out_status) {
  weir_context *context = run->context;
  if (run->staging != NULL) return WEIR__ADMITTED;
  weir__pool_result result = weir__pool_take(&context->memory.pools[WEIR__HOST_SPACE], run->plan->host_bytes,
                                             &context->host.window.live, &run->staging);
  if (result == WEIR__POOL_OK) return WEIR__ADMITTED;
  run->staging = NULL;
  weir__admit_result awaited =
      weir__await_storage(context, submission, WEIR__HOST_SPACE, run->plan->host_bytes, result, out_status);
  if (awaited != WEIR__REFUSED || *out_status != WEIR_OK) return awaited;
  *out_status =
      weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph launch: no storage on the host for %llu bytes of its copies: %s",
                  (unsigned long long)run->plan->host_bytes,
                  result == WEIR__POOL_LIMIT ? "the context's memory limit allows no more" : "the system has no more");
  return WEIR__REFUSED;
}

static void reclaim(void *user, weir__object *object) {
  weir_context *context = user;
  const weir_graph *graph = (weir_graph *)object;
  for (weir__graph_run *run = graph->idle_runs; run != NULL; run = run->next) {
    if (run->staging != NULL) weir__pool_give(&context->memory.pools[WEIR__HOST_SPACE], run->staging);
    run->staging = NULL;
  }
}

void weir__graphs_reclaim(weir_context *context) {
  weir__object_pool_each(&context->objects.graphs, reclaim, context);
}

static void *staged_at(const weir__graph_run *run, const weir__graph_host *host) {
  return (char *)run->staging->memory + host->offset;
}

// ThreadSanitizer checks the caller's side only.
static void copy(void *destination, const void *source, const weir__graph_host *host) {
  weir__tsan_access(host->writes ? destination : source, host->bytes, host->writes);
  weir__tsan_ignore();
  memcpy(destination, source, host->bytes);
  weir__tsan_heed();
}

void weir__graph_run_stage_in(weir__graph_run *run) {
  for (uint32_t i = 0; i < run->plan->host_count; i++) {
    const weir__graph_host *host = &run->plan->hosts[i];
    if (!run->reached[i] && !host->writes) copy(staged_at(run, host), run->hosts[i], host);
  }
  run->staged = true;
}

// Whether something is copied out in this way.
static bool copies_out(const weir__graph_run *run, bool reached) {
  for (uint32_t i = 0; i < run->plan->host_count; i++) {
    if (run->plan->hosts[i].writes && run->reached[i] == reached) return true;
  }
  return false;
}

bool weir__graph_run_stages_out(const weir__graph_run *run) {
  return copies_out(run, false);
}

bool weir__graph_run_writes_host(const weir__graph_run *run) {
  return copies_out(run, true);
}

void weir__graph_run_copy_out(weir__graph_run *run) {
  for (uint32_t i = 0; i < run->plan->host_count; i++) {
    const weir__graph_host *host = &run->plan->hosts[i];
    bool written = atomic_load_explicit(&run->states[host->node], memory_order_relaxed) == WEIR__NODE_OK;
    if (!run->reached[i] && host->writes && written) copy(run->hosts[i], staged_at(run, host), host);
  }
}

void weir__graph_run_bind_hosts(weir__graph_run *run) {
  for (uint32_t i = 0; i < run->plan->host_count; i++) {
    const weir__graph_host *host = &run->plan->hosts[i];
    uint32_t arg = run->plan->nodes[host->node].first_arg + (host->writes ? 0 : 1);
    run->args[arg] = run->reached[i] ? run->hosts[i] : staged_at(run, host);
  }
}
