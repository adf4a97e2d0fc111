// SPDX-License-Identifier: Apache-2.0
//
// Programs without a race, whose every order is one that Weir promises. ThreadSanitizer must say nothing. Here:
// pipelines, chains, and launches over several devices.
#include "user.h"

// ---------------------------------------------------------------------------------------------------------------
// Pipelines, chains, launches over several devices

typedef struct line_state {
  uint32_t scratch, *memory;
  weir_buffer *buffer;
} line_state;

typedef struct line_user {
  weir_context *context;
  weir_kernel *adder; // short, so that a thread of the pipeline may run it by itself
  uint32_t made, checked, sums[64], last;
  bool fails;
} line_user;

static weir_status first_stage(weir_token *token) {
  line_user *user = token->user;
  line_state *line = token->line_state;
  if (user->made == 40) return weir_token_end_input(token);
  uint32_t *data = malloc(sizeof *data);
  *data = user->made++;
  token->data = data;
  line->scratch = *data;
  return WEIR_OK;
}

static weir_status work_stage(weir_token *token) {
  line_user *user = token->user;
  line_state *line = token->line_state;
  uint32_t *data = token->data;
  user->sums[token->number] = *data + line->scratch++;
  if (*data % 8 == 7 && user->fails) return weir_token_fail(token, WEIR_ERROR_TASK_FAILED, "as planned");
  for (int i = 0; i < 2; i++) {
    weir_arg args[] = {weir_updates(line->buffer)};
    const weir_task task = {.host = i == 0 ? add_to : NULL,
                            .kernel = i == 0 ? NULL : user->adder,
                            .user = i == 0 ? data : NULL,
                            .args = args,
                            .arg_count = 1};
    weir_status status = weir_token_submit(token, &task);
    if (status != WEIR_OK) return status;
  }
  return WEIR_OK;
}

static weir_status check_stage(weir_token *token) {
  line_user *user = token->user;
  line_state *line = token->line_state;
  user->checked += line->memory[3]; // awaited
  line->memory[3] = 0;
  ++*(uint32_t *)token->data;
  return WEIR_OK;
}

static void deliver(weir_token *token) {
  line_user *user = token->user;
  user->last = (uint32_t)token->number;
  free(token->data);
}

static weir_status open_line(void *user, uint32_t line, void **out_state) {
  (void)line;
  line_state *state = calloc(1, sizeof *state);
  state->memory = calloc(WORDS, 4);
  *out_state = state;
  return weir_buffer_wrap(((line_user *)user)->context, state->memory, BYTES, &state->buffer);
}

static void close_line(void *user, uint32_t line, void *state) {
  (void)user, (void)line;
  weir_buffer_release(((line_state *)state)->buffer);
  free(((line_state *)state)->memory);
  free(state);
}

static void pipelines(weir_context *context) {
  for (uint32_t graph = 0; graph < 2; graph++) {
    line_user user = {.context = context, .adder = kernel(context, "add", add_to), .fails = graph == 1};
    uint32_t as_graph = graph == 1 ? WEIR_STAGE_GRAPH : 0;
    weir_stage stages[] = {
        {.function = first_stage, .user = &user},
        {.function = work_stage, .user = &user, .flags = WEIR_STAGE_PARALLEL | WEIR_STAGE_AWAIT | as_graph},
        {.function = check_stage, .user = &user}};
    weir_pipeline *pipeline;
    must(weir_pipeline_create(context,
                              &(weir_pipeline_options){.stages = stages,
                                                       .stage_count = 3,
                                                       .lines = 5,
                                                       .threads = 2,
                                                       .deliver = deliver,
                                                       .open_line = open_line,
                                                       .close_line = close_line,
                                                       .user = &user},
                              &pipeline));
    for (int run = 0; run < 2; run++) {
      maybe(weir_pipeline_run(pipeline, WEIR_FOREVER), !user.fails);
      user.checked++;
      if (run == 0) user.made = 20; // the numbers go on, up to 60
    }
    if (user.last != 59) exit(3);
    must(weir_pipeline_release(pipeline));
  }
}

static void link_stage(const weir_work *work) {
  uint32_t *to = work->args[0];
  for (uint32_t i = 0; i < WORDS; i++) to[i] = (work->arg_count > 1 ? ((uint32_t *)work->args[1])[i] : 0) + 1;
}

static void chains(weir_context *context) {
  weir_chain *chain;
  uint64_t bytes[] = {BYTES, BYTES};
  weir_chain_arg first[] = {weir_chain_writes(0)}, second[] = {weir_chain_writes(1), weir_chain_reads(0)},
                 third[] = {weir_chain_item_arg(0), weir_chain_reads(1)};
  weir_chain_stage stages[] = {{.host = link_stage, .args = first, .arg_count = 1},
                               {.host = link_stage, .args = second, .arg_count = 2},
                               {.host = link_stage, .args = third, .arg_count = 2}};
  must(weir_chain_create(
      context, &(weir_chain_options){.stages = stages, .stage_count = 3, .link_bytes = bytes, .link_count = 2},
      &chain));
  uint32_t *memory[4];
  weir_buffer *outputs[4];
  weir_event *events[4] = {NULL};
  for (int i = 0; i < 4; i++) {
    memory[i] = calloc(WORDS, 4);
    must(weir_buffer_wrap(context, memory[i], BYTES, &outputs[i]));
  }
  for (int i = 0; i < 20; i++) {
    if (events[i % 4] != NULL) {
      must(weir_event_wait(events[i % 4], WEIR_FOREVER));
      memory[i % 4][7]++;
      weir_event_release(events[i % 4]);
    }
    weir_arg arg = weir_writes(outputs[i % 4]);
    must(weir_chain_submit(chain, &(weir_chain_item){.args = &arg, .arg_count = 1}, &events[i % 4]));
  }
  must(weir_finish(context));
  for (int i = 0; i < 4; i++) {
    weir_event_release(events[i]);
    weir_buffer_release(outputs[i]);
    free(memory[i]);
  }
  must(weir_chain_release(chain));
}

static void double_words(const weir_work *work) {
  uint32_t *to = work->args[0];
  const uint32_t *from = work->args[1];
  for (uint64_t i = work->first; i < work->end; i++) to[i] = 2 * from[i];
}

static void splits(weir_context *context) {
  uint32_t count = weir_context_device_count(context);
  if (count < 2) return;
  weir_device *devices[] = {weir_context_device(context, 0), weir_context_device(context, 1)};
  weir_split *split;
  must(weir_split_create(context, &(weir_split_options){.devices = devices, .device_count = 2}, &split));
  weir_kernel *doubler = kernel(context, "double", double_words);
  uint32_t *memory[2];
  weir_buffer *buffers[2];
  for (int i = 0; i < 2; i++) {
    memory[i] = calloc(WORDS, 4);
    must(weir_buffer_wrap(context, memory[i], BYTES, &buffers[i]));
  }
  for (int i = 0; i < 8; i++) {
    submit(context, add_to, NULL, (weir_arg[]){weir_updates(buffers[0])}, 1, NULL);
    weir_split_arg args[] = {weir_split_block(weir_writes(buffers[1]), 4), weir_split_block(weir_reads(buffers[0]), 4)};
    must(weir_split_submit(
        split, &(weir_split_launch){.kernel = doubler, .args = args, .arg_count = 2, .groups = {WORDS}}, NULL));
    submit(context, add_to, NULL, (weir_arg[]){weir_updates(buffers[1])}, 1, NULL);
  }
  must(weir_finish(context));
  if (memory[1][9] != 17) exit(3);
  for (int i = 0; i < 2; i++) {
    memory[i][0]++;
    weir_buffer_release(buffers[i]);
    free(memory[i]);
  }
  must(weir_split_release(split));
}

// ---------------------------------------------------------------------------------------------------------------

static const program programs[] = {
    {"pipelines", pipelines, 0}, {"chains", chains, 0}, {"splits", splits, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv) {
  return run_programs(programs, argc, argv);
}
