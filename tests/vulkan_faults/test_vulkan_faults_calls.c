// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of Vulkan fails, for every N, in a scenario of tasks, copies and graphs: nothing leaks, nothing hangs, what is
// reported as done is right, and what is not says why. With memory that the host reaches, and, where WEIR_INTERPOSER_MEMORY
// says so, with other kinds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/vulkan/vulkan.h"
#include "faults.h"
#include "interposer.h"
#include "mix.spv.h"
#include "sweep.h"
#include "weir/enqueue.h"
#include "weir/vulkan.h"

enum { MANY = 5000, ASKED = 12 };

static const weir_vulkan_code code = {.words = mix_spv, .bytes = sizeof mix_spv};
static const weir_vulkan_launch launch = {0};

// The kernel's code is an enqueue function.
static bool calls;

static const char *address_of(weir__vulkan_device *device, VkBuffer buffer) {
  uint32_t i = 0;
  weir__lock_acquire(&device->memory.lock);
  while (device->memory.chunks[i]->buffer != buffer) i++;
  const char *address = (const char *)device->memory.chunks[i]->address;
  weir__lock_release(&device->memory.lock);
  return address;
}

// Records what the kernel would dispatch, with parts of the device's own, which fail as the driver does.
static weir_status record_mix(const weir_enqueue *call) {
  weir__vulkan_device *device = weir__vulkan_of(call->device);
  const weir__vulkan_pipeline *pipeline;
  weir_status status =
      weir__vulkan_pipeline_get(weir__vulkan_device_pipelines(call->device), "mix", &code, &launch, &pipeline);
  if (status != WEIR_OK) return status;
  weir__vulkan_recorder recorder = {.commands = call->queue, .sets = weir__vulkan_current_sets(device)};
  weir__vulkan_launch dispatch = {.groups = {1, 1, 1}};
  weir__vulkan_arg args[4];
  dispatch.pipelines[call->device->index] = pipeline;
  for (uint32_t i = 0; i < call->arg_count; i++) {
    const weir_enqueue_arg *arg = &call->args[i];
    args[i] = (weir__vulkan_arg){.address = arg->value, .bytes = arg->bytes, .is_value = arg->value != NULL};
    if (arg->value != NULL) continue;
    args[i].address = address_of(device, (VkBuffer)arg->handle) + arg->offset;
  }
  VkResult result = weir__vulkan_record_dispatch(device, &recorder, &dispatch, call->groups, args, call->arg_count);
  if (result != VK_SUCCESS) weir_enqueue_fail(call, weir__vulkan_result_name(result));
  return WEIR_OK;
}

static weir_status make_kernel(weir_context *context, weir_kernel **out_kernel) {
  weir_status status = weir_kernel_create(context, "mix", out_kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(*out_kernel, faults_mix_on_cpu);
  if (status == WEIR_OK && calls)
    return weir_kernel_set_enqueue(*out_kernel, "vulkan", &(weir_enqueue_code){.function = record_mix});
  return status == WEIR_OK ? weir_kernel_set_vulkan(*out_kernel, &code, &launch, 1) : status;
}

// Unless the device is lost, what failed heals: buffers that are overwritten can be used.
static void check_heals(faults_scenario *s, const char *what) {
  uint32_t value = 5, output[WORDS] = {0};
  weir_arg args[3];
  weir_finish(s->context);
  interposer_fail(NULL, 0, 0);
  weir_task task = faults_task(s->mix, args, s->buffers[1], s->buffers[0], &value);
  weir_status status = weir_copy_in(s->buffers[0], 0, sizeof s->input, s->input, NULL);
  if (status == WEIR_OK) status = weir_submit(s->context, &task, NULL);
  if (status == WEIR_OK) status = weir_copy_out(s->buffers[1], 0, sizeof output, output, NULL);
  weir_status finished = weir_finish(s->context);
  if (status == WEIR_OK) status = finished;
  if (status == WEIR_ERROR_DEVICE_LOST) return;
  if (status != WEIR_OK) faults_wrong("%s: does not heal: %s: %s", what, weir_status_name(status), weir_last_error());
  for (int i = 0; i < WORDS && status == WEIR_OK; i++) {
    if (output[i] == faults_mixed(s->input[i], value)) continue;
    faults_wrong("%s: what is written later is wrong", what);
    return;
  }
}

// Runs the scenario with the Nth call failing. False: it makes fewer.
static bool run(const weir_context_options *options, const char *name, uint64_t n, VkResult result) {
  char what[160];
  snprintf(what, sizeof what, "%s, %u queues, call %llu of %s gives %d", options->devices, options->queues,
           (unsigned long long)n, name != NULL ? name : "all", (int)result);
  faults_scenario s = {.make_kernel = make_kernel, .failed = interposer_failed, .spread = true};
  alarm(60);
  interposer_fail(name, n, result);
  weir_status status = faults_play(&s, options, what);
  if (status == WEIR_OK) weir_finish(s.context);
  const char *failed = interposer_failed();
  if (failed != NULL) snprintf(what + strlen(what), sizeof what - strlen(what), " (%s)", failed);
  if (status == WEIR_OK) faults_check(&s, what);
  if (status != WEIR_OK && failed == NULL) faults_wrong("%s: %s though no call failed", what, weir_last_error());
  if (status == WEIR_OK && result != VK_ERROR_DEVICE_LOST) check_heals(&s, what);
  faults_release(&s);
  alarm(0);
  if (interposer_live() != 0) faults_wrong("%s: %lld objects are left", what, (long long)interposer_live());
  if (interposer_destroyed_early() != 0) faults_wrong("%s: something is destroyed that may still run", what);
  if (interposer_undefined_used() != 0) faults_wrong("%s: the result of a call that failed is used", what);
  return failed != NULL;
}

static void sweep(const char *devices, const char *name, VkResult result, uint32_t least) {
  for (uint32_t queues = 1; queues <= 3; queues += 2) {
    weir_context_options options = {.devices = devices, .queues = queues};
    if (queues == 3) options.flags = WEIR_CONTEXT_TRACE;
    uint64_t n = 1;
    while (n < MANY && faults_found() == 0 && run(&options, name, n, result)) n = sweep_after(n);
    if (faults_found() == 0 && (n <= least || n >= MANY))
      faults_wrong("%s: only %llu calls", devices, (unsigned long long)n);
  }
  faults_expect_none();
}

static void no_memory(void **state) {
  (void)state;
  sweep("vulkan", NULL, VK_ERROR_OUT_OF_HOST_MEMORY, 20);
  sweep("vulkan,cpu:1", NULL, VK_ERROR_OUT_OF_DEVICE_MEMORY, 20);
}

static void the_device_is_lost(void **state) {
  (void)state;
  sweep("vulkan", NULL, VK_ERROR_DEVICE_LOST, 5);
  sweep("vulkan,cpu:1", NULL, VK_ERROR_DEVICE_LOST, 5);
}

static void submissions_fail(void **state) {
  (void)state;
  sweep("vulkan,cpu:1", "vkQueueSubmit", VK_ERROR_OUT_OF_HOST_MEMORY, 2);
  sweep("vulkan,cpu:1", "vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, 1);
}

static void functions_fail(void **state) {
  (void)state;
  calls = true;
  sweep("vulkan", NULL, VK_ERROR_OUT_OF_HOST_MEMORY, 20);
  sweep("vulkan,cpu:1", NULL, VK_ERROR_DEVICE_LOST, 5);
  sweep("vulkan,cpu:1", "vkQueueSubmit", VK_ERROR_OUT_OF_HOST_MEMORY, 2);
  calls = false;
}

// As many as are made while something runs: only the first ones are tried.
static void questions_fail(void **state) {
  (void)state;
  static const char *const names[] = {"vkGetSemaphoreCounterValue", "vkWaitSemaphores"};
  static const VkResult results[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_DEVICE_LOST};
  const weir_context_options options = {.devices = "vulkan,cpu:1", .queues = 3};
  for (int i = 0; i < 4; i++) {
    uint64_t n = 1;
    while (n <= ASKED && faults_found() == 0 && run(&options, names[i / 2], n, results[i % 2])) n++;
  }
  faults_expect_none();
}

int main(void) {
  setenv("WEIR_VULKAN_LOADER", INTERPOSER, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_memory),      cmocka_unit_test(the_device_is_lost), cmocka_unit_test(submissions_fail),
      cmocka_unit_test(questions_fail), cmocka_unit_test(functions_fail),
  };
  return cmocka_run_group_tests_name("Vulkan: failing calls", tests, NULL, NULL);
}
