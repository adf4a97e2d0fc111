// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"
#include "device_clock.h"
#include "task.kernels.h"
#include "timing.h"
#include "ways.h"

enum { WORD = 16, WORDS = 32 }; // indices of words: a copy lands at 0, WORD is in a line of its own

struct wait_weir {
  const wait_way *way;
  weir_context *context;
  weir_device *device;
  weir_kernel *kernel;
  weir_buffer *cells[WAIT_CELLS];
  bool is_cuda;
  uint64_t *words; // memory of the host's that the device reaches
  uint64_t tasks;  // that were submitted
};

static bool say(const wait_weir *state, const char *what) {
  fprintf(stderr, "weir-bench-wait: %s: %s\n", state->way->name, what);
  return false;
}

static weir_status make_words(wait_weir *state) {
  void *words = NULL;
  weir_status status = WEIR_OK;
  if (state->is_cuda)
    status = weir_host_allocate(state->device, WORDS * sizeof *state->words, &words);
  else
    words = gpu_memory(WORDS, sizeof *state->words);
  state->words = words;
  return status;
}

static void free_words(wait_weir *state) {
  if (state->is_cuda)
    weir_host_free(state->device, state->words);
  else
    free(state->words);
}

static weir_status make(wait_weir *state, const char *device) {
  const weir_context_options options = {.devices = device, .issue = state->way->issue, .flags = state->way->flags};
  weir_status status = weir_context_create(&options, &state->context);
  if (status != WEIR_OK) return status;
  state->device = weir_context_device(state->context, 0);
  state->is_cuda = strcmp(weir_device_information(state->device)->kind, "cuda") == 0;
  status = make_words(state);
  if (status == WEIR_OK) status = weir_kernel_create_from(state->context, &wait_task, &state->kernel);
  for (uint32_t i = 0; i < WAIT_CELLS && status == WEIR_OK; i++)
    status = weir_buffer_create(state->context, WAIT_CELL_BYTES, &state->cells[i]);
  if (status == WEIR_OK) status = weir_fill(state->cells[WAIT_ZERO], 0, WAIT_CELL_BYTES, 0, NULL);
  return status == WEIR_OK ? weir_finish(state->context) : status;
}

wait_weir *wait_weir_open(const wait_way *way, const char *device, weir_status *out_status) {
  wait_weir *state = gpu_memory(1, sizeof *state);
  state->way = way;
  *out_status = make(state, device);
  if (*out_status == WEIR_OK) return state;
  say(state, weir_last_error());
  wait_weir_close(state);
  return NULL;
}

void wait_weir_close(wait_weir *state) {
  if (state == NULL) return;
  if (state->context != NULL) {
    weir_finish_for(state->context, WAIT_LIMIT_NS);
    free_words(state);
  }
  weir_context_release(state->context);
  free(state);
}

// Submits all tasks. The last one gets an event, if it is asked for, and writes to the word, if the job has one.
static weir_status submit(wait_weir *state, const wait_job *job, weir_event **out_event) {
  weir_status status = WEIR_OK;
  for (uint32_t t = 0; t < job->shape->tasks && status == WEIR_OK; t++) {
    bool last = t + 1 == job->shape->tasks;
    uint32_t inputs[WAIT_INPUTS];
    wait_inputs_of(job->shape, t, inputs);
    uint64_t number = job->salt + t, word = last && job->sight == WAIT_WORD ? (uintptr_t)(state->words + WORD) : 0;
    const weir_arg args[] = {weir_writes(state->cells[wait_cell_of(job->shape, t)]),
                             weir_reads(state->cells[inputs[0]]),
                             weir_reads(state->cells[inputs[1]]),
                             weir_reads(state->cells[inputs[2]]),
                             weir_value(&number, sizeof number),
                             weir_value(&job->spin_ns, sizeof job->spin_ns),
                             weir_value(&word, sizeof word)};
    const weir_task task = {.kernel = state->kernel, .args = args, .arg_count = 7};
    status = weir_submit(state->context, &task, last ? out_event : NULL);
  }
  state->tasks += job->shape->tasks;
  return status;
}

// Until the host has seen what it waits for.
static weir_status run(wait_weir *state, const wait_job *job, weir_buffer *last, wait_sample *sample) {
  weir_event *event = NULL;
  sample->submit_ns = wait_clock_ns();
  weir_status status = submit(state, job, job->sight == WAIT_COPY ? NULL : &event);
  if (status == WEIR_OK && job->sight == WAIT_COPY)
    status = weir_copy_out(last, 0, WAIT_CELL_BYTES, state->words, &event);
  // Who only looks at a word has to tell the library that it waits.
  if (status == WEIR_OK && job->sight == WAIT_WORD) weir_event_poll(event);
  sample->wait_ns = wait_clock_ns();
  if (status == WEIR_OK && job->sight == WAIT_WORD) {
    if (!wait_for_word(state->way->name, state->words + WORD, sample)) status = WEIR_TIMEOUT;
  } else if (status == WEIR_OK) {
    status = weir_event_wait(event, WAIT_LIMIT_NS);
    sample->seen_ns = wait_clock_ns();
  }
  weir_event_release(event);
  return status;
}

bool wait_weir_run(wait_weir *state, const wait_job *job, wait_sample *sample) {
  weir_buffer *last = state->cells[wait_cell_of(job->shape, job->shape->tasks - 1)];
  memset(state->words, 0, WORDS * sizeof *state->words);
  weir_status status = run(state, job, last, sample);
  if (status == WEIR_OK && job->sight != WAIT_COPY)
    status = weir_copy_out(last, 0, WAIT_CELL_BYTES, state->words, NULL);
  if (status == WEIR_OK) status = weir_finish_for(state->context, WAIT_LIMIT_NS);
  if (status != WEIR_OK) return say(state, status == WEIR_TIMEOUT ? weir_status_text(status) : weir_last_error());
  if (job->sight != WAIT_WORD) sample->write_ns = state->words[1];
  return wait_check(state->way->name, job, state->words[0], sample->write_ns);
}

double wait_weir_resident(const wait_weir *state) {
  weir_statistics statistics;
  weir_context_statistics(state->context, &statistics);
  return state->tasks == 0 ? 0 : (double)statistics.resident / (double)state->tasks;
}
