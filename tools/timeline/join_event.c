// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "timeline/join_parts.h"

static const char *const times[] = {"submit_ns", "ready_ns", "start_ns", "end_ns"};

void weir__join_add(json_t *object, const char *key, uint64_t more) {
  json_t *value = json_object_get(object, key);
  if (json_is_integer(value)) json_integer_set(value, (json_int_t)((uint64_t)json_integer_value(value) + more));
}

// 0 is no number: it stays.
static void add_to_number(json_t *object, const char *key, uint64_t more) {
  if (weir__join_whole(object, key) != 0) weir__join_add(object, key, more);
}

// Functions that return bool say false if memory ran out. What is not right stays: who reads the whole refuses it.
static bool move_process(const weir__join_rank *rank, json_t *event) {
  uint64_t process = weir__join_whole(event, "pid");
  if (!json_is_integer(json_object_get(event, "pid"))) return true;
  uint64_t other = WEIR__JOIN_PROCESSES + rank->number * 1000 + process - rank->device_count;
  return json_object_set_new(
             event, "pid",
             json_integer((json_int_t)(process < rank->device_count ? rank->first_device + process : other))) == 0;
}

static bool move_time(const weir__join_rank *rank, json_t *event, json_t *args) {
  const json_t *start = json_object_get(event, "ts");
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) weir__join_add(args, times[i], rank->shift_ns);
  if (!json_is_number(start)) return true;
  return json_object_set_new(event, "ts", json_real(json_number_value(start) + (double)rank->shift_ns / 1000)) == 0;
}

// "rank 1: cpu:2" in place of "cpu:2".
static bool name_process(const weir__join_rank *rank, const json_t *event, json_t *args) {
  char text[400];
  const char *name = json_string_value(json_object_get(event, "name"));
  const char *process = json_string_value(json_object_get(args, "name"));
  if (name == NULL || process == NULL || strcmp(name, "process_name") != 0 || strlen(process) > 300) return true;
  snprintf(text, sizeof text, "rank %" PRIu64 ": %s", rank->number, process);
  return json_object_set_new(args, "name", json_string(text)) == 0;
}

// A receive waits for the task that sends what it gets.
static bool add_arrow(const weir__join *self, const weir__join_rank *rank, json_t *args, json_t *waits) {
  const json_t *receive = json_object_get(args, "receive");
  const json_t *access = json_array_get(json_object_get(args, "accesses"), 0);
  if (receive == NULL || !json_is_array(waits)) return true;
  uint64_t send =
      weir__join_find_send(self, weir__join_whole(receive, "from"), rank->number, weir__join_whole(receive, "number"));
  if (send == 0) return true;
  uint64_t first = weir__join_whole(access, "offset");
  return json_array_append_new(waits, json_pack("{s:I,s:s,s:I,s:I,s:I}", "task", (json_int_t)send, "hazard", "MESSAGE",
                                                "buffer", (json_int_t)weir__join_whole(access, "buffer"), "lo",
                                                (json_int_t)first, "hi",
                                                (json_int_t)(first + weir__join_whole(access, "bytes")))) == 0;
}

// Bytes in some memory: the storage, and the device whose memory it is.
static void change_place(const weir__join_rank *rank, json_t *place) {
  add_to_number(place, "storage", weir__join_base(rank->number));
  weir__join_add(place, "memory", rank->first_device);
}

static bool change_task(const weir__join *self, const weir__join_rank *rank, json_t *args) {
  uint64_t base = weir__join_base(rank->number);
  json_t *accesses = json_object_get(args, "accesses"), *waits = json_object_get(args, "waits");
  weir__join_add(args, "id", base);
  weir__join_add(args, "pipeline", rank->number * WEIR__JOIN_PIPELINES);
  for (size_t i = 0; i < json_array_size(accesses); i++) {
    add_to_number(json_array_get(accesses, i), "buffer", base);
    change_place(rank, json_array_get(accesses, i));
  }
  change_place(rank, json_object_get(args, "transfer"));
  for (size_t i = 0; i < json_array_size(waits); i++) {
    add_to_number(json_array_get(waits, i), "task", base);
    add_to_number(json_array_get(waits, i), "buffer", base);
  }
  return add_arrow(self, rank, args, waits);
}

bool weir__join_change(const weir__join *self, uint64_t number, json_t *event) {
  const weir__join_rank *rank = &self->ranks[number];
  const char *category = json_string_value(json_object_get(event, "cat"));
  json_t *args = json_object_get(event, "args");
  uint64_t base = weir__join_base(number);
  if (!move_process(rank, event) || !move_time(rank, event, args)) return false;
  if (category == NULL) return name_process(rank, event, args);
  if (strcmp(category, "task") == 0 || strcmp(category, "graph") == 0) return change_task(self, rank, args);
  if (strcmp(category, "line") == 0) weir__join_add(args, "pipeline", number * WEIR__JOIN_PIPELINES);
  add_to_number(args, "task", base); // of a part, and of a wait of the host
  if (strcmp(category, "host") == 0) add_to_number(args, "after", base);
  if (strcmp(category, "written") == 0) add_to_number(args, "buffer", base);
  if ((strcmp(category, "host") == 0 || strcmp(category, "written") == 0) && json_is_object(args))
    return json_object_set_new(args, "rank", json_integer((json_int_t)number)) == 0;
  return true;
}

void weir__join_write_flow(uint64_t rank, const json_t *event, FILE *file) {
  const json_t *args = json_object_get(event, "args"), *send = json_object_get(args, "send");
  const json_t *receive = json_object_get(args, "receive"), *message = send != NULL ? send : receive;
  if (message == NULL) return;
  uint64_t from = send != NULL ? rank : weir__join_whole(message, "from"),
           to = send != NULL ? weir__join_whole(message, "to") : rank;
  uint64_t ns = weir__join_whole(args, send != NULL ? "end_ns" : "start_ns");
  fprintf(file,
          ",\n{\"name\":\"message\",\"cat\":\"message\",\"ph\":\"%s\",\"id\":\"%" PRIu64 "-%" PRIu64 "-%" PRIu64
          "\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"ts\":%" PRIu64 ".%03u}",
          send != NULL ? "s" : "f\",\"bp\":\"e", from, to, weir__join_whole(message, "number"),
          weir__join_whole(event, "pid"), weir__join_whole(event, "tid"), ns / 1000, (unsigned)(ns % 1000));
}
