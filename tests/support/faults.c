// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <string.h>

enum { ROUNDS = 6, NODES = 4 };

static const uint32_t last_value = 77;

uint32_t faults_mixed(uint32_t from, uint32_t value) {
  return from * 3 + value;
}

void faults_mix(uint32_t *to, const uint32_t *from, uint32_t value) {
  for (int i = 0; i < WORDS; i++) to[i] = faults_mixed(from[i], value);
}

void faults_mix_on_cpu(const weir_work *work) {
  uint32_t value;
  memcpy(&value, work->args[2], sizeof value);
  faults_mix(work->args[0], work->args[1], value);
}

weir_task faults_task(weir_kernel *kernel, weir_arg args[3], weir_buffer *to, weir_buffer *from,
                      const uint32_t *value) {
  args[0] = weir_writes(to);
  args[1] = weir_reads(from);
  args[2] = weir_value(value, sizeof *value);
  return (weir_task){.kernel = kernel, .args = args, .arg_count = 3};
}

static weir_status submit_round(faults_scenario *s, uint32_t round) {
  weir_arg args[3];
  weir_task task = faults_task(s->mix, args, s->buffers[(round + 1) % 2], s->buffers[round % 2], &round);
  if (s->spread) task.device = weir_context_device(s->context, round % weir_context_device_count(s->context));
  return weir_submit(s->context, &task, NULL);
}

static weir_status record(faults_scenario *s) {
  weir_status status = weir_graph_create(s->context, NULL, &s->graph);
  for (uint32_t i = 0; i < NODES && status == WEIR_OK; i++) {
    weir_arg args[3];
    weir_task task = faults_task(s->mix, args, s->buffers[i % 2 == 0 ? 2 : 0], s->buffers[i % 2 == 0 ? 0 : 2], &i);
    status = weir_graph_add(s->graph, &task, NULL);
  }
  return status;
}

static weir_status play(faults_scenario *s) {
  weir_status status = s->make_kernel(s->context, &s->mix);
  for (int i = 0; i < FAULTS_BUFFERS && status == WEIR_OK; i++)
    status = weir_buffer_create(s->context, sizeof s->input, &s->buffers[i]);
  if (status == WEIR_OK) status = weir_buffer_wrap(s->context, s->memory, sizeof s->memory, &s->wrapped);
  if (status == WEIR_OK) status = weir_copy_in(s->buffers[0], 0, sizeof s->input, s->input, NULL);
  for (uint32_t i = 0; i < ROUNDS && status == WEIR_OK; i++) status = submit_round(s, i);
  if (status == WEIR_OK) status = record(s);
  for (int i = 0; i < 2 && status == WEIR_OK; i++) status = weir_graph_launch(s->graph, NULL);
  weir_arg args[3];
  weir_task task = faults_task(s->mix, args, s->wrapped, s->buffers[0], &last_value);
  if (status == WEIR_OK) status = weir_submit(s->context, &task, NULL);
  if (status == WEIR_OK) status = weir_copy_out(s->buffers[0], 0, sizeof s->input, s->outputs[0], &s->events[0]);
  if (status == WEIR_OK) status = weir_copy_out(s->wrapped, 0, sizeof s->input, s->outputs[1], &s->events[1]);
  return status;
}

static uint32_t expected(uint32_t input, int output) {
  for (uint32_t i = 0; i < ROUNDS; i++) input = faults_mixed(input, i);
  for (uint32_t i = 0; i < 2 * NODES; i++) input = faults_mixed(input, i % NODES);
  return output == 0 ? input : faults_mixed(input, last_value);
}

bool faults_are_documented(weir_status status) {
  return status == WEIR_ERROR_OUT_OF_MEMORY || status == WEIR_ERROR_UNAVAILABLE || status == WEIR_ERROR_DEVICE_LOST ||
         status == WEIR_ERROR_TASK_FAILED || status == WEIR_ERROR_UPSTREAM_FAILED;
}

weir_status faults_play(faults_scenario *s, const weir_context_options *options, const char *what) {
  for (uint32_t i = 0; i < WORDS; i++) s->input[i] = i * 2654435761u;
  weir_status status = weir_context_create(options, &s->context);
  if (status == WEIR_OK) status = play(s);
  if (status == WEIR_OK) return status;
  if (!faults_are_documented(status)) faults_wrong("%s: %s", what, weir_status_name(status));
  if (weir_last_error()[0] == '\0') faults_wrong("%s: refused without a word", what);
  return status;
}

void faults_check(const faults_scenario *s, const char *what) {
  for (int i = 0; i < 2; i++) {
    weir_status status = weir_event_wait(s->events[i], WEIR_FOREVER);
    if (status != WEIR_OK) {
      const char *message = weir_event_message(s->events[i]);
      if (s->failed() == NULL)
        faults_wrong("%s: output %d: %s (%s), though no call failed", what, i, weir_status_name(status), message);
      if (!faults_are_documented(status)) faults_wrong("%s: output %d: %s", what, i, weir_status_name(status));
      if (message[0] == '\0') faults_wrong("%s: output %d fails without a word", what, i);
      continue;
    }
    int same = 0;
    while (same < WORDS && s->outputs[i][same] == expected(s->input[same], i)) same++;
    if (same < WORDS) faults_wrong("%s: output %d is wrong", what, i);
  }
}

void faults_release(faults_scenario *s) {
  for (int i = 0; i < 2; i++) weir_event_release(s->events[i]);
  weir_graph_release(s->graph);
  for (int i = 0; i < FAULTS_BUFFERS; i++) weir_buffer_release(s->buffers[i]);
  weir_buffer_release(s->wrapped);
  weir_kernel_release(s->mix);
  weir_context_release(s->context);
}

static unsigned wrong;

void faults_wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (wrong++ < 40) {
    vprint_message(format, arguments);
    print_message("\n");
  }
  va_end(arguments);
}

unsigned faults_found(void) {
  return wrong;
}

void faults_expect_none(void) {
  unsigned found = wrong;
  wrong = 0;
  assert_int_equal(found, 0);
}
