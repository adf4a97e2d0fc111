// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of Vulkan fails, for every N, in a scenario of tasks, copies and graphs: nothing leaks, nothing hangs, what is
// reported as done is right, and what is not says why. With memory that the host reaches, and, where WEIR_INTERPOSER_MEMORY
// says so, with other kinds.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <vulkan/vulkan_core.h>

#include "interposer.h"
#include "mix.spv.h"
#include "weir/vulkan.h"

enum { WORDS = 64, BUFFERS = 3, ROUNDS = 6, NODES = 4, MANY = 5000 };

typedef struct scenario {
  weir_context *context;
  weir_kernel *mix;
  weir_buffer *buffers[BUFFERS], *wrapped;
  weir_graph *graph;
  weir_event *events[2]; // of the copies out
  uint32_t input[WORDS], outputs[2][WORDS], memory[WORDS];
} scenario;

static unsigned wrong;

__attribute__((format(printf, 1, 2))) static void note_wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (wrong++ < 40) {
    vprint_message(format, arguments);
    print_message("\n");
  }
  va_end(arguments);
}

static uint32_t mixed(uint32_t from, uint32_t value) {
  return from * 3 + value;
}

static void mix_on_cpu(const weir_work *work) {
  uint32_t *to = work->args[0], value;
  const uint32_t *from = work->args[1];
  memcpy(&value, work->args[2], sizeof value);
  for (int i = 0; i < WORDS; i++) to[i] = mixed(from[i], value);
}

static weir_status make_kernel(weir_context *context, weir_kernel **out_kernel) {
  const weir_vulkan_code code = {.words = mix_spv, .bytes = sizeof mix_spv};
  const weir_vulkan_launch launch = {0};
  weir_status status = weir_kernel_create(context, "mix", out_kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(*out_kernel, mix_on_cpu);
  return status == WEIR_OK ? weir_kernel_set_vulkan(*out_kernel, &code, &launch, 1) : status;
}

static weir_task mix_task(weir_kernel *kernel, weir_arg args[3], weir_buffer *to, weir_buffer *from,
                          const uint32_t *value) {
  args[0] = weir_writes(to);
  args[1] = weir_reads(from);
  args[2] = weir_value(value, sizeof *value);
  return (weir_task){.kernel = kernel, .args = args, .arg_count = 3};
}

// The calls up to the first that is refused: then a program gives up.
static weir_status submit_round(scenario *s, uint32_t round) {
  weir_arg args[3];
  weir_task task = mix_task(s->mix, args, s->buffers[(round + 1) % 2], s->buffers[round % 2], &round);
  task.device = weir_context_device(s->context, round % weir_context_device_count(s->context));
  return weir_submit(s->context, &task, NULL);
}

static weir_status record(scenario *s) {
  weir_status status = weir_graph_create(s->context, &s->graph);
  for (uint32_t i = 0; i < NODES && status == WEIR_OK; i++) {
    weir_arg args[3];
    weir_task task = mix_task(s->mix, args, s->buffers[i % 2 == 0 ? 2 : 0], s->buffers[i % 2 == 0 ? 0 : 2], &i);
    status = weir_graph_add(s->graph, &task, NULL);
  }
  return status;
}

static weir_status play(scenario *s) {
  weir_status status = make_kernel(s->context, &s->mix);
  for (int i = 0; i < BUFFERS && status == WEIR_OK; i++)
    status = weir_buffer_create(s->context, sizeof s->input, &s->buffers[i]);
  if (status == WEIR_OK) status = weir_buffer_wrap(s->context, s->memory, sizeof s->memory, &s->wrapped);
  if (status == WEIR_OK) status = weir_copy_in(s->buffers[0], 0, sizeof s->input, s->input, NULL);
  for (uint32_t i = 0; i < ROUNDS && status == WEIR_OK; i++) status = submit_round(s, i);
  if (status == WEIR_OK) status = record(s);
  for (int i = 0; i < 2 && status == WEIR_OK; i++) status = weir_graph_launch(s->graph, NULL);
  weir_arg args[3];
  uint32_t value = 77;
  weir_task task = mix_task(s->mix, args, s->wrapped, s->buffers[0], &value);
  if (status == WEIR_OK) status = weir_submit(s->context, &task, NULL);
  if (status == WEIR_OK) status = weir_copy_out(s->buffers[0], 0, sizeof s->input, s->outputs[0], &s->events[0]);
  if (status == WEIR_OK) status = weir_copy_out(s->wrapped, 0, sizeof s->input, s->outputs[1], &s->events[1]);
  return status;
}

static uint32_t expected(uint32_t input, int output) {
  for (uint32_t i = 0; i < ROUNDS; i++) input = mixed(input, i);
  for (uint32_t i = 0; i < 2 * NODES; i++) input = mixed(input, i % NODES);
  return output == 0 ? input : mixed(input, 77);
}

static bool is_documented(weir_status status) {
  return status == WEIR_ERROR_OUT_OF_MEMORY || status == WEIR_ERROR_UNAVAILABLE || status == WEIR_ERROR_DEVICE_LOST ||
         status == WEIR_ERROR_TASK_FAILED || status == WEIR_ERROR_UPSTREAM_FAILED;
}

static void check(const scenario *s, const char *what) {
  for (int i = 0; i < 2; i++) {
    weir_status status = weir_event_wait(s->events[i], WEIR_FOREVER);
    if (status != WEIR_OK) {
      if (interposer_failed() == NULL)
        note_wrong("%s: output %d: %s (%s), though no call failed", what, i, weir_status_name(status),
                   weir_event_message(s->events[i]));
      if (!is_documented(status)) note_wrong("%s: output %d: %s", what, i, weir_status_name(status));
      if (weir_event_message(s->events[i])[0] == '\0') note_wrong("%s: output %d fails without a word", what, i);
      continue;
    }
    int same = 0;
    while (same < WORDS && s->outputs[i][same] == expected(s->input[same], i)) same++;
    if (same < WORDS) note_wrong("%s: output %d is wrong", what, i);
  }
}

// Unless the device is lost, what failed heals: buffers that are overwritten can be used.
static void check_heals(scenario *s, const char *what) {
  uint32_t value = 5, output[WORDS] = {0};
  weir_arg args[3];
  weir_finish(s->context);
  interposer_fail(NULL, 0, 0);
  weir_task task = mix_task(s->mix, args, s->buffers[1], s->buffers[0], &value);
  weir_status status = weir_copy_in(s->buffers[0], 0, sizeof s->input, s->input, NULL);
  if (status == WEIR_OK) status = weir_submit(s->context, &task, NULL);
  if (status == WEIR_OK) status = weir_copy_out(s->buffers[1], 0, sizeof output, output, NULL);
  weir_status finished = weir_finish(s->context);
  if (status == WEIR_OK) status = finished;
  if (status == WEIR_ERROR_DEVICE_LOST) return;
  if (status != WEIR_OK) note_wrong("%s: does not heal: %s: %s", what, weir_status_name(status), weir_last_error());
  for (int i = 0; i < WORDS && status == WEIR_OK; i++) {
    if (output[i] == mixed(s->input[i], value)) continue;
    note_wrong("%s: what is written later is wrong", what);
    return;
  }
}

static void release(scenario *s) {
  for (int i = 0; i < 2; i++) weir_event_release(s->events[i]);
  weir_graph_release(s->graph);
  for (int i = 0; i < BUFFERS; i++) weir_buffer_release(s->buffers[i]);
  weir_buffer_release(s->wrapped);
  weir_kernel_release(s->mix);
  weir_context_release(s->context);
}

// Runs the scenario with the Nth call failing. False: it makes fewer.
static bool run(const weir_context_options *options, const char *name, uint64_t n, VkResult result) {
  char what[160];
  snprintf(what, sizeof what, "%s, %u queues, call %llu of %s gives %d", options->devices, options->queues,
           (unsigned long long)n, name != NULL ? name : "all", (int)result);
  scenario s = {0};
  for (uint32_t i = 0; i < WORDS; i++) s.input[i] = i * 2654435761u;
  alarm(60);
  interposer_fail(name, n, result);
  weir_status status = weir_context_create(options, &s.context);
  if (status == WEIR_OK) status = play(&s);
  if (status != WEIR_OK && !is_documented(status)) note_wrong("%s: %s", what, weir_status_name(status));
  if (status != WEIR_OK && weir_last_error()[0] == '\0') note_wrong("%s: refused without a word", what);
  if (status == WEIR_OK) weir_finish(s.context);
  const char *failed = interposer_failed();
  if (failed != NULL) snprintf(what + strlen(what), sizeof what - strlen(what), " (%s)", failed);
  if (status == WEIR_OK) check(&s, what);
  if (status != WEIR_OK && failed == NULL) note_wrong("%s: %s though no call failed", what, weir_last_error());
  if (status == WEIR_OK && result != VK_ERROR_DEVICE_LOST) check_heals(&s, what);
  release(&s);
  alarm(0);
  if (interposer_live() != 0) note_wrong("%s: %lld objects are left", what, (long long)interposer_live());
  return failed != NULL;
}

static void sweep(const char *devices, const char *name, VkResult result, uint32_t least) {
  for (uint32_t queues = 1; queues <= 3; queues += 2) {
    weir_context_options options = {.devices = devices, .queues = queues};
    if (queues == 3) options.flags = WEIR_CONTEXT_TRACE;
    uint64_t n = 1;
    while (n < MANY && wrong == 0 && run(&options, name, n, result)) n++;
    if (wrong == 0 && (n <= least || n >= MANY)) note_wrong("%s: only %llu calls", devices, (unsigned long long)n);
  }
  unsigned found = wrong;
  wrong = 0;
  assert_int_equal(found, 0);
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

int main(void) {
  setenv("WEIR_VULKAN_LOADER", INTERPOSER, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_memory),
      cmocka_unit_test(the_device_is_lost),
      cmocka_unit_test(submissions_fail),
  };
  return cmocka_run_group_tests_name("Vulkan: failing calls", tests, NULL, NULL);
}
