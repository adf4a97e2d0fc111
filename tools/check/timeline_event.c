// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/timeline_reader.h"

// A field that is a whole number of at least 0.
static bool whole(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                  uint64_t *out_value) {
  const json_t *value = json_object_get(object, key);
  if (!value) return weir__timeline_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_integer(value)) return weir__timeline_fail(reader, "%s: %s is not a whole number", what, key);
  if (json_integer_value(value) < 0) return weir__timeline_fail(reader, "%s: %s is negative", what, key);
  *out_value = (uint64_t)json_integer_value(value);
  return true;
}

// A field that is a text; cut to the size of out_text.
static bool text(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key, size_t size,
                 char *out_text) {
  const json_t *value = json_object_get(object, key);
  if (!value) return weir__timeline_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_string(value)) return weir__timeline_fail(reader, "%s: %s is not a text", what, key);
  snprintf(out_text, size, "%s", json_string_value(value));
  return true;
}

static bool list(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                 const json_t **out_list) {
  *out_list = json_object_get(object, key);
  if (!*out_list) return weir__timeline_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_array(*out_list)) return weir__timeline_fail(reader, "%s: %s is not a list", what, key);
  return true;
}

static bool grow(weir__timeline_reader *reader, void **items, size_t *capacity, size_t count, size_t item_size) {
  if (count < *capacity) return true;
  if (count >= UINT32_MAX / 2) return weir__timeline_fail(reader, "more than 2^31 entries");
  size_t wanted = *capacity ? *capacity * 2 : 64;
  void *larger = realloc(*items, wanted * item_size);
  if (!larger) return weir__timeline_no_memory(reader);
  *items = larger;
  *capacity = wanted;
  return true;
}

static bool add_access(weir__timeline_reader *reader, const json_t *object, const char *what) {
  weir__timeline *timeline = reader->timeline;
  weir__timeline_access access = {0};
  char mode[16] = "";
  if (!json_is_object(object)) return weir__timeline_fail(reader, "%s: an access is not an object", what);
  if (!text(reader, object, what, "mode", sizeof mode, mode) ||
      !whole(reader, object, what, "buffer", &access.buffer) ||
      !whole(reader, object, what, "storage", &access.storage) ||
      !whole(reader, object, what, "offset", &access.offset) || !whole(reader, object, what, "bytes", &access.bytes)) {
    return false;
  }
  static const char *const names[] = {NULL, "read", "write", "read_write"};
  for (int i = WEIR_READ; i <= WEIR_READ_WRITE; i++) {
    if (strcmp(mode, names[i]) == 0) access.mode = (weir_mode)i;
  }
  if (access.mode == WEIR_VALUE) return weir__timeline_fail(reader, "%s: '%s' is not a mode of access", what, mode);
  if (!grow(reader, (void **)&timeline->accesses, &timeline->access_capacity, timeline->access_count,
            sizeof *timeline->accesses)) {
    return false;
  }
  timeline->accesses[timeline->access_count++] = access;
  return true;
}

static bool add_wait(weir__timeline_reader *reader, const json_t *object, const char *what) {
  weir__timeline *timeline = reader->timeline;
  weir__timeline_wait wait = {0};
  if (!json_is_object(object)) return weir__timeline_fail(reader, "%s: a wait is not an object", what);
  if (!whole(reader, object, what, "task", &wait.task) ||
      !text(reader, object, what, "hazard", sizeof wait.hazard, wait.hazard)) {
    return false;
  }
  if (!grow(reader, (void **)&timeline->waits, &timeline->wait_capacity, timeline->wait_count,
            sizeof *timeline->waits)) {
    return false;
  }
  timeline->waits[timeline->wait_count++] = wait;
  return true;
}

static bool add_task(weir__timeline_reader *reader, const json_t *event) {
  weir__timeline *timeline = reader->timeline;
  weir__timeline_task task = {
      .line = reader->line, .access_first = timeline->access_count, .wait_first = timeline->wait_count};
  uint64_t ready_ns = 0;
  char phase[8] = "";
  if (!text(reader, event, "a task", "name", sizeof task.label, task.label)) return false;
  char what[80];
  snprintf(what, sizeof what, "task '%s'", task.label);
  if (!text(reader, event, what, "ph", sizeof phase, phase)) return false;
  if (strcmp(phase, "X") != 0) return weir__timeline_fail(reader, "%s: ph is '%s', not 'X'", what, phase);

  const json_t *args = json_object_get(event, "args");
  const json_t *accesses = NULL, *waits = NULL;
  if (!json_is_object(args)) return weir__timeline_fail(reader, "%s: args is not an object", what);
  if (!whole(reader, args, what, "id", &task.id) || !whole(reader, args, what, "tag", &task.tag) ||
      !text(reader, args, what, "status", sizeof task.status, task.status) ||
      !whole(reader, args, what, "submit_ns", &task.submit_ns) || !whole(reader, args, what, "ready_ns", &ready_ns) ||
      !whole(reader, args, what, "start_ns", &task.start_ns) || !whole(reader, args, what, "end_ns", &task.end_ns) ||
      !list(reader, args, what, "accesses", &accesses) || !list(reader, args, what, "waits", &waits)) {
    return false;
  }
  if (!grow(reader, (void **)&timeline->tasks, &timeline->task_capacity, timeline->task_count,
            sizeof *timeline->tasks)) {
    return false;
  }
  for (size_t i = 0; i < json_array_size(accesses); i++) {
    if (!add_access(reader, json_array_get(accesses, i), what)) return false;
  }
  for (size_t i = 0; i < json_array_size(waits); i++) {
    if (!add_wait(reader, json_array_get(waits, i), what)) return false;
  }
  task.access_count = (uint32_t)json_array_size(accesses);
  task.wait_count = (uint32_t)json_array_size(waits);
  timeline->tasks[timeline->task_count++] = task;
  return true;
}

bool weir__timeline_add_event(weir__timeline_reader *reader, const json_t *event) {
  if (!json_is_object(event)) return weir__timeline_fail(reader, "an entry of traceEvents is not an object");
  const char *category = json_string_value(json_object_get(event, "cat"));
  return !category || strcmp(category, "task") != 0 || add_task(reader, event);
}

bool weir__timeline_add_head(weir__timeline_reader *reader, const json_t *head) {
  uint64_t version = 0;
  if (!json_is_object(head)) return weir__timeline_fail(reader, "weir is not an object");
  if (!whole(reader, head, "weir", "version", &version)) return false;
  if (version != 1)
    return weir__timeline_fail(reader, "timeline version %llu is not known, only 1", (unsigned long long)version);
  return whole(reader, head, "weir", "dropped", &reader->timeline->dropped);
}
