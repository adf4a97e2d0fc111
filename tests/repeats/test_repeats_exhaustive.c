// SPDX-License-Identifier: Apache-2.0
//
// The trace cache against all small programs: words over an alphabet of calls. Each is run on Weir and, call by call, by a model.
// All that both can see is compared: buffers, events, failures, how often each task ran, and counts.
//
//   test_repeats_exhaustive [WORD DEVICE SEED FLAGS]     all programs, or one of them
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "part.h"
#include "weir/batch.h"
#include "weir/graph.h"
#include "weir/sim.h"
#include "weir/weir.h"

// The alphabet.
enum {
  FORTH = 'a',    // buffer 0 by buffer 1
  BACK = 'b',     // buffer 1 by buffer 0, with the same kernel
  OTHER = 'c',    // overwrites buffer 2 by buffer 0, with another kernel
  ALIAS = 'y',    // the same with buffer 1 in place of buffer 2: another pattern
  THROUGH = 'q',  // buffer 1 by what buffer 0 makes of a new buffer, which is released at once
  KEEPING = 'Q',  // the same, but it is kept as buffer 2
  INTO = 1,       // the first task of both; not in words
  FROM = 2,       // and the second one
  BATCH = 'm',    // FORTH and BACK in one call
  EVENT = 'e',    // FORTH with an event that is released at once
  AWAITED = 'w',  // FORTH with an event that is waited for
  LABELLED = 'l', // FORTH with a label, a tag (which does not count), a priority, as a host task
  TAGGED = 't',
  URGENT = 'u',
  HOST = 'h',
  FAILING = 'x', // poisons buffer 1
  REFUSED = 'v', // an argument is wrong
  COPY = 'p',    // buffer 0 to buffer 1
  COPY_IN = 'i', // to buffer 0
  READ = 'r',    // buffer 1, and waits
  RENEW = 'n',   // buffer 2 is released, and another one is created
  CREATE = 'o',  // a buffer that nobody uses
  KERNEL = 'k',  // the kernel of FORTH and BACK is released, and made anew with another function
  CODE = 'j',    // waits, then it gets another function
  GRAPH = 'g',   // launches a graph of FORTH
  LOOK = 's',    // asks for statistics
  IDLE = 'd',    // waits, without a call, until all tasks ran
  CANCEL = 'z',  // what has not run is skipped; the last call of a word
  FINISH = 'f',
  MOST_CALLS = 160,
  BUFFERS = 3,
  NEW = BUFFERS, // the number of the buffer of THROUGH
};

static const char interruptions[] = {FINISH, OTHER,  ALIAS, THROUGH, KEEPING, BATCH, EVENT,   AWAITED, LABELLED,
                                     TAGGED, URGENT, HOST,  FAILING, REFUSED, COPY,  COPY_IN, READ,    RENEW,
                                     CREATE, KERNEL, CODE,  GRAPH,   LOOK,    IDLE,  CANCEL};

typedef struct model {
  uint32_t words[BUFFERS + 1];
  bool poisoned[BUFFERS + 1], written[BUFFERS + 1];
  uint32_t tasks, failed, last; // `last`: the number of the last task
  weir_status report;           // what weir_finish has to report
  bool changed;                 // the kernel has its other function
  bool cancelled;
  bool ran[2 * MOST_CALLS]; // by number: whether it is to run
} model;

typedef struct run {
  const char *word, *device;
  weir_context *context;
  weir_kernel *mix, *add, *fail;
  weir_buffer *buffers[BUFFERS + 1];
  weir_graph *graph;
  model expected;
  uint32_t sources[MOST_CALLS]; // of copies
} run;

static _Atomic uint32_t runs[2 * MOST_CALLS]; // by number of the task

static uint64_t programs, tasks, repeated; // so far
static char checked[512];                  // the program that is run now

// The number of a task that runs, which is a value, and of a kernel the user pointer as well.
static uint32_t number_of(const weir_work *work, uint32_t arg) {
  uint32_t number;
  memcpy(&number, work->args[arg], sizeof number);
  atomic_fetch_add(&runs[number], 1);
  return number;
}

static uint32_t mixed(bool changed, uint32_t to, uint32_t from, uint32_t number) {
  return to * (changed ? 37 : 31) + from * 7 + number;
}

static uint32_t number_of_kernel(const weir_work *work, uint32_t arg) {
  uint32_t number = number_of(work, arg);
  if ((uintptr_t)work->user == number) return number;
  fprintf(stderr, "%s: task %" PRIu32 " has the user pointer %p\n", checked, number, work->user);
  abort();
}

static void mix_words(const weir_work *work, bool changed, uint32_t number) {
  uint32_t *to = work->args[0];
  const uint32_t *from = work->args[1];
  *to = mixed(changed, *to, *from, number);
}

static void mix(const weir_work *work) {
  mix_words(work, false, number_of_kernel(work, 2));
}

static void mix_changed(const weir_work *work) {
  mix_words(work, true, number_of_kernel(work, 2));
}

static void add(const weir_work *work) {
  uint32_t *to = work->args[0];
  const uint32_t *from = work->args[1];
  *to = *from + number_of_kernel(work, 2);
}

static void fails(const weir_work *work) {
  number_of_kernel(work, 1);
  weir_work_fail(work, "as told");
}

static weir_kernel *kernel(const run *self, const char *name, weir_function function) {
  weir_kernel *made;
  assert_int_equal(weir_kernel_create(self->context, name, &made), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(made, function), WEIR_OK);
  const weir_sim_launch launch = {.name = name, .threads = 64, .us = 1};
  assert_int_equal(weir_kernel_set_sim(made, &launch, 1), WEIR_OK);
  return made;
}

static uint32_t target_of(char letter) {
  if (letter == INTO) return NEW;
  return letter == BACK || letter == ALIAS || letter == FROM ? 1 : letter == OTHER ? 2 : 0;
}

static uint32_t source_of(char letter) {
  return letter == FROM ? NEW : target_of(letter) == 0;
}

static bool overwrites(char letter) {
  return letter == OTHER || letter == ALIAS || letter == INTO;
}

// A task as a word's letters submit it. `args` has room for 3.
static weir_task task_of(const run *self, char letter, const uint32_t *number, weir_arg *args) {
  uint32_t to = target_of(letter);
  args[0] = overwrites(letter) ? weir_writes(self->buffers[to]) : weir_updates(self->buffers[to]);
  args[1] = weir_reads(self->buffers[source_of(letter)]);
  args[2] = weir_value(number, sizeof *number);
  return (weir_task){.kernel = overwrites(letter) ? self->add : self->mix,
                     .user = (void *)(uintptr_t)*number,
                     .args = args,
                     .arg_count = 3};
}

// A task is skipped. Its own failure is reported where none that caused it is.
static weir_status model_skip(model *m) {
  m->failed++;
  if (m->report == WEIR_OK) m->report = WEIR_ERROR_UPSTREAM_FAILED;
  return WEIR_ERROR_UPSTREAM_FAILED;
}

// What the task does to the model. Returns the status with which it ends.
static weir_status model_task(model *m, char letter, uint32_t number) {
  uint32_t to = target_of(letter), from = source_of(letter);
  m->tasks++;
  m->written[to] = true;
  if (m->poisoned[from] || (!overwrites(letter) && m->poisoned[to])) {
    m->poisoned[to] = true;
    return model_skip(m);
  }
  m->ran[number] = true;
  m->poisoned[to] = false;
  m->words[to] = overwrites(letter) ? m->words[from] + number : mixed(m->changed, m->words[to], m->words[from], number);
  return WEIR_OK;
}

static uint32_t next_number(run *self) {
  return ++self->expected.last;
}

static weir_status submit(run *self, char letter, weir_event **out_event) {
  weir_arg args[3];
  const uint32_t number = next_number(self);
  const weir_task task = task_of(self, letter, &number, args);
  assert_int_equal(weir_submit(self->context, &task, out_event), WEIR_OK);
  return model_task(&self->expected, letter, number);
}

static void submit_through(run *self, char letter) {
  model *m = &self->expected;
  weir_buffer **made = &self->buffers[NEW];
  assert_int_equal(weir_buffer_create(self->context, sizeof(uint32_t), made), WEIR_OK);
  submit(self, INTO, NULL);
  submit(self, FROM, NULL);
  if (letter == KEEPING) {
    weir_buffer *other = self->buffers[2];
    self->buffers[2] = *made;
    *made = other;
    m->words[2] = m->words[NEW];
    m->poisoned[2] = m->poisoned[NEW];
    m->written[2] = true;
  }
  assert_int_equal(weir_buffer_release(*made), WEIR_OK);
}

static void run_as_host(const weir_work *work) {
  mix_words(work, work->user != NULL, number_of(work, 2));
}

static void submit_odd(run *self, char letter) {
  weir_arg args[3];
  const uint32_t number = next_number(self);
  weir_task task = task_of(self, FORTH, &number, args);
  if (letter == LABELLED) task.label = "labelled";
  if (letter == TAGGED) task.tag = 7;
  if (letter == URGENT) task.priority = 3;
  if (letter == HOST && self->device[0] == 'c') { // else there is no device for it
    task.host = run_as_host;
    task.kernel = NULL;
    task.user = self->expected.changed ? self : NULL;
  }
  if (letter == REFUSED) args[1].bytes = 0;
  assert_int_equal(weir_submit(self->context, &task, NULL), letter == REFUSED ? WEIR_ERROR_INVALID_ARGUMENT : WEIR_OK);
  if (letter != REFUSED) model_task(&self->expected, FORTH, number);
}

static void submit_batch(run *self) {
  weir_arg args[2][3];
  const uint32_t numbers[] = {next_number(self), next_number(self)};
  const weir_task both[] = {task_of(self, FORTH, &numbers[0], args[0]), task_of(self, BACK, &numbers[1], args[1])};
  assert_int_equal(weir_submit_many(self->context, both, 2, NULL, NULL), WEIR_OK);
  model_task(&self->expected, FORTH, numbers[0]);
  model_task(&self->expected, BACK, numbers[1]);
}

static void submit_failing(run *self) {
  model *m = &self->expected;
  const uint32_t number = next_number(self);
  const weir_arg args[] = {weir_updates(self->buffers[1]), weir_value(&number, sizeof number)};
  const weir_task task = {
      .kernel = self->fail, .user = (void *)(uintptr_t)number, .args = args, .arg_count = 2, .tag = number};
  assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
  m->tasks++;
  m->ran[number] = !m->poisoned[1];
  if (m->poisoned[1]) {
    model_skip(m);
    return;
  }
  m->failed++;
  m->report = WEIR_ERROR_TASK_FAILED;
  m->poisoned[1] = true;
}

static void submit_copy(run *self, size_t position, char letter) {
  model *m = &self->expected;
  m->tasks++;
  if (letter == COPY_IN) {
    self->sources[position] = m->words[0] = 1000 + (uint32_t)position;
    m->poisoned[0] = false;
    assert_int_equal(weir_copy_in(self->buffers[0], 0, WEIR_WHOLE, &self->sources[position], NULL), WEIR_OK);
    return;
  }
  assert_int_equal(weir_copy(self->buffers[1], 0, self->buffers[0], 0, WEIR_WHOLE, NULL), WEIR_OK);
  if (m->poisoned[0]) {
    m->poisoned[1] = true;
    model_skip(m);
    return;
  }
  m->poisoned[1] = false;
  m->words[1] = m->words[0];
}

// Reads a buffer and compares it. What was never written is not looked at.
static void read_and_compare(run *self, uint32_t index) {
  model *m = &self->expected;
  if (!m->written[index]) return;
  uint32_t word = 0;
  weir_status status = weir_read(self->buffers[index], 0, WEIR_WHOLE, &word);
  m->tasks++;
  m->failed += m->poisoned[index];
  assert_int_equal(status == WEIR_OK, !m->poisoned[index]);
  if (status == WEIR_OK) assert_int_equal(word, m->words[index]);
}

static void renew_buffer(run *self, uint32_t index) {
  assert_int_equal(weir_buffer_release(self->buffers[index]), WEIR_OK);
  assert_int_equal(weir_buffer_create(self->context, sizeof(uint32_t), &self->buffers[index]), WEIR_OK);
  self->expected.poisoned[index] = self->expected.written[index] = false;
}

static void create_buffer(const run *self) {
  weir_buffer *unused;
  assert_int_equal(weir_buffer_create(self->context, 100, &unused), WEIR_OK);
  assert_int_equal(weir_buffer_release(unused), WEIR_OK);
}

static void renew_kernel(run *self) {
  assert_int_equal(weir_kernel_release(self->mix), WEIR_OK);
  self->expected.changed = !self->expected.changed;
  self->mix = kernel(self, "mix", self->expected.changed ? mix_changed : mix);
}

// Of the graph, whose task has a number and a function of its own.
static void launch(run *self) {
  model *m = &self->expected;
  bool changed = m->changed;
  m->changed = false;
  model_task(m, FORTH, 0);
  m->changed = changed;
  assert_int_equal(weir_graph_launch(self->graph, NULL), WEIR_OK);
}

static void finish(run *self) {
  model *m = &self->expected;
  weir_status status = weir_finish(self->context);
  if (!m->cancelled) assert_int_equal(status, m->report);
  m->report = WEIR_OK;
}

static void change_code(run *self) {
  finish(self);
  self->expected.changed = !self->expected.changed;
  assert_int_equal(weir_kernel_set_cpu(self->mix, self->expected.changed ? mix_changed : mix), WEIR_OK);
}

// Sees the tasks run without another call, as they must.
static void idle(const run *self) {
  for (uint32_t i = 1; i <= self->expected.last; i++) {
    for (uint32_t waits = 0; self->expected.ran[i] && atomic_load(&runs[i]) == 0; waits++) {
      assert_true(waits < 100000);
      nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
  }
}

static void release_event(weir_event *event, char letter, weir_status status) {
  if (letter == AWAITED) assert_int_equal(weir_event_wait(event, WEIR_FOREVER), status);
  weir_event_release(event);
}

static void look(run *self) {
  weir_statistics now;
  weir_context_statistics(self->context, &now);
  assert_int_equal(now.tasks, self->expected.tasks);
}

static void perform(run *self, size_t position) {
  char letter = self->word[position];
  weir_event *event = NULL;
  switch (letter) {
  case FORTH:
  case BACK:
  case OTHER:
  case ALIAS:
    submit(self, letter, NULL);
    break;
  case EVENT:
  case AWAITED: {
    weir_status status = submit(self, FORTH, &event);
    release_event(event, letter, status);
    break;
  }
  case THROUGH:
  case KEEPING:
    submit_through(self, letter);
    break;
  case LABELLED:
  case TAGGED:
  case URGENT:
  case HOST:
  case REFUSED:
    submit_odd(self, letter);
    break;
  case BATCH:
    submit_batch(self);
    break;
  case FAILING:
    submit_failing(self);
    break;
  case COPY:
  case COPY_IN:
    submit_copy(self, position, letter);
    break;
  case READ:
    read_and_compare(self, 1);
    break;
  case RENEW:
    renew_buffer(self, 2);
    break;
  case CREATE:
    create_buffer(self);
    break;
  case KERNEL:
    renew_kernel(self);
    break;
  case CODE:
    change_code(self);
    break;
  case GRAPH:
    launch(self);
    break;
  case LOOK:
    look(self);
    break;
  case IDLE:
    if (self->device[0] == 'c') idle(self); // on a simulated device time stands still meanwhile
    break;
  case CANCEL:
    self->expected.cancelled = true;
    weir_context_cancel(self->context);
    break;
  default:
    finish(self);
  }
}

static void open_run(run *self, const char *word, const char *device, uint64_t seed, uint32_t flags) {
  *self = (run){.word = word, .device = device};
  assert_true(strlen(word) < MOST_CALLS);
  memset(runs, 0, sizeof runs);
  const weir_context_options options = {.devices = device, .seed = seed, .flags = flags};
  assert_int_equal(weir_context_create(&options, &self->context), WEIR_OK);
  self->mix = kernel(self, "mix", mix);
  self->add = kernel(self, "add", add);
  self->fail = kernel(self, "fail", fails);
  static const uint32_t first[BUFFERS] = {11, 22, 33};
  for (uint32_t i = 0; i < BUFFERS; i++) {
    assert_int_equal(weir_buffer_create(self->context, sizeof first[i], &self->buffers[i]), WEIR_OK);
    assert_int_equal(weir_copy_in(self->buffers[i], 0, WEIR_WHOLE, &first[i], NULL), WEIR_OK);
    self->expected.words[i] = first[i];
    self->expected.written[i] = true;
  }
  self->expected.tasks = BUFFERS;
  if (strchr(word, GRAPH) == NULL) return;
  weir_arg args[3];
  const uint32_t number = 0;
  const weir_task task = task_of(self, FORTH, &number, args);
  // The kernel of the graph stays when the other one is renewed.
  weir_task own = task;
  own.kernel = kernel(self, "graph", mix);
  assert_int_equal(weir_graph_create(self->context, NULL, &self->graph), WEIR_OK);
  assert_int_equal(weir_graph_add(self->graph, &own, NULL), WEIR_OK);
}

static void compare(run *self) {
  const model *m = &self->expected;
  weir_statistics now;
  weir_context_statistics(self->context, &now);
  assert_int_equal(now.tasks, m->tasks);
  assert_int_equal(now.done, m->tasks);
  for (uint32_t i = 1; i <= m->last; i++) {
    uint32_t count = atomic_load(&runs[i]);
    assert_true(count == m->ran[i] || (m->cancelled && count == 0));
  }
  tasks += now.tasks;
  repeated += now.repeated;
  if (m->cancelled) return;
  assert_int_equal(now.failed, m->failed);
  for (uint32_t i = 0; i < BUFFERS; i++) read_and_compare(self, i);
}

// One program.
static void check(const char *word, const char *device, uint64_t seed, uint32_t flags) {
  snprintf(checked, sizeof checked, "%s %s %" PRIu64 " %u", word, device, seed, flags);
  run self;
  open_run(&self, word, device, seed, flags);
  for (size_t i = 0; word[i] != '\0'; i++) perform(&self, i);
  finish(&self);
  compare(&self);
  assert_int_equal(weir_context_release(self.context), WEIR_OK);
  programs++;
  checked[0] = '\0';
}

// A failed test says which program it was, and the next one begins.
static int say(void **state) {
  (void)state;
  if (checked[0] != '\0') fprintf(stderr, "in the program %s\n", checked);
  checked[0] = '\0';
  return 0;
}

static const char *const devices[] = {"cpu:1", "sim:ideal"};
enum {
  DEVICES = sizeof devices / sizeof devices[0],
  LONGEST_WHOLE = 9,
  LONGEST_SMALL = 7,
  LONGEST_SANITIZED = 5,
  FAMILIAR = 4
};

// The seeds differ, since runs are given up at random.
static void check_everywhere(const char *word) {
  for (uint32_t device = 0; device < DEVICES; device++) {
    check(word, devices[device], programs + 1, WEIR_CONTEXT_REPEATS);
    if (device == 0) check(word, devices[device], programs + 1, 0);
  }
}

// All words of FORTH, BACK and FINISH up to a length. The first call is FORTH: BACK is the same with the buffers exchanged.
static void words_of_three_letters(void **state) {
  (void)state;
  static const char letters[] = {FORTH, BACK, FINISH};
  uint32_t longest = part_divisor() == 1 ? LONGEST_WHOLE : part_divisor() == 2 ? LONGEST_SMALL : LONGEST_SANITIZED;
  uint32_t count = 1;
  for (uint32_t length = 1; length <= longest; length++, count *= 3) {
    for (uint32_t i = 0; i < count; i++) {
      char word[LONGEST_WHOLE + 1] = {FORTH};
      uint32_t left = i;
      for (uint32_t j = 1; j < length; j++, left /= 3) word[j] = letters[left % 3];
      check_everywhere(word);
    }
  }
}

static void append(char *word, const char *text, size_t count) {
  size_t length = strlen(word);
  memcpy(word + length, text, count);
  word[length + count] = '\0';
}

// A pass that comes several times, breaks off before task `position`, goes on, and comes again, where it can.
static void break_off(const char *pass, size_t position, char interruption, uint32_t times) {
  size_t length = strlen(pass);
  char word[MOST_CALLS] = "";
  for (uint32_t i = 0; i < times; i++) {
    append(word, pass, length);
    append(word, "f", 1);
  }
  append(word, pass, position);
  append(word, &interruption, 1);
  if (interruption != CANCEL) {
    append(word, pass + position, length - position);
    append(word, "f", 1);
    append(word, pass, length);
  }
  check_everywhere(word);
}

static void break_off_everywhere(const char *pass) {
  for (size_t i = 0; i < sizeof interruptions; i++) {
    for (size_t position = 0; position <= strlen(pass); position++)
      break_off(pass, position, interruptions[i], i % 2 == 0 ? FAMILIAR : 2);
  }
}

// All passes of up to so many tasks, and some of so many that they are kept in pieces, broken off by each call at each position.
static void passes_break_off(void **state) {
  (void)state;
  static const char letters[] = {FORTH, BACK, OTHER};
  static const char *const long_passes[] = {"abcab", "aabbcc", "abcabcab", "acbacbaabc", "atbt", "qabqc", "aqaqbqaQb"};
  for (uint32_t length = 2, count = 9; length <= (part_divisor() == 1   ? 4
                                                  : part_divisor() == 2 ? 3
                                                                        : 2);
       length++, count *= 3) {
    for (uint32_t i = 0; i < count; i++) {
      char pass[8] = "";
      uint32_t left = i;
      for (uint32_t j = 0; j < length; j++, left /= 3) pass[j] = letters[left % 3];
      break_off_everywhere(pass);
    }
  }
  for (size_t i = 0; i < sizeof long_passes / sizeof long_passes[0]; i++) break_off_everywhere(long_passes[i]);
}

static void pass_in_any_order(const char *const passes[5]) {
  for (uint32_t order = 0; order < 5 * 5 * 5 * 5; order += part_divisor()) {
    char word[MOST_CALLS] = "";
    for (uint32_t i = 0, left = order; i < 8; i++, left = i == 4 ? order : left / 5) {
      append(word, passes[left % 5], strlen(passes[left % 5]));
      if (i != 2) append(word, "f", 1);
    }
    check_everywhere(word);
  }
}

// Passes that begin alike and go on in different ways, in any order.
static void passes_change_over(void **state) {
  (void)state;
  static const char *const passes[] = {"abab", "abac", "ab", "abba", "abacc"};
  pass_in_any_order(passes);
}

// The same with buffers that only a pass names, or that the program keeps once in a while.
static void passes_use_new_buffers(void **state) {
  (void)state;
  static const char *const passes[] = {"qab", "Qab", "aqbq", "aQbq", "aqbQb"};
  pass_in_any_order(passes);
}

// The words above say something about the trace cache only if it follows them.
static void many_tasks_were_repeated(void **state) {
  (void)state;
  printf("%" PRIu64 " programs, %" PRIu64 " of %" PRIu64 " tasks launched as parts of repeats\n", programs, repeated,
         tasks);
  assert_true(repeated > tasks / 8);
}

int main(int argc, char **argv) {
  if (argc == 5) {
    check(argv[1], argv[2], strtoull(argv[3], NULL, 10), (uint32_t)strtoul(argv[4], NULL, 10));
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(words_of_three_letters, say),
      cmocka_unit_test_teardown(passes_break_off, say),
      cmocka_unit_test_teardown(passes_change_over, say),
      cmocka_unit_test_teardown(passes_use_new_buffers, say),
      cmocka_unit_test(many_tasks_were_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
