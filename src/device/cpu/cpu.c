// SPDX-License-Identifier: Apache-2.0
//
// The CPU device: created, asked, destroyed.
#include "device/cpu/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/topology.h"
#include "base/tsan.h"

extern const weir__device_ops weir__cpu_ops;

enum { LONG_NS = 1000, TINY_NS = 200, BATCH_NS = 2000 };

static bool probe(char *text, size_t size) {
  char pinning[160];
  weir__pinning_text(pinning, sizeof pinning);
  uint32_t cores = weir__usable_cores();
  snprintf(text, size, "%u core%s; %s", cores, cores == 1 ? "" : "s", pinning);
  return true;
}

static void stop(weir__cpu *cpu) {
  weir__host *host = cpu->base.host;
  weir__host_lock(host);
  cpu->stopping = true;
  weir__cpu_wake(cpu, cpu->worker_count);
  weir__host_unlock(host);
  for (uint32_t i = 0; i < cpu->worker_count; i++) {
    if (cpu->workers[i].started) pthread_join(cpu->workers[i].thread, NULL);
  }
}

static void destroy(weir_device *device) {
  weir__cpu *cpu = (weir__cpu *)device;
  stop(cpu);
  weir__jobs_deinitialize(cpu);
  weir__free(cpu->workers);
  weir__free(cpu);
}

static weir_status start_workers(weir__cpu *cpu) {
  uint64_t seed = cpu->base.host->seed;
  for (uint32_t i = 0; i < cpu->worker_count; i++) {
    weir__worker *worker = &cpu->workers[i];
    worker->cpu = cpu;
    worker->index = i;
    worker->random.state = (seed + i + 1) * 0x9e3779b97f4a7c15ull | 1;
  }
  for (uint32_t i = 0; i < cpu->worker_count; i++) {
    weir__worker *worker = &cpu->workers[i];
    int error = weir__allocate_permit() ? weir__thread_create(&worker->thread, weir__worker_main, worker) : EAGAIN;
    if (error != 0)
      return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cpu: worker %u of %u cannot be started: %s", i,
                         cpu->worker_count, strerror(error));
    worker->started = true;
  }
  return WEIR_OK;
}

// How many workers the context's CPU devices have so far.
static uint32_t count_workers(const weir__host *host) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < host->device_count; i++) {
    if (host->devices[i]->ops == &weir__cpu_ops) count += host->devices[i]->lanes;
  }
  return count;
}

static weir_status create(weir__host *host, const char *argument, uint32_t queues, weir_device **out_device) {
  (void)queues;
  unsigned long workers = host->usual_workers;
  if (argument[0] != '\0') {
    char *end;
    workers = strtoul(argument, &end, 10);
    if (*end != '\0' || argument[0] == '-' || workers == 0 || workers > WEIR__MAX_WORKERS)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device cpu: '%.60s' is no number of workers from 1 to %d",
                         argument, WEIR__MAX_WORKERS);
  }
  weir__cpu *cpu = weir__allocate_zeroed(sizeof *cpu);
  if (cpu == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cpu: no memory");
  cpu->base =
      (weir_device){.ops = &weir__cpu_ops, .host = host, .lanes = (uint32_t)workers, .callers = (uint32_t)workers};
  cpu->worker_count = (uint32_t)workers;
  cpu->first_core = count_workers(host);
  cpu->long_ticks = LONG_NS * weir__ticks_per_us() / 1000;
  cpu->tiny_ticks = TINY_NS * weir__ticks_per_us() / 1000;
  cpu->batch_ticks = BATCH_NS * weir__ticks_per_us() / 1000;
  for (int i = 0; i < WEIR__LOCK_CLASSES; i++) atomic_init(&cpu->locked_ticks[i], UINT32_MAX);
  cpu->workers = weir__allocate_zeroed(workers * sizeof *cpu->workers);
  snprintf(cpu->base.name, sizeof cpu->base.name, "cpu:%lu", workers);
  snprintf(cpu->base.description, sizeof cpu->base.description, "%lu workers on %u cores", workers,
           weir__usable_cores());
  weir_status status;
  if (cpu->workers == NULL || !weir__jobs_initialize(cpu)) {
    cpu->worker_count = cpu->workers == NULL ? 0 : cpu->worker_count;
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cpu: no memory for %lu workers", workers);
  } else {
    status = start_workers(cpu);
  }
  if (status != WEIR_OK) {
    destroy(&cpu->base);
    return status;
  }
  *out_device = &cpu->base;
  return WEIR_OK;
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  (void)device;
  return kernel == NULL || kernel->function != NULL;
}

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->host->start_ns;
}

// A worker that is awake does not go to sleep for long while submissions are held back.
static void look_after(weir_device *device) {
  weir__cpu *cpu = (weir__cpu *)device;
  atomic_store_explicit(&cpu->holding_core, weir__current_core(), memory_order_relaxed);
  if (cpu->sleeper_count == cpu->worker_count && cpu->looker == NULL) weir__cpu_wake(cpu, 1);
}

const weir__device_ops weir__cpu_ops = {.kind = "cpu",
                                        .probe = probe,
                                        .create = create,
                                        .destroy = destroy,
                                        .has_code = has_code,
                                        .issue = weir__cpu_issue,
                                        .expected_ns = weir__job_expected_ns,
                                        .look_after = look_after,
                                        .time = time_now};
