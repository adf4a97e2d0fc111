// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/timeline_reader.h"
#include "weir/box.h"

// Notes a buffer's label, unless it was the last one noted of those that share its slot.
static bool note_label(weir__timeline_reader *reader, uint64_t buffer, const char *label) {
  weir__timeline *timeline = reader->timeline;
  uint32_t *slot = &timeline->label_slots[buffer % WEIR__TIMELINE_LABEL_SLOTS];
  if (*slot > 0 && timeline->labels[*slot - 1].buffer == buffer) return true;
  if (!weir__timeline_grow(reader, (void **)&timeline->labels, &timeline->label_capacity, timeline->label_count,
                           sizeof *timeline->labels))
    return false;
  weir__timeline_label *noted = &timeline->labels[timeline->label_count++];
  noted->buffer = buffer;
  snprintf(noted->text, sizeof noted->text, "%s", label);
  *slot = (uint32_t)timeline->label_count;
  return true;
}

static bool note_access(weir__timeline_reader *reader, const weir__timeline_access *access) {
  weir__timeline *timeline = reader->timeline;
  if (!weir__timeline_grow(reader, (void **)&timeline->accesses, &timeline->access_capacity, timeline->access_count,
                           sizeof *timeline->accesses))
    return false;
  timeline->accesses[timeline->access_count++] = *access;
  return true;
}

// The box of an access: width, pitch, rows, slice pitch, slices. It ends where the access does.
static bool take_box(weir__timeline_reader *reader, const json_t *list, const char *what, uint64_t bytes,
                     weir_box *out_box) {
  uint64_t parts[5];
  for (size_t i = 0; i < 5; i++) {
    const json_t *part = json_array_get(list, i);
    if (!json_is_integer(part) || json_integer_value(part) < 0 || json_array_size(list) != 5)
      return weir__timeline_fail(reader, "%s: the box of an access is not a list of 5 whole numbers", what);
    parts[i] = (uint64_t)json_integer_value(part);
  }
  *out_box = (weir_box){parts[0], parts[1], parts[2], parts[3], parts[4]};
  const weir_box *box = out_box;
  bool good = box->width > 0 && box->rows > 0 && box->slices > 0 && box->width <= box->pitch && bytes > 0 &&
              (box->rows == 1 || box->pitch <= (bytes - 1) / (box->rows - 1)) &&
              (box->slices == 1 || box->slice_pitch <= (bytes - 1) / (box->slices - 1)) &&
              (box->slices == 1 || box->slice_pitch / box->rows >= box->pitch);
  uint64_t end = good ? (box->slices - 1) * box->slice_pitch + (box->rows - 1) * box->pitch + box->width : 0;
  return end == bytes || weir__timeline_fail(reader, "%s: the box of an access is not one of its bytes", what);
}

// A box counts as an access for each of its rows.
static bool note_rows(weir__timeline_reader *reader, const weir__timeline_access *access, const weir_box *box) {
  for (uint64_t slice = 0; slice < box->slices; slice++) {
    for (uint64_t row = 0; row < box->rows; row++) {
      weir__timeline_access one = *access;
      one.offset += slice * box->slice_pitch + row * box->pitch;
      one.bytes = box->width;
      if (!note_access(reader, &one)) return false;
    }
  }
  return true;
}

static bool add_access(weir__timeline_reader *reader, const json_t *object, const char *what) {
  weir__timeline_access access = {0};
  char mode[16] = "";
  if (!json_is_object(object)) return weir__timeline_fail(reader, "%s: an access is not an object", what);
  if (!weir__timeline_text(reader, object, what, "mode", sizeof mode, mode) ||
      !weir__timeline_whole(reader, object, what, "buffer", &access.buffer) ||
      !weir__timeline_whole(reader, object, what, "storage", &access.storage) ||
      !weir__timeline_whole(reader, object, what, "offset", &access.offset) ||
      !weir__timeline_whole(reader, object, what, "bytes", &access.bytes)) {
    return false;
  }
  if (!weir__timeline_take_memory(reader, object, what, &access.memory)) return false;
  if (json_object_get(object, "shared") && !weir__timeline_whole(reader, object, what, "shared", &access.shared))
    return false;
  static const char *const names[] = {NULL, "read", "write", "read_write", "commute"};
  for (int i = WEIR_READ; i <= WEIR_COMMUTE; i++) {
    if (strcmp(mode, names[i]) == 0) access.mode = (weir_mode)i;
  }
  if (access.mode == WEIR_VALUE) return weir__timeline_fail(reader, "%s: '%s' is not a mode of access", what, mode);
  const json_t *list = json_object_get(object, "box");
  weir_box box = {0};
  if (list != NULL && !take_box(reader, list, what, access.bytes, &box)) return false;
  if (!(list != NULL ? note_rows(reader, &access, &box) : note_access(reader, &access))) return false;
  const char *label = json_string_value(json_object_get(object, "label"));
  return !label || !label[0] || note_label(reader, access.buffer, label);
}

static bool add_wait(weir__timeline_reader *reader, const json_t *object, const char *what) {
  weir__timeline *timeline = reader->timeline;
  weir__timeline_wait wait = {0};
  if (!json_is_object(object)) return weir__timeline_fail(reader, "%s: a wait is not an object", what);
  if (!weir__timeline_whole(reader, object, what, "task", &wait.task) ||
      !weir__timeline_text(reader, object, what, "hazard", sizeof wait.hazard, wait.hazard)) {
    return false;
  }
  if (!weir__timeline_grow(reader, (void **)&timeline->waits, &timeline->wait_capacity, timeline->wait_count,
                           sizeof *timeline->waits)) {
    return false;
  }
  timeline->waits[timeline->wait_count++] = wait;
  return true;
}

static bool add_task(weir__timeline_reader *reader, const json_t *event, bool launch) {
  weir__timeline *timeline = reader->timeline;
  weir__timeline_task task = {
      .line = reader->line, .access_first = timeline->access_count, .wait_first = timeline->wait_count};
  uint64_t ready_ns = 0;
  char phase[8] = "";
  if (!weir__timeline_text(reader, event, "a task", "name", sizeof task.label, task.label)) return false;
  char what[80];
  snprintf(what, sizeof what, "task '%s'", task.label);
  if (!weir__timeline_text(reader, event, what, "ph", sizeof phase, phase)) return false;
  if (strcmp(phase, "X") != 0) return weir__timeline_fail(reader, "%s: ph is '%s', not 'X'", what, phase);

  const json_t *args = json_object_get(event, "args");
  const json_t *accesses = NULL, *waits = NULL;
  if (!json_is_object(args)) return weir__timeline_fail(reader, "%s: args is not an object", what);
  if (!weir__timeline_whole(reader, args, what, "id", &task.id) || !weir__timeline_tag(reader, args, what, &task.tag) ||
      !weir__timeline_text(reader, args, what, "status", sizeof task.status, task.status) ||
      !weir__timeline_whole(reader, args, what, "submit_ns", &task.submit_ns) ||
      !weir__timeline_whole(reader, args, what, "ready_ns", &ready_ns) ||
      !weir__timeline_whole(reader, args, what, "start_ns", &task.start_ns) ||
      !weir__timeline_whole(reader, args, what, "end_ns", &task.end_ns) ||
      !weir__timeline_take_origin(reader, args, what, &task) ||
      !weir__timeline_take_call(reader, args, what, &task.call) ||
      !weir__timeline_list(reader, args, what, "accesses", &accesses) ||
      !weir__timeline_list(reader, args, what, "waits", &waits)) {
    return false;
  }
  weir__timeline_task **list = launch ? &timeline->launches : &timeline->tasks;
  size_t *count = launch ? &timeline->launch_count : &timeline->task_count;
  size_t *capacity = launch ? &timeline->launch_capacity : &timeline->task_capacity;
  if (!weir__timeline_grow(reader, (void **)list, capacity, *count, sizeof **list)) return false;
  for (size_t i = 0; i < json_array_size(accesses); i++) {
    if (!add_access(reader, json_array_get(accesses, i), what)) return false;
  }
  for (size_t i = 0; i < json_array_size(waits); i++) {
    if (!add_wait(reader, json_array_get(waits, i), what)) return false;
  }
  task.access_count = (uint32_t)(timeline->access_count - task.access_first);
  task.wait_count = (uint32_t)json_array_size(waits);
  if (!weir__timeline_take_destination(reader, args, what, &task)) return false;
  (*list)[(*count)++] = task;
  return true;
}

bool weir__timeline_add_event(weir__timeline_reader *reader, const json_t *event) {
  if (!json_is_object(event)) return weir__timeline_fail(reader, "an entry of traceEvents is not an object");
  const char *category = json_string_value(json_object_get(event, "cat"));
  if (category && strcmp(category, "task") == 0) return add_task(reader, event, false);
  if (category && strcmp(category, "graph") == 0) return add_task(reader, event, true);
  if (category && strcmp(category, "written") == 0) return weir__timeline_add_written(reader, event);
  return !category || strcmp(category, "line") != 0 || weir__timeline_add_span(reader, event);
}

bool weir__timeline_add_head(weir__timeline_reader *reader, const json_t *head) {
  uint64_t version = 0;
  if (!json_is_object(head)) return weir__timeline_fail(reader, "weir is not an object");
  if (!weir__timeline_whole(reader, head, "weir", "version", &version)) return false;
  if (version != 1)
    return weir__timeline_fail(reader, "timeline version %llu is not known, only 1", (unsigned long long)version);
  return weir__timeline_whole(reader, head, "weir", "dropped", &reader->timeline->dropped) &&
         weir__timeline_add_devices(reader, head) && weir__timeline_add_ranks(reader, head) &&
         weir__timeline_add_pipelines(reader, head);
}
