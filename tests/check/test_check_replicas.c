// SPDX-License-Identifier: Apache-2.0
//
// Timelines of two ranks whose devices have memory of their own: a right one is proved, and each mistake that is planted in it
// is found. Rank 0 makes bytes on its card, brings them to the host and sends them. Then it changes them on the host, uses
// them on the card, and sends them from there by way of a copy. Rank 1 uses the first message on its device and the second
// one on the host.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/check.h"

enum { MAKE, HOME, SEND, CHANGE, BACK, CARD, COPY, SEND_COPY, RECEIVE, BRING, USE, RECEIVE_AGAIN, USE_AGAIN, TASKS };
enum { HOST = 8, DEVICE = 9, STAGED = 17 }; // storages of either rank; the last is of a buffer on the host of rank 0

typedef struct planned {
  const char *label, *mode;
  uint64_t rank, id, call, start_ns, storage, to; // `to`: a transfer's
  const char *more, *waits;                       // of the message
} planned;

static const planned tasks[TASKS] = {
    {"make", "write", 0, 1, 2, 0, DEVICE, 0, "", ""},
    {"transfer", "read", 0, 2, 0, 10, DEVICE, HOST, "", ""},
    {"copy out", "read", 0, 3, 3, 20, HOST, 0, ",\"send\":{\"to\":1,\"number\":0}", ""},
    {"change", "read_write", 0, 4, 4, 30, HOST, 0, "", ""},
    {"transfer", "read", 0, 5, 0, 40, HOST, DEVICE, "", ""},
    {"card", "read", 0, 6, 7, 50, DEVICE, 0, "", ""},
    {"copy out", "read", 0, 7, 0, 60, DEVICE, 0, ",\"copy\":true", ""},
    {"copy out", "read", 0, 8, 8, 70, STAGED, 0, ",\"send\":{\"to\":1,\"number\":1}", ""},
    {"from rank 0: use", "write", 1, 1, 3, 30, HOST, 0, ",\"receive\":{\"from\":0,\"number\":0}", "3"},
    {"transfer", "read", 1, 2, 0, 40, HOST, DEVICE, "", ""},
    {"use", "read", 1, 3, 3, 50, DEVICE, 0, "", ""},
    {"from rank 0: again", "write", 1, 4, 8, 80, HOST, 0, ",\"receive\":{\"from\":0,\"number\":1}", "8"},
    {"use again", "read", 1, 5, 8, 90, HOST, 0, "", ""},
};

static void write_place(uint64_t rank, uint64_t storage, FILE *file) {
  fprintf(file, "\"storage\":%llu", (unsigned long long)(rank * WEIR__TIMELINE_RANK_IDS + storage));
  if (storage == DEVICE) fprintf(file, ",\"memory\":%d", (int)(2 * rank + 1));
}

static void write_access(const char *mode, uint64_t rank, uint64_t storage, FILE *file) {
  bool staged = storage == STAGED;
  fprintf(file, "{\"mode\":\"%s\",\"buffer\":%llu,\"label\":\"\",\"offset\":0,\"bytes\":64%s,", mode,
          (unsigned long long)(rank * WEIR__TIMELINE_RANK_IDS + (staged ? 6 : 7)), staged ? "" : ",\"shared\":1");
  write_place(rank, storage, file);
  fputc('}', file);
}

static void write_task(const planned *task, FILE *file) {
  unsigned long long base = task->rank * WEIR__TIMELINE_RANK_IDS, start = task->start_ns;
  fprintf(file, "%s{\"name\":\"%s\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0,\"dur\":0,\"args\":{",
          task == tasks ? "" : ",\n", task->label);
  fprintf(file, "\"id\":%llu,\"tag\":0,\"status\":\"WEIR_OK\",\"kernel\":\"k\"%s", base + task->id, task->more);
  if (task->call != 0) fprintf(file, ",\"call\":%llu", (unsigned long long)task->call);
  fprintf(file, ",\"submit_ns\":0,\"ready_ns\":%llu,\"start_ns\":%llu,\"end_ns\":%llu", start, start, start + 10);
  if (task->to != 0) {
    fputs(",\"transfer\":{", file);
    write_place(task->rank, task->to, file);
    fputc('}', file);
  }
  fputs(",\"accesses\":[", file);
  if (task == &tasks[COPY]) {
    write_access("write", 0, STAGED, file);
    fputc(',', file);
  }
  write_access(task->mode, task->rank, task->storage, file);
  fputs("],\"waits\":[", file);
  if (task->waits[0])
    fprintf(file, "{\"task\":%s,\"hazard\":\"MESSAGE\",\"buffer\":0,\"lo\":0,\"hi\":64}", task->waits);
  fputs("]}}", file);
}

static weir__timeline *make(void) {
  char *text = NULL, message[256];
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  fputs(
      "{\"weir\":{\"version\":1,\"title\":\"x\",\"dropped\":0,\"devices\":[{\"name\":\"cpu:1\"},{\"name\":\"cuda:0\"},"
      "{\"name\":\"cpu:1\"},{\"name\":\"opencl:0\"}],\"ranks\":[{\"number\":0,\"shift_ns\":0,\"error_ns\":0},"
      "{\"number\":1,\"shift_ns\":0,\"error_ns\":0}]},\n\"traceEvents\":[",
      file);
  for (size_t i = 0; i < TASKS; i++) write_task(&tasks[i], file);
  fputs("]}", file);
  fclose(file);
  weir__timeline *timeline = NULL;
  if (weir__timeline_read_memory("x", text, bytes, message, sizeof message, &timeline) != WEIR_OK)
    fail_msg("%s", message);
  free(text);
  return timeline;
}

static weir__timeline_access *access_of(weir__timeline *t, size_t task) {
  return &t->accesses[t->tasks[task].access_first];
}

// Keeps the order of the others.
static void remove_task(weir__timeline *t, size_t task) {
  memmove(&t->tasks[task], &t->tasks[task + 1], (t->task_count - task - 1) * sizeof *t->tasks);
  t->task_count--;
}

static void move(weir__timeline *t, size_t task, uint64_t start_ns) {
  t->tasks[task].start_ns = start_ns;
  t->tasks[task].end_ns = start_ns + 10;
}

// ---------------------------------------------------------------------------------------------------------------

static void plant_no_home(weir__timeline *t) {
  remove_task(t, HOME);
}
static void plant_no_back(weir__timeline *t) {
  remove_task(t, BACK);
}
static void plant_no_bring(weir__timeline *t) {
  remove_task(t, BRING);
}
static void plant_part(weir__timeline *t) {
  access_of(t, BACK)->bytes = 32;
}
// What rank 1 gets in the second message is on the host, and it looks on its device.
static void plant_stale_reader(weir__timeline *t) {
  access_of(t, USE_AGAIN)->storage = access_of(t, USE)->storage;
  access_of(t, USE_AGAIN)->memory = access_of(t, USE)->memory;
}
// The changed bytes are on the host: they are overwritten with those of the card.
static void plant_stale_transfer(weir__timeline *t) {
  weir__timeline_access *access = access_of(t, BACK);
  t->tasks[BACK].destination = (weir__timeline_destination){access->storage, 0};
  access->storage = DEVICE;
  access->memory = 2;
}
static void plant_early_send(weir__timeline *t) {
  move(t, SEND, 12);
}
static void plant_early_copy(weir__timeline *t) {
  move(t, COPY, 44);
}
static void plant_early_send_of_copy(weir__timeline *t) {
  move(t, SEND_COPY, 65);
}
static void plant_early_reader(weir__timeline *t) {
  move(t, BRING, 45);
}
static void plant_early_transfer(weir__timeline *t) {
  move(t, BRING, 35);
}
// Clocks may be so wrong that it is possible.
static void plant_overwritten(weir__timeline *t) {
  t->ranks[0].error_ns = 1000;
  move(t, RECEIVE_AGAIN, 40);
  move(t, BRING, 50);
  move(t, USE, 60);
}
static void plant_overwritten_in_use(weir__timeline *t) {
  t->ranks[0].error_ns = 1000;
  move(t, RECEIVE_AGAIN, 45);
}
static void plant_late_transfer(weir__timeline *t) {
  move(t, HOME, 45);
}
static void plant_replica_in_use(weir__timeline *t) {
  move(t, HOME, 45);
  move(t, BACK, 46);
}
// What is on the host already is brought there once more, behind the message in the program.
static void bring_again(weir__timeline *t) {
  t->tasks[CHANGE].destination = (weir__timeline_destination){access_of(t, CHANGE)->storage, 0};
  *access_of(t, CHANGE) = *access_of(t, HOME);
}
static void plant_brought_again_in_use(weir__timeline *t) {
  bring_again(t);
  move(t, CHANGE, 20);
  t->tasks[SEND].start_ns = 25;
}
// Nobody wrote either buffer. The other one's contents are brought to where this one's are, before they are sent.
static void plant_storage_of_unwritten(weir__timeline *t) {
  t->tasks[MAKE].destination = (weir__timeline_destination){access_of(t, SEND)->storage, 0};
  *access_of(t, MAKE) = *access_of(t, SEND_COPY);
  move(t, HOME, 0);
  move(t, MAKE, 10);
}
// Another buffer gets the card's storage before the bytes are home.
static void plant_storage(weir__timeline *t) {
  access_of(t, COPY)->storage = DEVICE;
  move(t, COPY, 5);
}
static void plant_no_copy(weir__timeline *t) {
  t->tasks[COPY].copies = false;
}
static void plant_copy_of_others(weir__timeline *t) {
  access_of(t, COPY)[1].shared = 0;
}
static void plant_part_of_copy(weir__timeline *t) {
  access_of(t, SEND_COPY)->bytes = 32;
}
// Rank 1 reads on its device what rank 0 has changed.
static void plant_version(weir__timeline *t) {
  t->tasks[USE].call.number = 5;
}
// Rank 1 writes last, so that rank 0 sends what is old.
static void plant_version_of_copy(weir__timeline *t) {
  t->tasks[USE].call.number = 5;
  access_of(t, USE)->mode = WEIR_WRITE;
  t->tasks[CARD].call.number = 0;
}
// Nobody writes what is read first on the card, then on the host.
static void plant_unwritten(weir__timeline *t) {
  t->tasks[CARD].id = 2;
  t->tasks[CARD].call.number = 2;
  t->tasks[HOME].destination.storage = 0;
  t->tasks[HOME].id = 9;
  remove_task(t, BACK);
  remove_task(t, MAKE);
}

// MPI brings the first message to the device of rank 1, where a task updates what another one has made room for.
static void receive_on_device(weir__timeline *t) {
  *access_of(t, RECEIVE) = *access_of(t, USE);
  access_of(t, RECEIVE)->mode = WEIR_READ_WRITE;
  t->tasks[BRING].destination.storage = 0;
  t->tasks[BRING].start_ns = t->tasks[BRING].end_ns = 25;
  t->tasks[BRING].id = 1 + WEIR__TIMELINE_RANK_IDS;
  t->tasks[RECEIVE].id = 2 + WEIR__TIMELINE_RANK_IDS;
  *access_of(t, BRING) = *access_of(t, USE);
  access_of(t, BRING)->mode = WEIR_WRITE;
}
static void plant_late_receive(weir__timeline *t) {
  receive_on_device(t);
  move(t, RECEIVE, 45);
}
static void plant_late_room(weir__timeline *t) {
  receive_on_device(t);
  move(t, BRING, 35);
}

#define MADE "task 'make' (id 1 of rank 0, call 2) writes buffer 7 [0, 64) in storage 9 of cuda:0"
#define HOMED "task 'transfer' (id 2 of rank 0)"
#define SENT "task 'copy out' (id 3 of rank 0, call 3)"
#define CHANGED "task 'change' (id 4 of rank 0, call 4) updates buffer 7 [0, 64) in storage 8"
#define BACKED "task 'transfer' (id 5 of rank 0)"
#define CARDED "task 'card' (id 6 of rank 0, call 7) reads buffer 7 [0, 64) in storage 9 of cuda:0"
#define COPIED "task 'copy out' (id 7 of rank 0)"
#define SENT_COPY "task 'copy out' (id 8 of rank 0, call 8)"
#define GOT "task 'from rank 0: use' (id 1 of rank 1, call 3) writes buffer 7 [0, 64)"
#define BROUGHT "task 'transfer' (id 2 of rank 1)"
#define GOT_AGAIN "task 'from rank 0: again' (id 4 of rank 1, call 8) writes buffer 7 [0, 64)"

static const struct {
  const char *name;
  void (*plant)(weir__timeline *timeline);
  const char *first, *second, *why; // parts of one finding, in this order
} plants[] = {
    {"no transfer to the host", plant_no_home, "TRANSFER broken: " MADE, SENT " reads", "no transfer has brought"},
    {"no transfer back", plant_no_back, "TRANSFER broken: " CHANGED, CARDED, "the copy that is read is stale"},
    {"no transfer of a message", plant_no_bring, "TRANSFER broken: " GOT, "of opencl:0", "no transfer has brought"},
    {"part of it is transferred", plant_part,
     "TRANSFER broken: task 'change' (id 4 of rank 0, call 4) updates buffer 7 [32, 64)",
     "reads buffer 7 [32, 64) in storage 9 of cuda:0", "the copy that is read is stale"},
    {"stale replica", plant_stale_reader, "TRANSFER broken: " GOT_AGAIN, "of opencl:0",
     "the copy that is read is stale"},
    {"transfer of a stale replica", plant_stale_transfer, "TRANSFER broken: " CHANGED, BACKED " reads",
     "the copy that is read is stale"},
    {"sent before it is on the host", plant_early_send,
     "TRANSFER broken: " HOMED " brings buffer 7 [0, 64) in storage 8 from 10 to 20 ns", SENT " reads",
     "the read starts before the transfer ends"},
    {"copied before it is on the card", plant_early_copy, "TRANSFER broken: " BACKED " brings", COPIED " reads",
     "the read starts before the transfer ends"},
    {"sent before it is copied", plant_early_send_of_copy, "RAW broken: " COPIED " writes buffer 6", SENT_COPY " reads",
     "the read starts before the write ends"},
    {"used before it is on the device", plant_early_reader, "TRANSFER broken: " BROUGHT " brings",
     "task 'use' (id 3 of rank 1, call 3) reads", "the read starts before the transfer ends"},
    {"transferred before it is received", plant_early_transfer, "RAW broken: " GOT, BROUGHT " reads",
     "the read starts before the write ends"},
    {"receive overwritten", plant_overwritten, "WAR broken: " BROUGHT " reads", GOT_AGAIN,
     "the later write starts before the earlier read ends"},
    {"receive overwritten while it is transferred", plant_overwritten_in_use, "WAR broken: " BROUGHT " reads",
     GOT_AGAIN, "the write starts before the read ends"},
    {"older contents over newer ones", plant_late_transfer, "WAW broken: " CHANGED, HOMED " brings",
     "the writes run against program order"},
    {"replica overwritten while it is read", plant_replica_in_use, "WAR broken: " HOMED " reads", BACKED " brings",
     "the write starts before the read ends"},
    {"brought once more while it is read", plant_brought_again_in_use, "WAR broken: " SENT " reads",
     "task 'change' (id 4 of rank 0, call 4) brings", "the later write starts before the earlier read ends"},
    {"unwritten contents in the place of others", plant_storage_of_unwritten,
     "STORAGE broken: task 'make' (id 1 of rank 0, call 2) brings buffer 6", SENT " reads buffer 7",
     "the storage was given away while its contents were still needed"},
    {"storage of a replica given away", plant_storage, "STORAGE broken: ", "in storage 9", "before the first one ends"},
    {"sent from what is no copy", plant_no_copy, "MESSAGE: " SENT_COPY, "",
     "does not read one range of a shared buffer"},
    {"sent from a copy of something else", plant_copy_of_others, "MESSAGE: " SENT_COPY, "",
     "does not read one range of a shared buffer"},
    {"sent from part of a copy", plant_part_of_copy, "MESSAGE: " SENT_COPY, "",
     "does not read one range of a shared buffer"},
    {"older version on a device", plant_version, "VERSION broken: task 'use' (id 3 of rank 1, call 5) reads",
     "shared buffer 1 [0, 64) on opencl:0 as it was written by task 'make'", "task 'change' (id 4 of rank 0, call 4)"},
    {"older version is sent from a device", plant_version_of_copy, "VERSION broken: " SENT_COPY " sends",
     "shared buffer 1 [0, 64) on cuda:0 as it was written by task 'change'", "task 'use' (id 3 of rank 1, call 5)"},
    {"read before it is received on a device", plant_late_receive,
     "RAW broken: task 'from rank 0: use' (id 2 of rank 1, call 3) updates", "of opencl:0",
     "the read starts before the write ends"},
    {"received before there is room", plant_late_room, "RAW broken: task 'transfer' (id 1 of rank 1) writes",
     "task 'from rank 0: use' (id 2 of rank 1, call 3) updates", "the read starts before the write ends"},
    {"unwritten contents in two memories", plant_unwritten,
     "TRANSFER broken: task 'card' (id 2 of rank 0, call 2) reads", SENT " reads", "no transfer has brought"},
};

static weir__check_report report;

static bool has_finding(const char *first, const char *second, const char *why) {
  for (char *line = report.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    const char *at = strstr(line, first);
    if (at != NULL) at = strstr(at, second);
    bool found = at != NULL && strstr(at, why) != NULL;
    *end = '\n';
    if (found) return true;
  }
  return false;
}

static void test_right(void **state) {
  (void)state;
  weir__timeline *timeline = make();
  if (weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  assert_int_equal(report.messages, 2);
  // What nobody wrote is where it is read first, and wherever transfers bring it.
  timeline->tasks[MAKE].access_count = 0;
  if (weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  receive_on_device(timeline);
  if (weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  weir__timeline_destroy(timeline);
  timeline = make();
  bring_again(timeline);
  if (weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  weir__timeline_destroy(timeline);
}

static void test_planted(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
    weir__timeline *timeline = make();
    plants[i].plant(timeline);
    weir__check_result result = weir__check_ranks_alone(timeline, NULL, &report);
    if (result != WEIR__CHECK_BROKEN || !has_finding(plants[i].first, plants[i].second, plants[i].why))
      fail_msg("%s: not \"%s ... %s ... %s\", but:\n%s", plants[i].name, plants[i].first, plants[i].second,
               plants[i].why, report.text);
    weir__timeline_destroy(timeline);
  }
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_planted)};
  return cmocka_run_group_tests(all, NULL, NULL);
}
