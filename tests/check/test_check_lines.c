// SPDX-License-Identifier: Apache-2.0
//
// Lines, tokens and stages of a timeline: a correct one is accepted, each planted mistake is found under its name, and bytes that
// lines share are named with buffer, tasks, tokens and lines.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/check.h"

enum { TOKENS = 6, LINES = 3, STAGES = 3, NO_TOKEN = -1 };

typedef struct span {
  int line, stage, token;
  const char *state;
  int from, to;
} span;

typedef struct task {
  int id, line, stage, token;
  const char *mode;
  int buffer, offset, bytes;
} task;

typedef struct made {
  span spans[64];
  int span_count;
  task tasks[16];
  int task_count;
  int dropped;
} made;

static void add_span(made *m, int token, const char *state, int stage, int from, int to) {
  m->spans[m->span_count++] = (span){token < 0 ? 0 : token % LINES, stage, token, state, from, to};
}

// "read" is serial, "work" parallel, "write" serial. Each task updates the buffer of its line.
static made make(void) {
  made m = {0};
  int written = 0;
  for (int t = 0; t < TOKENS; t++) {
    int read = 100 * t, worked = read + 150 + 20 * (t % 2), turn = worked > written ? worked : written;
    add_span(&m, t, "busy", 0, read, read + 50);
    add_span(&m, t, "busy", 1, read + 50, read + 70);
    add_span(&m, t, "tasks", 1, read + 70, worked);
    if (turn > worked) add_span(&m, t, "turn", 2, worked, turn);
    add_span(&m, t, "thread", 2, turn, turn + 10);
    add_span(&m, t, "busy", 2, turn + 10, turn + 30);
    written = turn + 30;
    m.tasks[m.task_count++] = (task){t + 1, t % LINES, 1, t, "read_write", 10 + t % LINES, 0, 64};
  }
  add_span(&m, NO_TOKEN, "free", 0, 730, 740);
  add_span(&m, NO_TOKEN, "busy", 0, 740, 750); // the call that ends the input
  m.tasks[m.task_count++] = (task){TOKENS + 1, 0, 0, TOKENS, "write", 10, 0, 8};
  return m;
}

static span *find(made *m, int token, const char *state, int stage) {
  for (int i = 0; i < m->span_count; i++) {
    span *s = &m->spans[i];
    if (s->token == token && s->stage == stage && strcmp(s->state, state) == 0) return s;
  }
  fail_msg("no such span");
  return NULL;
}

static char *write_json(const made *m) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  assert_non_null(file);
  fprintf(file,
          "{\"weir\":{\"version\":1,\"dropped\":%d,\"pipelines\":[{\"id\":7,\"lines\":%d,\"stages\":["
          "{\"name\":\"read\",\"serial\":true},{\"name\":\"work\",\"serial\":false},"
          "{\"name\":\"write\",\"serial\":true}]}]},\"traceEvents\":[{}",
          m->dropped, LINES);
  for (int i = 0; i < m->task_count; i++) {
    const task *t = &m->tasks[i];
    fprintf(file,
            ",\n{\"name\":\"job\",\"cat\":\"task\",\"ph\":\"X\",\"args\":{\"id\":%d,\"tag\":0,\"status\":\"WEIR_OK\","
            "\"submit_ns\":0,\"ready_ns\":0,\"start_ns\":0,\"end_ns\":0,\"pipeline\":7,\"line\":%d,\"stage\":%d,"
            "\"token\":%d,\"waits\":[],\"accesses\":[{\"mode\":\"%s\",\"buffer\":%d,\"label\":\"%s\",\"storage\":1,"
            "\"offset\":%d,"
            "\"bytes\":%d}]}}",
            t->id, t->line, t->stage, t->token, t->mode, t->buffer, t->buffer == 10 ? "the first" : "", t->offset,
            t->bytes);
  }
  for (int i = 0; i < m->span_count; i++) {
    const span *s = &m->spans[i];
    fprintf(file,
            ",\n{\"name\":\"s\",\"cat\":\"line\",\"ph\":\"X\",\"args\":{\"pipeline\":7,\"line\":%d,\"state\":\"%s\"",
            s->line, s->state);
    if (strcmp(s->state, "free") != 0) fprintf(file, ",\"stage\":%d", s->stage);
    if (s->token != NO_TOKEN) fprintf(file, ",\"token\":%d", s->token);
    fprintf(file, ",\"start_ns\":%d,\"end_ns\":%d}}", s->from, s->to);
  }
  fputs("\n]}\n", file);
  fclose(file);
  return text;
}

static void check(const made *m, bool lines_apart, weir__check_report *report) {
  char *text = write_json(m), message[300];
  weir__timeline *timeline = NULL;
  if (weir__timeline_read_memory("f", text, strlen(text), message, sizeof message, &timeline) != WEIR_OK)
    fail_msg("%s", message);
  weir__check_pipelines(timeline, &(weir__check_options){.lines_apart = lines_apart}, report);
  weir__timeline_destroy(timeline);
  free(text);
}

static void assert_found(const made *m, bool lines_apart, const char *text) {
  weir__check_report report;
  check(m, lines_apart, &report);
  assert_int_equal(report.result, WEIR__CHECK_BROKEN);
  if (strstr(report.text, text) == NULL) fail_msg("\"%s\" is not in\n%s", text, report.text);
}

static void accepts(void **state) {
  (void)state;
  made m = make();
  weir__check_report report;
  check(&m, true, &report);
  assert_string_equal(report.text, "");
  assert_int_equal(report.result, WEIR__CHECK_PROVED);
  assert_int_equal(report.pipelines, 1);
  assert_int_equal(report.tokens, TOKENS);
  assert_int_equal(report.spans, m.span_count);
  assert_int_equal(report.tasks, TOKENS + 1);
}

static void a_shifted_span(void **state) {
  (void)state;
  made m = make();
  find(&m, 3, "tasks", 1)->from -= 10;
  assert_found(
      &m, false,
      "LINE broken in pipeline 7: token 3 is in stage 1 'work' on line 0 from 350 to 370 ns; token 3 waits for "
      "tasks after stage 1 'work' on line 0 from 360 to 470 ns: a line does one thing at a time\n");
}

static void a_token_on_two_lines(void **state) {
  (void)state;
  made m = make();
  span *moved = find(&m, 4, "busy", 2); // when line 2 rests
  moved->line = 2;
  moved->from += 1000;
  moved->to += 1000;
  assert_found(&m, false, "TOKEN broken in pipeline 7: token 4 ");
  assert_found(&m, false, ": a token is on one line\n");
}

static void two_tokens_on_a_line(void **state) {
  (void)state;
  made m = make();
  find(&m, 4, "thread", 2)->token = 0; // on line 1, in the midst of token 4
  assert_found(&m, false, ": tokens of a line come one after the other\n");
}

static void two_tokens_in_a_serial_stage(void **state) {
  (void)state;
  made m = make();
  find(&m, 1, "busy", 2)->to += 100;
  assert_found(&m, false,
               "STAGE broken in pipeline 7: token 1 is in stage 2 'write' on line 1 from 280 to 400 ns; token 2 is in");
  assert_found(&m, false,
               "token 2 is in stage 2 'write' on line 2 from 360 to 380 ns: a serial stage has one token at a time\n");
  made parallel = make(); // where it may
  find(&parallel, 1, "tasks", 1)->state = "busy";
  find(&parallel, 1, "busy", 1)->state = "thread";
  weir__check_report report;
  check(&parallel, false, &report);
  assert_string_equal(report.text, "");
}

static void tokens_out_of_order(void **state) {
  (void)state;
  made m = make();
  span *early = find(&m, 2, "busy", 2), *late = find(&m, 3, "busy", 2), kept = *early;
  early->from = late->from;
  early->to = late->to;
  late->from = kept.from;
  late->to = kept.to;
  assert_found(&m, false, ": a serial stage has tokens in their order\n");
}

static void a_token_goes_back(void **state) {
  (void)state;
  made m = make();
  find(&m, 1, "thread", 2)->stage = 0;
  assert_found(&m, false, ": the token goes back\n");
  m = make();
  find(&m, 1, "tasks", 1)->state = "busy";
  assert_found(&m, false, ": the stage is called twice for the token\n");
}

static void a_task_of_no_call(void **state) {
  (void)state;
  made m = make();
  m.tasks[2].stage = 2;
  find(&m, 2, "busy", 2)->state = "turn"; // it was not called
  assert_found(
      &m, false,
      "TASK broken in pipeline 7: task 'job' (id 3) is said to come from token 2 in stage 2 on line 2, which was not "
      "called\n");
}

static void records_dropped(void **state) {
  (void)state;
  made m = make();
  m.dropped = 2;
  assert_found(&m, false, "the timeline has dropped 2 records: it proves nothing\n");
}

static void lines_that_share(void **state) {
  (void)state;
  weir__check_report report;
  made m = make();
  m.tasks[4].buffer = 10; // token 4 on line 1 writes what belongs to line 0
  check(&m, false, &report);
  assert_int_equal(report.result, WEIR__CHECK_PROVED);
  assert_found(&m, true,
               "LINES not apart in pipeline 7: buffer 10 'the first': task 'job' (id 1, token 0 on line 0) writes "
               "bytes [0, 64); task "
               "'job' (id 5, token 4 on line 1) writes bytes [0, 64)\n");
  check(&m, true, &report);
  assert_int_equal(report.broken, 1); // one for each buffer

  for (int i = 0; i < m.task_count; i++) m.tasks[i].buffer = 10, m.tasks[i].mode = "read";
  check(&m, true, &report);
  assert_int_equal(report.result, WEIR__CHECK_PROVED); // all of them read
  m.tasks[5].mode = "read_write";
  assert_found(&m, true, "(id 6, token 5 on line 2) writes bytes [0, 64)");

  m = make();
  for (int i = 0; i < m.task_count; i++) m.tasks[i].buffer = 4106; // of no label, and in the slot of one that has
  m.tasks[0].buffer = 10;
  assert_found(&m, true, "LINES not apart in pipeline 7: buffer 4106: task");

  m = make(); // slices of one buffer
  for (int i = 0; i < m.task_count; i++) m.tasks[i].buffer = 10, m.tasks[i].offset = 64 * m.tasks[i].line;
  check(&m, true, &report);
  assert_int_equal(report.result, WEIR__CHECK_PROVED);
  m.tasks[1].bytes = 65;
  assert_found(&m, true, "(id 2, token 1 on line 1) writes bytes [64, 129)");
}

static void no_pipelines(void **state) {
  (void)state;
  const char *text = "{\"weir\":{\"version\":1,\"dropped\":0},\"traceEvents\":[]}";
  char message[300];
  weir__timeline *timeline = NULL;
  weir__check_report report;
  assert_int_equal(weir__timeline_read_memory("f", text, strlen(text), message, sizeof message, &timeline), WEIR_OK);
  assert_int_equal(weir__check_pipelines(timeline, NULL, &report), WEIR__CHECK_BAD_INPUT);
  assert_string_equal(report.text, "the timeline has no pipelines\n");
  weir__timeline_destroy(timeline);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts),
      cmocka_unit_test(a_shifted_span),
      cmocka_unit_test(a_token_on_two_lines),
      cmocka_unit_test(two_tokens_on_a_line),
      cmocka_unit_test(two_tokens_in_a_serial_stage),
      cmocka_unit_test(tokens_out_of_order),
      cmocka_unit_test(a_token_goes_back),
      cmocka_unit_test(a_task_of_no_call),
      cmocka_unit_test(records_dropped),
      cmocka_unit_test(lines_that_share),
      cmocka_unit_test(no_pipelines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
