// SPDX-License-Identifier: Apache-2.0
//
// Programs without a race, whose every order is one that Weir promises. ThreadSanitizer must say nothing. Here: tasks
// on buffers, one by one and in graphs.
#include <errno.h>

#include "user.h"

enum { BUFFERS = 6 };

// ---------------------------------------------------------------------------------------------------------------
// Random tasks on few buffers. What is not a buffer's, but used along with its bytes, is ordered as they are, as long
// as no storage takes another's place: `beside` goes with buffers that are wrapped.

typedef struct worked {
  weir_kernel *steps;
  weir_buffer *buffers[BUFFERS];
  uint32_t *memory[BUFFERS]; // NULL: Weir's own
  uint32_t beside[BUFFERS][WORDS];
} worked;

// What a task does: for each argument its mode, its buffer and its words.
typedef struct step {
  worked *all;
  uint32_t count;
  bool fails;
  struct {
    weir_mode mode;
    uint32_t buffer, first, words;
    weir_box box; // rows: of one word each
  } uses[3];
} step;

static _Thread_local uint32_t scratch[WORDS];

static void run_step(const weir_work *work) {
  const step *self = work->args[work->arg_count - 1]; // a value
  if (self->fails) weir_work_fail(work, "as planned");
  uint32_t sum = 0;
  char text[32];
  errno = 0;
  for (uint32_t i = 0; i < self->count; i++) {
    uint32_t *words = work->args[i], *beside = self->all->beside[self->uses[i].buffer] + self->uses[i].first;
    bool wrapped = self->all->memory[self->uses[i].buffer] != NULL;
    uint32_t stride = self->uses[i].box.pitch != 0 ? (uint32_t)self->uses[i].box.pitch / 4 : 1;
    for (uint32_t word = 0; word < self->uses[i].words; word++) {
      uint32_t at = word * stride;
      if (self->uses[i].mode != WEIR_WRITE) sum += words[at] + (wrapped ? beside[at] : 0);
      if (self->uses[i].mode != WEIR_READ) words[at] = sum;
      if (self->uses[i].mode != WEIR_READ && wrapped) beside[at] = sum;
      scratch[word] += sum;
    }
  }
  snprintf(text, sizeof text, "%u", sum + scratch[0]);
  errno = text[0] == '-';
}

static weir_arg make_use(step *made, uint32_t index, weir_mode mode, uint32_t buffer) {
  weir_buffer *used = made->all->buffers[buffer];
  uint32_t words = 1 + draw(WORDS), first = draw(WORDS - words + 1);
  if (draw(3) == 0) words = WORDS, first = 0;
  made->uses[index].mode = mode;
  made->uses[index].buffer = buffer;
  made->uses[index].first = first;
  made->uses[index].words = words;
  weir_arg arg = {.mode = mode, .buffer = used, .offset = first * 4, .bytes = words * 4};
  if (buffer == 1 && words >= 8 && words < 32) { // by rows: every second word
    made->uses[index].first = 0;
    made->uses[index].box = (weir_box){.width = 4, .pitch = 8, .rows = words};
    arg = (weir_arg){.mode = mode, .shape = WEIR_BOX, .buffer = used, .value = &made->uses[index].box};
  }
  return arg;
}

static void submit_step(weir_context *context, worked *all, weir_event **out_event, weir_event *after) {
  static const weir_mode modes[] = {WEIR_READ, WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE, WEIR_COMMUTE};
  step made = {.all = all, .count = 1 + draw(3)};
  weir_arg args[4];
  uint32_t from = draw(BUFFERS);
  for (uint32_t i = 0; i < made.count; i++) args[i] = make_use(&made, i, modes[draw(5)], (from + i) % BUFFERS);
  args[made.count] = weir_value(&made, sizeof made);
  bool host = draw(2) == 0;
  must(weir_submit(context,
                   &(weir_task){.host = host ? run_step : NULL,
                                .kernel = host ? NULL : all->steps,
                                .device = host ? NULL : any_device(context),
                                .args = args,
                                .arg_count = made.count + 1,
                                .after = &after,
                                .after_count = after != NULL,
                                .priority = (int32_t)draw(3)},
                   out_event));
}

static worked *open_worked(weir_context *context) {
  worked *all = calloc(1, sizeof *all);
  all->steps = kernel(context, "step", run_step);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    if (i < BUFFERS / 2) {
      all->memory[i] = calloc(WORDS, 4);
      must(weir_buffer_wrap(context, all->memory[i], BYTES, &all->buffers[i]));
    } else {
      must(weir_buffer_create(context, BYTES, &all->buffers[i]));
      must(weir_fill(all->buffers[i], 0, WEIR_WHOLE, i, NULL));
    }
  }
  return all;
}

// All tasks are done.
static uint32_t close_worked(worked *all) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < BUFFERS; i++) {
    for (uint32_t word = 0; word < WORDS && all->memory[i] != NULL; word++) sum += all->memory[i][word]++;
    for (uint32_t word = 0; word < WORDS; word++) sum += all->beside[i][word]++;
    weir_buffer_release(all->buffers[i]);
    free(all->memory[i]);
  }
  weir_kernel_release(all->steps);
  free(all);
  return sum;
}

static void random_tasks(weir_context *context) {
  worked *all = open_worked(context);
  uint32_t in[WORDS] = {0}, out[WORDS];
  weir_event *after = NULL;
  for (int i = 0; i < 300; i++) {
    weir_event *event = NULL;
    submit_step(context, all, &event, after);
    if (after != NULL) weir_event_release(after);
    after = NULL;
    uint32_t dice = draw(40);
    if (dice < 4) must(weir_event_wait(event, WEIR_FOREVER));
    if (dice >= 4 && dice < 12) after = event, event = NULL;
    weir_event_release(event);
    if (dice == 13) { // a buffer anew, whose storage another one may get
      uint32_t anew = BUFFERS / 2 + draw(BUFFERS / 2);
      weir_buffer_release(all->buffers[anew]);
      must(weir_buffer_create(context, BYTES, &all->buffers[anew]));
      must(weir_fill(all->buffers[anew], 0, WEIR_WHOLE, 0, NULL));
    }
    if (dice == 14) must(weir_read(all->buffers[draw(BUFFERS)], 0, BYTES, out));
    if (dice == 15) {
      must(weir_finish(context));
      all->memory[0][3] += in[5] + out[7];
      for (uint32_t word = 0; word < WORDS; word++) in[word] = all->memory[1][word] + all->beside[2][word]++;
    }
    if (dice == 16) {
      must(weir_copy_in(all->buffers[draw(BUFFERS)], 0, BYTES, in, NULL));
      must(weir_copy(all->buffers[0], 0, all->buffers[4], 0, BYTES / 2, NULL));
      must(weir_copy_out(all->buffers[0], 0, BYTES, out, &event));
      must(weir_event_wait(event, WEIR_FOREVER));
      weir_event_release(event);
      must(weir_finish(context));
      in[0] = out[1]++;
    }
  }
  weir_event_release(after);
  must(weir_finish(context));
  close_worked(all);
}

// ---------------------------------------------------------------------------------------------------------------
// Launches that several workers share, and versions of one buffer

static void produce(const weir_work *work) {
  uint32_t *words = work->args[0], seed = *(uint32_t *)work->args[1];
  for (uint64_t i = work->first; i < work->end; i++)
    for (uint32_t round = 0; round < 200; round++) words[i] = seed * (uint32_t)i + round;
}

static void consume(const weir_work *work) {
  uint32_t *sums = work->args[0], *own = work->args[2];
  const uint32_t *words = work->args[1];
  for (uint64_t i = work->first; i < work->end; i++) sums[i] += words[i];
  if (work->groups[0] == 1) *own += 1; // a value is the task's own
}

static void renamed_launches(weir_context *context) {
  enum { GROUPS = 512 };
  weir_kernel *producer = kernel(context, "produce", produce), *consumer = kernel(context, "consume", consume);
  weir_buffer *words, *sums;
  uint32_t *memory = calloc(GROUPS, 4);
  must(weir_buffer_create(context, GROUPS * 4, &words));
  must(weir_buffer_wrap(context, memory, GROUPS * 4, &sums));
  for (uint32_t i = 0; i < 60; i++) {
    weir_arg write[] = {weir_writes(words), weir_value(&i, sizeof i)};
    must(weir_submit(context, &(weir_task){.kernel = producer, .args = write, .arg_count = 2, .groups = {GROUPS}},
                     NULL));
    weir_arg add[] = {weir_updates(sums), weir_reads(words), weir_value(&i, sizeof i)};
    must(weir_submit(context, &(weir_task){.kernel = consumer, .args = add, .arg_count = 3, .groups = {GROUPS}}, NULL));
    if (i % 20 == 0) must(weir_submit(context, &(weir_task){.kernel = consumer, .args = add, .arg_count = 3}, NULL));
  }
  must(weir_finish(context));
  for (uint32_t i = 0; i < GROUPS; i++) memory[i]++;
  weir_buffer_release(sums);
  free(memory);
}

// ---------------------------------------------------------------------------------------------------------------
// Additions, in any order

static void reductions(weir_context *context) {
  weir_buffer *sum, *set;
  uint32_t counted = 0, out[WORDS];
  const weir_reduction add = {.operation = WEIR_REDUCE_SUM, .type = WEIR_REDUCE_U32};
  must(weir_buffer_create(context, BYTES, &sum));
  must(weir_buffer_create(context, BYTES, &set));
  must(weir_fill(sum, 0, WEIR_WHOLE, 0, NULL));
  must(weir_fill(set, 0, WEIR_WHOLE, 0, NULL));
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 12; i++) {
      submit(context, add_to, NULL, (weir_arg[]){weir_reduces(sum, &add)}, 1, NULL);
      submit(context, add_to, &counted, (weir_arg[]){weir_commutes(set)}, 1, NULL); // one at a time
    }
    must(weir_read(sum, 0, BYTES, out));
    must(weir_read(set, 0, BYTES, out));
    counted++;
  }
  if (out[5] != 48 || counted != 52) exit(3);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs, of whose tasks some fail at last

static void graphs(weir_context *context) {
  worked *all = open_worked(context);
  uint32_t in[WORDS] = {0}, out[WORDS] = {0};
  for (int round = 0; round < 6; round++) {
    weir_graph *graph;
    must(weir_graph_create(context, &(weir_graph_options){.device = any_device(context)}, &graph));
    static const weir_mode modes[] = {WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE, WEIR_READ};
    step steps[30];
    must(weir_graph_copy_in(graph, all->buffers[0], 0, BYTES, in, NULL));
    for (int node = 0; node < 30; node++) {
      step *made = &steps[node];
      *made = (step){.all = all, .count = 1 + draw(2), .fails = round >= 4 && draw(6) == 0};
      weir_arg args[3];
      uint32_t from = draw(BUFFERS);
      for (uint32_t i = 0; i < made->count; i++) args[i] = make_use(made, i, modes[draw(4)], (from + i) % BUFFERS);
      args[made->count] = weir_value(made, sizeof *made);
      must(weir_graph_add(graph, &(weir_task){.kernel = all->steps, .args = args, .arg_count = made->count + 1}, NULL));
    }
    must(weir_graph_copy_out(graph, all->buffers[3], 0, BYTES, out, NULL));
    for (int launch = 0; launch < 3; launch++) {
      must(weir_graph_launch(graph, NULL));
      submit_step(context, all, NULL, NULL);
    }
    maybe(weir_graph_wait(graph, WEIR_FOREVER), round < 4);
    in[3] = out[4]++;
    maybe(weir_graph_evaluate(graph, WEIR_FOREVER), round < 4);
    in[3] += out[4]++;
    must(weir_graph_release(graph));
  }
  (void)weir_finish(context);
  close_worked(all);
}

// ---------------------------------------------------------------------------------------------------------------
// Profiling

typedef struct profiled {
  uint32_t events[3];
  char last[64];
} profiled;

static void note_event(void *user, const weir_profile_event *event) {
  profiled *self = user;
  self->events[event->what]++;
  snprintf(self->last, sizeof self->last, "%s %s", event->label, event->kernel);
}

static void profiles(weir_context *unused) {
  (void)unused;
  profiled noted = {{0}};
  weir_context *context;
  must(weir_context_create(&(weir_context_options){.devices = "cpu:2", .profile = note_event, .profile_user = &noted},
                           &context));
  worked *all = open_worked(context);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 20; i++) submit_step(context, all, NULL, NULL);
    must(weir_finish(context));
    noted.events[0]++;
    noted.last[0] = '\0';
  }
  close_worked(all);
  must(weir_context_release(context));
  noted.events[1]++;
}

// ---------------------------------------------------------------------------------------------------------------

static const program programs[] = {{"random_tasks", random_tasks, 0},
                                   {"random_tasks_in_place", random_tasks, WEIR_CONTEXT_NO_RENAME},
                                   {"random_tasks_in_order", random_tasks, WEIR_CONTEXT_IN_ORDER},
                                   {"random_tasks_traced", random_tasks, WEIR_CONTEXT_TRACE},
                                   {"random_tasks_checked", random_tasks, WEIR_CONTEXT_CHECK},
                                   {"renamed_launches", renamed_launches, 0},
                                   {"reductions", reductions, 0},
                                   {"graphs", graphs, 0},
                                   {"profiles", profiles, 0},
                                   {NULL, NULL, 0}};

int main(int argc, char **argv) {
  return run_programs(programs, argc, argv);
}
