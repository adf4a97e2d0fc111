// SPDX-License-Identifier: Apache-2.0
#include "virtual.h"

#include <stdio.h>
#include <string.h>

#include "device/sim/pace.h"

// What a device of the case is called. Drifting: the speed goes up and down by half, each in a period of its own. Stalling: each
// stands still for 4 ms every 50 ms, one after another.
static void device_name(const virtual_case *c, uint32_t device, char *text, size_t size) {
  int used = snprintf(text, size, "sim:plain+speed=%g", c->speeds[device]);
  if (used < 0 || (size_t)used >= size) return;
  if (c->change == DRIFTING) {
    snprintf(text + used, size - (size_t)used, "+drift=0.5+drift_period_us=%u+phase_us=%u", 105000 - 9000 * device,
             17000 * device);
  } else if (c->change == STALLING || (c->change == FIRST_STALLS && device == 0)) {
    snprintf(text + used, size - (size_t)used, "+stall_every_us=50000+stall_for_us=4000+phase_us=%u",
             10000 + 11000 * device % 50000);
  }
}

void virtual_devices(const virtual_case *c, char *text, size_t size) {
  text[0] = '\0';
  for (uint32_t i = 0; i < c->device_count; i++) {
    char name[128];
    device_name(c, i, name, sizeof name);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ",", name);
  }
}

// Work-groups that all devices can do from `from` to `to`, in picoseconds.
static double could_do(const virtual_case *c, const weir__sim_profile *profiles, uint64_t from, uint64_t to) {
  double groups = 0;
  for (uint32_t i = 0; i < c->device_count; i++) {
    uint64_t work = weir__sim_work_at(&profiles[i], to) - weir__sim_work_at(&profiles[i], from);
    groups += (double)work * c->speeds[i] / (c->group_us * WEIR__SIM_PS_PER_US);
  }
  return groups;
}

// The part of the time from `start` to `end` that all devices together need for a launch.
static double efficiency(const virtual_case *c, const weir__sim_profile *profiles, uint64_t start, uint64_t end) {
  uint64_t low = start, high = end;
  while (high - low > 1000) {
    uint64_t middle = low + (high - low) / 2;
    if (could_do(c, profiles, start, middle) < (double)c->groups)
      low = middle;
    else
      high = middle;
  }
  return (double)(high - start) / (double)(end - start);
}

static void count(const weir_work *work) {
  uint64_t *groups = work->user;
  *groups += work->end - work->first;
}

static weir_status run_launches(const virtual_case *c, weir_split *split, weir_kernel *kernel, weir_device *device,
                                uint32_t launches, virtual_run *out_run) {
  weir__sim_profile profiles[8];
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < c->device_count && status == WEIR_OK; i++) {
    char name[128];
    device_name(c, i, name, sizeof name);
    status = weir__sim_profile_load(name + strlen("sim:"), &profiles[i]);
  }
  uint64_t groups = 0;
  weir_split_launch launch = {.kernel = kernel, .user = &groups, .groups = {c->groups, 1, 1}};
  for (uint32_t i = 0; i < launches && status == WEIR_OK; i++) {
    uint64_t start_ns = weir_device_time(device);
    weir_event *event = NULL;
    groups = 0;
    status = weir_split_submit(split, &launch, &event);
    if (status == WEIR_OK) status = weir_event_wait(event, WEIR_FOREVER);
    weir_event_release(event);
    if (status == WEIR_OK && groups != c->groups) status = WEIR_ERROR_TASK_FAILED;
    if (status != WEIR_OK) break;
    out_run->end_ns[i] = weir_device_time(device);
    out_run->efficiency[i] = efficiency(c, profiles, start_ns * 1000, out_run->end_ns[i] * 1000);
    status = weir_split_last_round(split, &out_run->last);
    out_run->redone += out_run->last.redone;
  }
  return status;
}

weir_status virtual_simulate(const virtual_case *c, const char *policy, uint32_t launches, virtual_run *out_run) {
  char devices[1024];
  weir_context *context = NULL;
  weir_split *split = NULL;
  weir_kernel *kernel = NULL;
  *out_run = (virtual_run){.redone = 0};
  virtual_devices(c, devices, sizeof devices);
  const weir_sim_launch cost = {.threads = 1, .blocks = 2048, .group_us = c->group_us};
  weir_status status = weir_context_create(&(weir_context_options){.devices = devices}, &context);
  if (status == WEIR_OK) status = weir_split_create(context, &(weir_split_options){.policy = policy}, &split);
  if (status == WEIR_OK) status = weir_kernel_create(context, "count", &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(kernel, count);
  if (status == WEIR_OK) status = weir_kernel_set_sim(kernel, &cost, 1);
  if (status == WEIR_OK) status = run_launches(c, split, kernel, weir_context_device(context, 0), launches, out_run);
  weir_split_release(split);
  weir_context_release(context);
  return status;
}

double virtual_efficiency(const virtual_case *c, const char *policy, uint32_t launches, uint32_t from) {
  virtual_run run;
  double sum = 0;
  if (virtual_simulate(c, policy, launches, &run) != WEIR_OK) return -1;
  for (uint32_t i = from; i < launches; i++) sum += run.efficiency[i];
  return sum / (launches - from);
}

#define EVEN                                                                                                           \
  { 1, 1, 1, 1, 1, 1, 1, 1 }
#define STEEP                                                                                                          \
  { 20, 1, 2, 7, 4, 10, 15, 1.5 }
#define FIVE                                                                                                           \
  { 5, 1, 3, 4, 2, 5, 2.5, 3.5 }
#define CASE(text, kind, devices, units, us, ...)                                                                      \
  { .name = text, .change = kind, .device_count = devices, .speeds = __VA_ARGS__, .groups = units, .group_us = us }

const virtual_case virtual_cases[] = {
    CASE("2 devices, 1:1", CONSTANT, 2, 800000, 0.01, EVEN),
    CASE("2 devices, 1:5", CONSTANT, 2, 2400000, 0.01, FIVE),
    CASE("2 devices, 1:20", CONSTANT, 2, 8000000, 0.01, STEEP),
    CASE("4 devices, 1:20", CONSTANT, 4, 9000000, 0.01, STEEP),
    CASE("8 devices, 1:1", CONSTANT, 8, 3200000, 0.01, EVEN),
    CASE("8 devices, 1:20", CONSTANT, 8, 16000000, 0.01, STEEP),
    CASE("8 devices, 1:5, few units", CONSTANT, 8, 400, 100, FIVE),
    CASE("2 devices, 1:1, drifting", DRIFTING, 2, 800000, 0.01, EVEN),
    CASE("2 devices, 1:20, drifting", DRIFTING, 2, 8000000, 0.01, STEEP),
    CASE("4 devices, 1:5, drifting", DRIFTING, 4, 5000000, 0.01, FIVE),
    CASE("8 devices, 1:20, drifting", DRIFTING, 8, 16000000, 0.01, STEEP),
    CASE("4 devices, 1:5, one stalls", FIRST_STALLS, 4, 5000000, 0.01, FIVE),
    CASE("2 devices, 1:1, stalls", STALLING, 2, 800000, 0.01, EVEN),
    CASE("4 devices, 1:5, stalls", STALLING, 4, 5000000, 0.01, FIVE),
    CASE("8 devices, 1:20, stalls", STALLING, 8, 16000000, 0.01, STEEP),
};
const uint32_t virtual_case_count = sizeof virtual_cases / sizeof virtual_cases[0];
