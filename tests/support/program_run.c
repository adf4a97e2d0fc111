// SPDX-License-Identifier: Apache-2.0
#include "program_run.h"

#include <stdarg.h>
#include <stdlib.h>

#include "program_enqueue.h"
#include "program_runner.h"
#include "random.h"

void runner_fail(runner *r, const char *format, ...) {
  if (r->failed) return;
  r->failed = true;
  va_list list;
  va_start(list, format);
  vsnprintf(r->message, PROGRAM_MESSAGE_BYTES, format, list);
  va_end(list);
}

bool runner_accept(runner *r, uint32_t index, weir_status status, const char *call) {
  if (status == WEIR_OK) return true;
  r->program->dropped[index] = true;
  if (!r->options->refusals || status != WEIR_ERROR_OUT_OF_MEMORY)
    runner_fail(r, "#%u: %s: %s: %s", index, call, weir_status_name(status), weir_last_error());
  return false;
}

uint64_t runner_hash(const unsigned char *memory, uint64_t bytes) {
  uint64_t hash = bytes;
  for (uint64_t i = 0; i < bytes; i++) hash = random_mix(hash + memory[i]);
  return hash;
}

static void initialize(runner *r) {
  uint32_t count = r->program->count;
  r->buffers = program_memory(count * sizeof *r->buffers);
  r->wrapped = program_memory(count * sizeof *r->wrapped);
  r->graphs = program_memory(count * sizeof *r->graphs);
  r->submissions = program_memory(count * sizeof *r->submissions);
  r->finish_statuses = program_memory(count * sizeof *r->finish_statuses);
  for (uint32_t i = 0; i < count; i++) r->submissions[i].polled = r->submissions[i].waited = WEIR_PENDING;
}

static bool create_context(runner *r) {
  r->context = r->options->shared;
  if (r->context != NULL) return true;
  weir_status status = weir_context_create(&r->options->context, &r->context);
  if (status == WEIR_OK) return true;
  if (!r->options->refusals || status != WEIR_ERROR_OUT_OF_MEMORY)
    runner_fail(r, "weir_context_create: %s: %s", weir_status_name(status), weir_last_error());
  if (r->context != NULL) runner_fail(r, "weir_context_create failed but gave a context");
  return false;
}

// Releases what the program left; if it was abandoned, the context has already taken it along.
static void release_rest(runner *r) {
  if (r->context == NULL) return;
  for (uint32_t i = 0; i < PROGRAM_GROUPS; i++) weir_group_release(r->groups[i]);
  for (uint32_t i = 0; i < r->program->count; i++) {
    weir_event_release(r->submissions[i].event);
    weir_graph_release(r->graphs[i]);
    weir_buffer_release(r->buffers[i]);
  }
  weir_kernel_release(r->combine);
  for (uint32_t i = 0; i < PROGRAM_KERNELS; i++)
    for (uint32_t j = 0; j < PROGRAM_FORMS; j++) weir_kernel_release(r->kernels[i][j]);
  if (r->calls != NULL) weir_finish(r->context);
  program_calls_destroy(&r->calls);
  if (r->options->shared == NULL)
    weir_context_release(r->context);
  else // no task may outlive its memory
    weir_finish(r->context);
}

static void count(const runner *r) {
  weir_statistics statistics;
  weir_context_statistics(r->context, &statistics);
  if (r->options->repeated != NULL) *r->options->repeated += statistics.repeated;
  if (r->options->evictions != NULL) *r->options->evictions += statistics.evictions;
}

static void deinitialize(runner *r) {
  for (uint32_t i = 0; i < r->program->count; i++) {
    free(r->wrapped[i]);
    free(r->submissions[i].memory);
  }
  free(r->buffers);
  free(r->wrapped);
  free(r->graphs);
  free(r->submissions);
  free(r->finish_statuses);
}

bool program_run(test_program *program, const program_options *options, char message[PROGRAM_MESSAGE_BYTES]) {
  runner r = {.program = program, .options = options, .message = message};
  message[0] = '\0';
  runner_set_packed(options->resident);
  initialize(&r);
  if (create_context(&r)) {
    runner_create_kernels(&r);
    for (uint32_t i = 0; i < program->count && !r.failed; i++) {
      if (program_operation_lacks(program, i)) program->dropped[i] = true;
      if (!program->dropped[i]) runner_perform(&r, i);
    }
    if (!r.failed) {
      reference_result expected;
      reference_run(&expected, program);
      runner_check(&r, &expected);
      reference_deinitialize(&expected);
    }
    count(&r);
    release_rest(&r);
  }
  if (options->enqueues || options->opens) program_enqueue_end();
  deinitialize(&r);
  return !r.failed;
}
