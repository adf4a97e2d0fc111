// SPDX-License-Identifier: Apache-2.0
//
// Two tasks of a random program touch a word that they do not declare. ThreadSanitizer must report it exactly where no
// order between the two follows from what all tasks declare. The program finds out which by itself, and prints it.
#include "user.h"

enum { TRIALS = 60, TASKS = 12, BUFFERS = 2, USES = 2 };

typedef struct use {
  weir_mode mode;
  uint32_t buffer, lo, hi; // words
} use;

typedef struct task {
  use uses[USES];
  uint32_t count;
  uint32_t *word; // that it touches; NULL: none
  int after;      // a task before it; -1: none
} task;

static uint32_t words[TRIALS * 16];

static void run_task(const weir_work *work) {
  if (work->user != NULL) ++*(uint32_t *)work->user;
}

static bool conflict(const use *a, const use *b) {
  return a->buffer == b->buffer && a->lo < b->hi && b->lo < a->hi && (a->mode != WEIR_READ || b->mode != WEIR_READ);
}

static bool depends(const task *before, int before_index, const task *after) {
  bool found = after->after == before_index;
  for (uint32_t i = 0; i < before->count; i++)
    for (uint32_t j = 0; j < after->count; j++) found |= conflict(&before->uses[i], &after->uses[j]);
  return found;
}

static void draw_task(task *made, int index) {
  static const weir_mode modes[] = {WEIR_READ, WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE};
  made->count = draw(8) == 0 ? 0 : 1 + draw(USES);
  made->after = index > 0 && draw(6) == 0 ? (int)draw((uint32_t)index) : -1;
  uint32_t buffer = draw(BUFFERS);
  for (uint32_t i = 0; i < made->count; i++) {
    use *one = &made->uses[i];
    *one = (use){.mode = modes[draw(4)], .buffer = (buffer + i) % BUFFERS, .lo = draw(8)};
    one->hi = one->lo + 1 + draw(4);
  }
}

static void fill_args(const task *made, weir_buffer *const *buffers, weir_arg args[USES]) {
  for (uint32_t i = 0; i < made->count; i++) {
    const use *one = &made->uses[i];
    args[i] = (weir_arg){
        .mode = one->mode, .buffer = buffers[one->buffer], .offset = one->lo * 4, .bytes = (one->hi - one->lo) * 4};
  }
}

static void run_tasks(weir_context *context, const task *tasks, weir_buffer *const *buffers) {
  weir_event *events[TASKS];
  for (int i = 0; i < TASKS; i++) {
    weir_arg args[USES];
    fill_args(&tasks[i], buffers, args);
    must(weir_submit(context,
                     &(weir_task){.host = run_task,
                                  .user = tasks[i].word,
                                  .args = args,
                                  .arg_count = tasks[i].count,
                                  .after = tasks[i].after < 0 ? NULL : &events[tasks[i].after],
                                  .after_count = tasks[i].after >= 0},
                     &events[i]));
  }
  must(weir_finish(context));
  for (int i = 0; i < TASKS; i++) weir_event_release(events[i]);
}

static void run_graph(weir_context *context, const task *tasks, weir_buffer *const *buffers) {
  weir_graph *graph;
  must(weir_graph_create(context, NULL, &graph));
  for (int i = 0; i < TASKS; i++) {
    weir_arg args[USES];
    fill_args(&tasks[i], buffers, args);
    must(weir_graph_add(
        graph, &(weir_task){.host = run_task, .user = tasks[i].word, .args = args, .arg_count = tasks[i].count}, NULL));
  }
  must(weir_graph_evaluate(graph, WEIR_FOREVER));
  must(weir_graph_release(graph));
}

static void run_trial(weir_context *context, weir_buffer *const *buffers, int trial, bool graph) {
  task tasks[TASKS];
  bool before[TASKS][TASKS] = {{false}};
  int first = (int)draw(TASKS - 1), second = first + 1 + (int)draw((uint32_t)(TASKS - 1 - first));
  for (int i = 0; i < TASKS; i++) {
    draw_task(&tasks[i], i);
    if (graph) tasks[i].after = -1;
    tasks[i].word = i == first || i == second ? &words[trial * 16] : NULL;
    for (int j = 0; j < i; j++) {
      if (!depends(&tasks[j], j, &tasks[i])) continue;
      before[j][i] = true;
      for (int k = 0; k < j; k++) before[k][i] |= before[k][j];
    }
  }
  fprintf(stderr, "program %s_%d\n", before[first][second] ? "ordered" : "unordered", trial);
  (graph ? run_graph : run_tasks)(context, tasks, buffers);
}

static void pairs(weir_context *context) {
  static uint32_t memory[BUFFERS][16];
  weir_buffer *buffers[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) must(weir_buffer_wrap(context, memory[i], sizeof memory[i], &buffers[i]));
  for (int trial = 0; trial < TRIALS; trial++) run_trial(context, buffers, trial, trial % 3 == 2);
}

static const program programs[] = {{"pairs", pairs, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv) {
  return run_programs(programs, argc, argv);
}
