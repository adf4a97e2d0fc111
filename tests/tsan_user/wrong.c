// SPDX-License-Identifier: Apache-2.0
//
// Programs with a race each, which ThreadSanitizer must report. Weir happens to order most of them at run time, by one
// thread that runs one function after the other or by a lock of its own; it promises none of these orders.
#include <pthread.h>

#include "user.h"

static uint32_t shared;

static void touch(const weir_work *work) {
  (void)work;
  shared++;
}

static void nothing(const weir_work *work) {
  (void)work;
}

// Tasks behind a gate run when it opens, and that is no order.
static uint32_t gate;

static void wait_at_gate(const weir_work *work) {
  (void)work;
  while (__atomic_load_n(&gate, __ATOMIC_RELAXED) == 0) continue;
}

static void set_gate(uint32_t open) {
  __atomic_store_n(&gate, open, __ATOMIC_RELAXED);
}

static void write_words(const weir_work *work) {
  uint32_t *words = work->args[0];
  uint32_t count = work->user != NULL ? *(uint32_t *)work->user : WORDS;
  for (uint32_t i = 0; i < count; i++) words[i] = i;
}

static weir_buffer *wrap(weir_context *context, uint32_t *memory) {
  weir_buffer *buffer;
  must(weir_buffer_wrap(context, memory, BYTES, &buffer));
  return buffer;
}

// ---------------------------------------------------------------------------------------------------------------
// The program and a task

static uint32_t memory[WORDS], others[WORDS];

static void touches_wrapped_memory(weir_context *context) {
  weir_arg arg = weir_writes(wrap(context, memory));
  submit(context, write_words, NULL, &arg, 1, NULL);
  memory[7] = 1;
}

static void reads_without_waiting(weir_context *context) {
  weir_buffer *buffer;
  weir_event *event;
  must(weir_buffer_create(context, BYTES, &buffer));
  must(weir_fill(buffer, 0, WEIR_WHOLE, 3, NULL));
  must(weir_copy_out(buffer, 0, BYTES, memory, &event));
  while (weir_event_wait(event, 0) == WEIR_TIMEOUT && draw(1000) != 0) others[0] = memory[9];
  others[0] = memory[9];
  weir_event_release(event);
}

static void changes_a_source(weir_context *context) {
  weir_buffer *buffer;
  must(weir_buffer_create(context, BYTES, &buffer));
  must(weir_copy_in(buffer, 0, BYTES, memory, NULL));
  memory[5]++;
}

static void waits_for_another(weir_context *context) {
  weir_event *event;
  weir_arg arg = weir_writes(wrap(context, memory));
  submit(context, write_words, NULL, &arg, 1, NULL);
  submit(context, nothing, NULL, NULL, 0, &event);
  must(weir_event_wait(event, WEIR_FOREVER));
  others[0] = memory[1];
  weir_event_release(event);
}

static void waits_for_another_group(weir_context *context) {
  weir_group *groups[2];
  for (int i = 0; i < 2; i++) {
    must(weir_group_create(context, &groups[i]));
    must(weir_submit(context, &(weir_task){.host = i == 0 ? touch : nothing, .group = groups[i]}, NULL));
  }
  must(weir_group_wait(groups[1], WEIR_FOREVER));
  shared++;
}

static void add_user(const weir_work *work) {
  ++*(uint32_t *)work->user;
}

static void frees_early(weir_context *context) {
  uint32_t *user = malloc(sizeof *user);
  *user = 1;
  submit(context, add_user, user, NULL, 0, NULL);
  free(user);
}

// ---------------------------------------------------------------------------------------------------------------
// Two tasks

static void tasks_share(weir_context *context) {
  for (int i = 0; i < 2; i++) submit(context, touch, NULL, NULL, 0, NULL);
}

static void tasks_share_far_apart(weir_context *context) {
  submit(context, touch, NULL, NULL, 0, NULL);
  for (int i = 0; i < 20; i++) submit(context, nothing, NULL, NULL, 0, NULL);
  submit(context, touch, NULL, NULL, 0, NULL);
}

static void writes_too_much(weir_context *context) {
  static uint32_t counts[2] = {WORDS / 2 + 1, WORDS / 2}; // the first one writes a word of the second's
  weir_buffer *buffer = wrap(context, memory);
  for (uint32_t i = 0; i < 2; i++) {
    weir_arg arg = weir_writes_range(buffer, i * BYTES / 2, BYTES / 2);
    submit(context, write_words, &counts[i], &arg, 1, NULL);
  }
}

static void writes_what_it_reads(weir_context *context) {
  weir_arg arg = weir_reads(wrap(context, memory));
  for (int i = 0; i < 2; i++) submit(context, write_words, NULL, &arg, 1, NULL);
}

static void overwrite(const weir_work *work) {
  wait_at_gate(work);
  write_words(work);
  shared++;
}

static void overwrites_are_not_ordered(weir_context *context) {
  weir_buffer *buffer;
  set_gate(0);
  must(weir_buffer_create(context, BYTES, &buffer));
  for (int i = 0; i < 2; i++) {
    weir_arg arg = weir_writes(buffer);
    submit(context, overwrite, NULL, &arg, 1, NULL);
    arg = weir_reads(buffer);
    submit(context, nothing, NULL, &arg, 1, NULL);
  }
  set_gate(1);
}

static void add_word(const weir_work *work) {
  ++*(uint32_t *)work->args[0];
  shared++;
}

static void reductions_share(weir_context *context) {
  const weir_reduction add = {.operation = WEIR_REDUCE_SUM, .type = WEIR_REDUCE_U32};
  weir_buffer *buffers[2];
  for (int i = 0; i < 2; i++) {
    must(weir_buffer_create(context, BYTES, &buffers[i]));
    must(weir_fill(buffers[i], 0, WEIR_WHOLE, 0, NULL));
    weir_arg arg = i == 0 ? weir_reduces(buffers[i], &add) : weir_commutes(buffers[i]);
    submit(context, add_word, NULL, &arg, 1, NULL);
  }
}

static void two_copies_to_one_place(weir_context *context) {
  for (int i = 0; i < 2; i++) {
    weir_buffer *buffer;
    must(weir_buffer_create(context, BYTES, &buffer));
    must(weir_fill(buffer, 0, WEIR_WHOLE, 3, NULL));
    must(weir_copy_out(buffer, 0, BYTES, memory, NULL));
  }
}

static void count_groups(const weir_work *work) {
  uint32_t *words = work->args[0];
  for (uint64_t i = work->first; i < work->end; i++) {
    for (uint32_t round = 0; round < 3000; round++) words[i % WORDS] += round;
    shared++;
  }
}

static void groups_share(weir_context *context) {
  weir_kernel *counter = kernel(context, "count", count_groups);
  weir_buffer *buffer;
  must(weir_buffer_create(context, BYTES, &buffer));
  weir_arg arg = weir_updates(buffer);
  must(weir_fill(buffer, 0, WEIR_WHOLE, 0, NULL));
  for (int i = 0; i < 3; i++) // the first ones measure
    must(weir_submit(context, &(weir_task){.kernel = counter, .args = &arg, .arg_count = 1, .groups = {WORDS}}, NULL));
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs, children, callbacks

static void nodes_share(weir_context *context) {
  weir_graph *graph;
  must(weir_graph_create(context, NULL, &graph));
  for (int i = 0; i < 2; i++) must(weir_graph_add(graph, &(weir_task){.host = touch}, NULL));
  must(weir_graph_launch(graph, NULL));
  must(weir_graph_wait(graph, WEIR_FOREVER));
}

static void launches_share(weir_context *context) {
  weir_graph *graph;
  must(weir_graph_create(context, NULL, &graph));
  must(weir_graph_add(graph, &(weir_task){.host = touch}, NULL));
  for (int i = 0; i < 2; i++) must(weir_graph_launch(graph, NULL));
  must(weir_graph_wait(graph, WEIR_FOREVER));
}

static void parent(const weir_work *work) {
  submit(work->user, touch, NULL, NULL, 0, NULL);
  shared++;
}

static void parent_and_child(weir_context *context) {
  submit(context, parent, context, NULL, 0, NULL);
}

static void count_call(void *user, weir_status status) {
  (void)status;
  ++*(uint32_t *)user;
}

static void callback_and_program(weir_context *context) {
  weir_event *event;
  set_gate(0);
  submit(context, wait_at_gate, NULL, NULL, 0, &event);
  must(weir_event_on_done(event, count_call, &shared));
  set_gate(1);
  shared++;
  weir_event_release(event);
}

static void callbacks_of_two_tasks(weir_context *context) {
  set_gate(0);
  for (int i = 0; i < 2; i++) {
    weir_event *event;
    submit(context, wait_at_gate, NULL, NULL, 0, &event);
    must(weir_event_on_done(event, count_call, &shared));
    weir_event_release(event);
  }
  set_gate(1);
}

static void clear(void *user) {
  *(uint32_t *)user = 0;
}

static void destroy_and_program(weir_context *context) {
  must(weir_submit(context, &(weir_task){.host = nothing, .user = &shared, .destroy = clear}, NULL));
  shared++;
}

// ---------------------------------------------------------------------------------------------------------------
// Pipelines

static weir_status count_tokens(weir_token *token) {
  uint32_t *made = token->user;
  return (*made)++ == 30 ? weir_token_end_input(token) : WEIR_OK;
}

static weir_status count_all(weir_token *token) {
  (void)token;
  shared++;
  return WEIR_OK;
}

static void run_pipeline(weir_context *context, weir_stage_function function, uint32_t flags, void *user) {
  uint32_t made = 0;
  weir_stage stages[] = {{.function = count_tokens, .user = &made},
                         {.function = function, .user = user, .flags = flags}};
  weir_pipeline *pipeline;
  must(weir_pipeline_create(
      context, &(weir_pipeline_options){.stages = stages, .stage_count = 2, .lines = 4, .threads = 2}, &pipeline));
  must(weir_pipeline_run(pipeline, WEIR_FOREVER));
  must(weir_pipeline_release(pipeline));
}

static void parallel_stage_shares(weir_context *context) {
  run_pipeline(context, count_all, WEIR_STAGE_PARALLEL, NULL);
}

static weir_status submit_and_look(weir_token *token) {
  weir_buffer *buffer = token->user;
  weir_arg arg = weir_updates(buffer);
  weir_status status = weir_token_submit(token, &(weir_task){.host = write_words, .args = &arg, .arg_count = 1});
  others[0] += memory[3]; // not awaited
  return status;
}

static void stage_does_not_await(weir_context *context) {
  run_pipeline(context, submit_and_look, 0, wrap(context, memory));
}

// ---------------------------------------------------------------------------------------------------------------
// Threads: that both call Weir is no order between them

static void *submit_first(void *context) {
  shared++;
  submit(context, nothing, NULL, NULL, 0, NULL);
  __atomic_store_n(&others[1], 1, __ATOMIC_RELAXED);
  return NULL;
}

static void submitters_share(weir_context *context) {
  pthread_t thread;
  others[1] = 0;
  pthread_create(&thread, NULL, submit_first, context);
  while (__atomic_load_n(&others[1], __ATOMIC_RELAXED) == 0) continue;
  submit(context, nothing, NULL, NULL, 0, NULL);
  shared++;
  pthread_join(thread, NULL);
}

static const program programs[] = {{"touches_wrapped_memory", touches_wrapped_memory, 0},
                                   {"reads_without_waiting", reads_without_waiting, 0},
                                   {"changes_a_source", changes_a_source, 0},
                                   {"waits_for_another", waits_for_another, 0},
                                   {"waits_for_another_group", waits_for_another_group, 0},
                                   {"frees_early", frees_early, 0},
                                   {"tasks_share", tasks_share, 0},
                                   {"tasks_share_far_apart", tasks_share_far_apart, 0},
                                   {"writes_too_much", writes_too_much, 0},
                                   {"writes_what_it_reads", writes_what_it_reads, 0},
                                   {"overwrites_are_not_ordered", overwrites_are_not_ordered, 0},
                                   {"reductions_share", reductions_share, 0},
                                   {"two_copies_to_one_place", two_copies_to_one_place, 0},
                                   {"groups_share", groups_share, 0},
                                   {"nodes_share", nodes_share, 0},
                                   {"launches_share", launches_share, 0},
                                   {"parent_and_child", parent_and_child, 0},
                                   {"callback_and_program", callback_and_program, 0},
                                   {"callbacks_of_two_tasks", callbacks_of_two_tasks, 0},
                                   {"destroy_and_program", destroy_and_program, 0},
                                   {"parallel_stage_shares", parallel_stage_shares, 0},
                                   {"stage_does_not_await", stage_does_not_await, 0},
                                   {"submitters_share", submitters_share, 0},
                                   {NULL, NULL, 0}};

int main(int argc, char **argv) {
  return run_programs(programs, argc, argv);
}
