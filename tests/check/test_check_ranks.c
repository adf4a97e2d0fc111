// SPDX-License-Identifier: Apache-2.0
//
// Timelines of three ranks: a right one is proved, and each mistake that is planted in it is found, with rank and task.
// Call 2 on rank 0 makes bytes, call 3 on rank 1 uses them, call 4 on rank 0 changes them, call 5 on rank 2 uses them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/check.h"

enum { MAKE, SEND, CHANGE, SEND_AGAIN, RECEIVE, USE, RECEIVE_AGAIN, USE_AGAIN, TASKS };

#define RANK(r) (r) * WEIR__TIMELINE_RANK_IDS

typedef struct planned {
  const char *label, *mode, *more; // `more`: the message
  uint64_t rank, id, call, start_ns;
  const char *waits;
} planned;

static const planned tasks[TASKS] = {
    {"make", "write", "", 0, 1, 2, 0, ""},
    {"copy out", "read", ",\"send\":{\"to\":1,\"number\":0}", 0, 2, 3, 10, ""},
    {"change", "read_write", "", 0, 3, 4, 20, ""},
    {"copy out", "read", ",\"send\":{\"to\":2,\"number\":0}", 0, 4, 5, 30, ""},
    {"from rank 0: use", "write", ",\"receive\":{\"from\":0,\"number\":0}", 1, 1, 3, 20, "2"},
    {"use", "read", "", 1, 2, 3, 30, ""},
    {"from rank 0: again", "write", ",\"receive\":{\"from\":0,\"number\":0}", 2, 1, 5, 40, "4"},
    {"use again", "read", "", 2, 2, 5, 50, ""},
};

static void write_task(const planned *task, FILE *file) {
  unsigned long long base = task->rank * WEIR__TIMELINE_RANK_IDS, start = task->start_ns;
  fprintf(file, "%s{\"name\":\"%s\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":%d,\"tid\":0,\"ts\":0,\"dur\":0,\"args\":{",
          task == tasks ? "" : ",\n", task->label, (int)task->rank);
  fprintf(file, "\"id\":%llu,\"tag\":%llu,\"status\":\"WEIR_OK\",\"kernel\":\"host\",\"call\":%llu%s", base + task->id,
          (unsigned long long)task->call - 1, (unsigned long long)task->call, task->more);
  fprintf(file, ",\"submit_ns\":0,\"ready_ns\":%llu,\"start_ns\":%llu,\"end_ns\":%llu", start, start, start + 10);
  fprintf(file,
          ",\"accesses\":[{\"mode\":\"%s\",\"buffer\":%llu,\"label\":\"\",\"shared\":1,\"storage\":%llu,\"offset\":0,"
          "\"bytes\":64}],\"waits\":[",
          task->mode, base + 7, base + 8);
  if (task->waits[0])
    fprintf(file, "{\"task\":%s,\"hazard\":\"MESSAGE\",\"buffer\":%llu,\"lo\":0,\"hi\":64}", task->waits, base + 7);
  fputs("]}}", file);
}

// `more` goes behind the tasks.
static weir__timeline *make_with(const char *device, const char *more) {
  char *text = NULL, message[256];
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  fprintf(file, "{\"weir\":{\"version\":1,\"title\":\"x\",\"dropped\":0,\"devices\":[{\"name\":\"%s\",\"lanes\":1}],",
          device);
  fputs("\"ranks\":[{\"number\":0,\"shift_ns\":0,\"error_ns\":0},{\"number\":1,\"shift_ns\":0,\"error_ns\":0},"
        "{\"number\":2,\"shift_ns\":0,\"error_ns\":0}]},\n\"traceEvents\":[",
        file);
  for (size_t i = 0; i < TASKS; i++) write_task(&tasks[i], file);
  fprintf(file, "%s]}", more);
  fclose(file);
  weir__timeline *timeline = NULL;
  if (weir__timeline_read_memory("x", text, bytes, message, sizeof message, &timeline) != WEIR_OK)
    fail_msg("%s", message);
  free(text);
  return timeline;
}

static weir__timeline *make(void) {
  return make_with("cpu:1", "");
}

static weir__timeline_access *access_of(weir__timeline *t, size_t task) {
  return &t->accesses[t->tasks[task].access_first];
}

static void remove_task(weir__timeline *t, size_t task) {
  memmove(&t->tasks[task], &t->tasks[task + 1], (t->task_count - task - 1) * sizeof *t->tasks);
  t->task_count--;
}

static void move(weir__timeline *t, size_t task, uint64_t start_ns) {
  t->tasks[task].start_ns = start_ns;
  t->tasks[task].end_ns = start_ns + 10;
}

// ---------------------------------------------------------------------------------------------------------------

static void plant_no_arrow(weir__timeline *t) {
  t->tasks[RECEIVE].wait_count = 0;
}
static void plant_other_arrow(weir__timeline *t) {
  t->waits[t->tasks[RECEIVE].wait_first].task = 4;
}
static void plant_no_send(weir__timeline *t) {
  remove_task(t, SEND);
}
static void plant_no_receive(weir__timeline *t) {
  remove_task(t, RECEIVE_AGAIN);
}
static void plant_no_message(weir__timeline *t) {
  remove_task(t, RECEIVE);
  remove_task(t, SEND);
}
// Rank 1 reads once more, behind the change.
static void plant_older_version(weir__timeline *t) {
  t->tasks[USE].call.number = 9;
}
// Rank 1 sends what it has to rank 2.
static void plant_older_send(weir__timeline *t) {
  t->tasks[SEND_AGAIN].id = RANK(1) + 3;
  t->tasks[SEND_AGAIN].call.peer = 2;
  access_of(t, SEND_AGAIN)->buffer = RANK(1) + 7;
  access_of(t, SEND_AGAIN)->storage = RANK(1) + 8;
  t->tasks[RECEIVE_AGAIN].call.peer = 1;
  t->waits[t->tasks[RECEIVE_AGAIN].wait_first].task = RANK(1) + 3;
}
static void plant_before_writer(weir__timeline *t) {
  move(t, SEND_AGAIN, 25);
}
static void plant_after_reader(weir__timeline *t) {
  move(t, RECEIVE, 35);
}
static void plant_submitted_after_reader(weir__timeline *t) {
  t->tasks[RECEIVE].id = RANK(1) + 3;
}
static void plant_before_send(weir__timeline *t) {
  move(t, RECEIVE, 15);
}
static void plant_two_sends(weir__timeline *t) {
  t->tasks[SEND_AGAIN].call.peer = 1;
}
static void plant_two_receives(weir__timeline *t) {
  t->tasks[RECEIVE_AGAIN].id = RANK(1) + 3;
  t->tasks[SEND_AGAIN].call.peer = 1;
  t->tasks[SEND_AGAIN].call.message = 1;
}
static void plant_other_bytes(weir__timeline *t) {
  access_of(t, RECEIVE)->bytes = 32;
}
static void plant_other_buffer(weir__timeline *t) {
  access_of(t, SEND)->shared = 2;
}
static void plant_other_call(weir__timeline *t) {
  t->tasks[SEND].call.number = 2;
  t->tasks[MAKE].call.number = 1;
}
static void plant_no_bytes(weir__timeline *t) {
  t->tasks[SEND].access_count = 0;
}
static void plant_mode(weir__timeline *t) {
  access_of(t, RECEIVE)->mode = WEIR_READ;
}
static void plant_order(weir__timeline *t) {
  t->tasks[MAKE].call.number = 8;
}
static void plant_one_call(weir__timeline *t) {
  t->tasks[USE].call.number = 4;
}
static void plant_rank(weir__timeline *t) {
  t->tasks[USE].id = RANK(3) + 1;
}
static void plant_failed(weir__timeline *t) {
  strcpy(t->tasks[USE].status, "WEIR_ERROR_TASK_FAILED");
}
static void plant_race(weir__timeline *t) {
  access_of(t, USE)->storage = RANK(1) + 9;
}
static void plant_partly(weir__timeline *t) {
  access_of(t, SEND)->bytes = access_of(t, RECEIVE)->bytes = 48;
}
// What rank 1 gets for call 5 it gets of rank 2, which gets it of rank 1. Clocks may be so wrong that it is possible.
static void plant_circle(weir__timeline *t) {
  plant_older_send(t);
  t->tasks[SEND].id = RANK(2) + 2;
  t->tasks[SEND].call = (weir__timeline_call){5, WEIR__TIMELINE_SENDS, 1, 0};
  access_of(t, SEND)->buffer = RANK(2) + 7;
  t->tasks[RECEIVE].call = (weir__timeline_call){5, WEIR__TIMELINE_RECEIVES, 2, 0};
  t->waits[t->tasks[RECEIVE].wait_first].task = RANK(2) + 2;
  t->tasks[USE_AGAIN].id = RANK(2) + 3;
  t->tasks[USE].call.number = 0;
  t->ranks[1].error_ns = 1000;
}

#define MADE "task 'make' (id 1 of rank 0, call 2)"
#define SENT "task 'copy out' (id 2 of rank 0, call 3)"
#define GOT "task 'from rank 0: use' (id 1 of rank 1, call 3)"
#define USED "task 'use' (id 2 of rank 1, call 3)"
#define CHANGED "task 'change' (id 3 of rank 0, call 4)"

typedef struct planted {
  const char *name;
  void (*plant)(weir__timeline *timeline);
  const char *finding;
} planted;

static const planted plants[] = {
    {"no arrow", plant_no_arrow, "MESSAGE: no arrow goes to " GOT " from " SENT},
    {"arrow from another task", plant_other_arrow, "MESSAGE: no arrow goes to " GOT " from " SENT},
    {"no send", plant_no_send, "MESSAGE: " GOT " receives message 0 from rank 0, which no task there sends"},
    {"no receive", plant_no_receive,
     "MESSAGE: task 'copy out' (id 4 of rank 0, call 5) sends message 0 to rank 2, which no task there receives"},
    {"no message", plant_no_message,
     "VERSION broken: " USED
     " reads shared buffer 1 [0, 64) as it was written by nobody, but the last to write it was " MADE},
    {"older version", plant_older_version,
     "VERSION broken: task 'use' (id 2 of rank 1, call 9) reads shared buffer 1 [0, 64) as it was written by " MADE
     ", but the last to write it was " CHANGED},
    {"older version is sent", plant_older_send,
     "VERSION broken: task 'copy out' (id 3 of rank 1, call 5) sends shared buffer 1 [0, 64) as it was written by " MADE
     ", but the last to write it was " CHANGED},
    {"part of it is sent", plant_partly,
     "VERSION broken: " USED
     " reads shared buffer 1 [48, 64) as it was written by nobody, but the last to write it was " MADE},
    {"sent before the writer ends", plant_before_writer,
     "RAW broken: " CHANGED " updates buffer 7 [0, 64) in storage 8 from 20 to 30 ns; task 'copy out' (id 4 of rank 0, "
     "call 5) reads buffer 7 [0, 64)"},
    {"receive after its reader", plant_after_reader, "RAW broken: " GOT " writes buffer 7 [0, 64)"},
    {"receive submitted after its reader", plant_submitted_after_reader,
     "ORDER: task 'from rank 0: use' (id 3 of rank 1, call 3) was submitted after " USED},
    {"receive before its send", plant_before_send,
     "MESSAGE broken: " GOT " starts at 15 ns, but " SENT ", which sends it, ends at 20 ns"},
    {"two sends", plant_two_sends, "both send message 0 from rank 0 to rank 1"},
    {"two receives", plant_two_receives, "both receive message 0 from rank 0 to rank 1"},
    {"other bytes", plant_other_bytes,
     "MESSAGE: " SENT " sends shared buffer 1 [0, 64), but " GOT " receives shared buffer 1 [0, 32)"},
    {"other buffer", plant_other_buffer, "MESSAGE: " SENT " sends shared buffer 2 [0, 64), but " GOT " receives"},
    {"for another call", plant_other_call,
     "MESSAGE: " GOT " receives for another call what task 'copy out' (id 2 of rank 0, call 2) sends"},
    {"a send of nothing", plant_no_bytes, "MESSAGE: " SENT " does not read one range of a shared buffer"},
    {"a receive that reads", plant_mode, "MESSAGE: " GOT " does not write one range of a shared buffer"},
    {"calls in another order", plant_order, "ORDER: " SENT " was submitted after task 'make' (id 1 of rank 0, call 8)"},
    {"one call twice", plant_one_call, "DUPLICATE: " CHANGED " and task 'use' (id 2 of rank 1, call 4) are one call"},
    {"no such rank", plant_rank, "UNKNOWN: task 'use' (id 1 of rank 3, call 3) is of no rank that the timeline names"},
    {"failed", plant_failed, "STATUS: " USED " ended with WEIR_ERROR_TASK_FAILED"},
    {"other storage", plant_race, "what is read was written to another storage"},
    {"circle", plant_circle, "waits for itself by way of other messages"},
};

static weir__check_report report;

static void test_right(void **state) {
  (void)state;
  weir__timeline *timeline = make();
  if (weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  assert_int_equal(report.ranks, 3);
  assert_int_equal(report.messages, 2);
  assert_int_equal(report.tasks, TASKS);
  plant_before_send(timeline); // possible if clocks may be so wrong
  timeline->ranks[1].error_ns = 5;
  if (weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  weir__timeline_destroy(timeline);
}

static void test_planted(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
    weir__timeline *timeline = make();
    plants[i].plant(timeline);
    weir__check_result result = weir__check_ranks_alone(timeline, NULL, &report);
    if (result != WEIR__CHECK_BROKEN || strstr(report.text, plants[i].finding) == NULL)
      fail_msg("%s: not \"%s\", but:\n%s", plants[i].name, plants[i].finding, report.text);
    weir__timeline_destroy(timeline);
  }
}

// Rank 1 overwrites the bytes by tasks that are no calls, and call 6 says so; rank 1 reads them then, or rank 2 does.
static void test_written(void **state) {
  (void)state;
  for (int other = 0; other < 2; other++) {
    weir__timeline *timeline = make_with(
        "cpu:1", ",\n{\"name\":\"written\",\"cat\":\"written\",\"args\":{\"call\":6,\"buffer\":10000000000007,"
                 "\"shared\":1,\"offset\":0,\"bytes\":64}}");
    timeline->tasks[other ? USE_AGAIN : USE].call.number = 7;
    weir__check_ranks_alone(timeline, NULL, &report);
    const char *text =
        other ? "VERSION broken: task 'use again' (id 2 of rank 2, call 7) reads shared buffer 1 [0, 64) as "
                "it was written by " CHANGED ", but the last to write it was rank 1, as call 6 says\n"
              : "";
    assert_string_equal(report.text, text);
    weir__timeline_destroy(timeline);
  }
}

static const char stream_text[] =
    "{\"weir_stream\":1,\"name\":\"ranks\",\"sms\":1,\"tasks\":4}\n{\"buffer\":1,\"bytes\":64,\"address\":0}\n"
    "{\"op\":\"make\",\"reads\":[],\"writes\":[[1,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"use\",\"reads\":[[1,0,64]],\"writes\":[],\"kernels\":[]}\n"
    "{\"op\":\"change\",\"reads\":[[1,0,64]],\"writes\":[[1,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"again\",\"reads\":[[1,0,64]],\"writes\":[],\"kernels\":[]}\n";

static void leave(weir__timeline *t) {
  (void)t;
}
static void plant_swapped_tags(weir__timeline *t) {
  t->tasks[USE].tag = 4;
  t->tasks[USE_AGAIN].tag = 2;
}
static void plant_less_read(weir__timeline *t) {
  access_of(t, USE)->bytes = 32;
}
static void plant_no_task(weir__timeline *t) {
  remove_task(t, USE_AGAIN);
}

static void test_stream(void **state) {
  (void)state;
  static const planted with_stream[] = {
      {"right", leave, ""},
      {"another order", plant_swapped_tags,
       "ORDER: task 'use' (id 2 of rank 1, call 3) comes before " CHANGED " in the calls of the ranks, not as in the "
       "stream"},
      {"other bytes", plant_less_read, "ACCESS: " USED},
      {"a task is missing", plant_no_task, "MISSING: task 'again' (pass 0, number 4) is not in the timeline"},
  };
  char message[256];
  weir__stream *stream = NULL;
  assert_int_equal(weir__stream_read_memory("s", stream_text, sizeof stream_text - 1, message, sizeof message, &stream),
                   WEIR_OK);
  for (size_t i = 0; i < sizeof with_stream / sizeof *with_stream; i++) {
    weir__timeline *timeline = make();
    with_stream[i].plant(timeline);
    weir__check_result result = weir__check_timeline(timeline, stream, NULL, &report);
    bool right = with_stream[i].finding[0] == '\0';
    if (result != (right ? WEIR__CHECK_PROVED : WEIR__CHECK_BROKEN) ||
        strstr(report.text, with_stream[i].finding) == NULL)
      fail_msg("%s: not \"%s\", but:\n%s", with_stream[i].name, with_stream[i].finding, report.text);
    weir__timeline_destroy(timeline);
  }
  weir__stream_destroy(stream);
}

static void test_untimed_devices(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    weir__timeline *timeline = make_with(i == 0 ? "sim:h200" : "vulkan:0", "");
    assert_int_equal(weir__check_ranks_alone(timeline, NULL, &report), WEIR__CHECK_BROKEN);
    assert_non_null(strstr(report.text, i == 0 ? "the times of device 'sim:h200' cannot be compared"
                                               : "the times of device 'vulkan:0' cannot be compared"));
    weir__timeline_destroy(timeline);
  }
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_planted),
                                   cmocka_unit_test(test_written), cmocka_unit_test(test_stream),
                                   cmocka_unit_test(test_untimed_devices)};
  return cmocka_run_group_tests(all, NULL, NULL);
}
