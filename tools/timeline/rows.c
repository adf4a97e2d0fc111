// SPDX-License-Identifier: Apache-2.0
//
// The checker's reader checks what a timeline holds and shows it here, event by event; what only the page needs is
// checked here. Rows go to streams in memory, as the order of the data is not quite that of the file.
#include "timeline/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/timeline_reader.h"
#include "trace/text.h"

enum { MOST_LANES = 1 << 16 }; // of a device: the page has something for each

typedef struct section {
  FILE *file;
  char *text;
  size_t bytes;
} section;

enum { HEAD, TASKS, SPANS, HOST, SECTIONS };

typedef struct writer {
  section sections[SECTIONS];
  json_t *labels; // of buffers, by their numbers
  uint64_t task_count, span_count, wait_count, device_count, highest_device;
  uint32_t highest_device_line; // of the file; 0: there was no task
  // The task or the graph's launch that came last: parts are its own.
  bool has_owner;
  bool row_open;      // it is a task, whose row lacks its end
  bool has_part;      // the row has one
  bool has_origin;    // a stage submitted the task
  uint64_t owner;     // its id
  char *owner_name;   // NULL: a launch
  uint64_t origin[4]; // pipeline, line, stage, token
  uint64_t
      call[4]; // of several ranks: its number (0: none), what its message is, the other rank, number of the message
} writer;

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

// A field that the reader has found to be a whole number.
static uint64_t whole_of(const json_t *object, const char *key) {
  return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void write_wholes(const json_t *object, const char *const *keys, size_t count, FILE *file) {
  for (size_t i = 0; i < count; i++) fprintf(file, ",%" PRIu64, whole_of(object, keys[i]));
}

// ---------------------------------------------------------------------------------------------------------------
// The head

static bool write_device(weir__timeline_reader *reader, const json_t *device, const char *separator, FILE *file) {
  uint64_t lanes = 0;
  char lane[16] = "lane"; // timelines of old do not say what a lane is called
  if (!json_is_object(device)) return weir__timeline_fail(reader, "a device is not an object");
  if (!json_is_string(json_object_get(device, "name"))) return weir__timeline_fail(reader, "a device has no name");
  const char *name = text_of(device, "name");
  if (!weir__timeline_whole(reader, device, "a device", "lanes", &lanes)) return false;
  if (json_object_get(device, "lane") && !weir__timeline_text(reader, device, "a device", "lane", sizeof lane, lane))
    return false;
  if (lanes > MOST_LANES)
    return weir__timeline_fail(reader, "device '%.40s' has %" PRIu64 " lanes; at most %d are possible", name, lanes,
                               MOST_LANES);
  fprintf(file, "%s[", separator);
  weir__text_string(name, file);
  fprintf(file, ",%" PRIu64 ",", lanes);
  weir__text_string(lane, file);
  if (json_is_integer(json_object_get(device, "rank"))) fprintf(file, ",%" PRIu64, whole_of(device, "rank"));
  fputc(']', file);
  return true;
}

static void write_pipeline(const json_t *pipeline, const char *separator, FILE *file) {
  const json_t *stages = json_object_get(pipeline, "stages");
  fprintf(file, "%s[%" PRIu64 ",%" PRIu64 ",[", separator, whole_of(pipeline, "id"), whole_of(pipeline, "lines"));
  for (size_t i = 0; i < json_array_size(stages); i++) {
    const json_t *stage = json_array_get(stages, i);
    fputs(i ? ",[" : "[", file);
    weir__text_string(text_of(stage, "name"), file);
    fputs(json_is_true(json_object_get(stage, "serial")) ? ",true]" : ",false]", file);
  }
  fputs("]]", file);
}

static bool visit_head(weir__timeline_reader *reader, void *user, const json_t *head) {
  writer *self = user;
  FILE *file = self->sections[HEAD].file;
  const json_t *devices = NULL, *pipelines = json_object_get(head, "pipelines");
  if (!json_is_string(json_object_get(head, "title"))) return weir__timeline_fail(reader, "weir: title is not a text");
  if (!weir__timeline_list(reader, head, "weir", "devices", &devices)) return false;
  fputs("\"title\":", file);
  weir__text_string(text_of(head, "title"), file);
  fprintf(file, ",\"dropped\":%" PRIu64 ",\n\"devices\":[", whole_of(head, "dropped"));
  self->device_count = json_array_size(devices);
  for (size_t i = 0; i < json_array_size(devices); i++) {
    if (!write_device(reader, json_array_get(devices, i), i ? "," : "", file)) return false;
  }
  fputc(']', file);
  if (!pipelines) return true;
  fputs(",\n\"pipelines\":[", file);
  for (size_t i = 0; i < json_array_size(pipelines); i++) {
    write_pipeline(json_array_get(pipelines, i), i ? "," : "", file);
  }
  fputc(']', file);
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks

// The event's lane.
static bool take_lane(weir__timeline_reader *reader, const json_t *event, const char *what, uint64_t *out_lane) {
  if (!weir__timeline_whole(reader, event, what, "tid", out_lane)) return false;
  return *out_lane < MOST_LANES || weir__timeline_fail(reader, "%s: tid %" PRIu64 " is above %d, the highest possible",
                                                       what, *out_lane, MOST_LANES - 1);
}

// The event's device, which is looked at in the end: the head may come after the events.
static bool take_device(weir__timeline_reader *reader, writer *self, const json_t *event, const char *what,
                        uint64_t *out_device) {
  if (!weir__timeline_whole(reader, event, what, "pid", out_device)) return false;
  if (self->highest_device_line == 0 || *out_device > self->highest_device) {
    self->highest_device = *out_device;
    self->highest_device_line = reader->line;
  }
  return true;
}

static bool note_label(weir__timeline_reader *reader, writer *self, const json_t *access) {
  const char *label = text_of(access, "label");
  char key[24], shared[40];
  snprintf(key, sizeof key, "%" PRIu64, whole_of(access, "buffer"));
  snprintf(shared, sizeof shared, "shared %" PRIu64, whole_of(access, "shared"));
  if (label[0] == '\0' && whole_of(access, "shared") != 0) label = shared;
  if (label[0] == '\0' || json_object_get(self->labels, key)) return true;
  return json_object_set_new(self->labels, key, json_string(label)) == 0 || weir__timeline_no_memory(reader);
}

static bool write_accesses(weir__timeline_reader *reader, writer *self, const json_t *accesses) {
  static const char *const keys[] = {"buffer", "storage", "offset", "bytes"};
  for (size_t i = 0; i < json_array_size(accesses); i++) {
    const json_t *access = json_array_get(accesses, i);
    fprintf(self->sections[TASKS].file, "%s\"%s\"", i ? "," : "", text_of(access, "mode"));
    write_wholes(access, keys, 4, self->sections[TASKS].file);
    if (!note_label(reader, self, access)) return false;
  }
  return true;
}

static bool write_waits(weir__timeline_reader *reader, const json_t *waits, const char *what, FILE *file) {
  static const char *const keys[] = {"buffer", "lo", "hi"};
  for (size_t i = 0; i < json_array_size(waits); i++) {
    const json_t *wait = json_array_get(waits, i);
    uint64_t ignored;
    for (size_t k = 0; k < 3; k++) {
      if (!weir__timeline_whole(reader, wait, what, keys[k], &ignored)) return false;
    }
    fprintf(file, "%s%" PRIu64 ",", i ? "," : "", whole_of(wait, "task"));
    weir__text_string(text_of(wait, "hazard"), file);
    write_wholes(wait, keys, 3, file);
  }
  return true;
}

// Ends the row of the task that came last, which is open for its parts.
static void end_row(writer *self) {
  if (!self->row_open) return;
  FILE *file = self->sections[TASKS].file;
  const uint64_t *call = self->origin;
  fputc(']', file);
  if (self->has_origin)
    fprintf(file, ",[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", call[0], call[1], call[2], call[3]);
  if (self->call[0] != 0)
    fprintf(file, "%s,[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", self->has_origin ? "" : ",[]", self->call[0],
            self->call[1], self->call[2], self->call[3]);
  fputc(']', file);
  self->row_open = false;
}

// Parts of `id` may follow. `name` is that of a task; NULL: it is a graph's launch.
static bool set_owner(weir__timeline_reader *reader, writer *self, uint64_t id, const char *name) {
  free(self->owner_name);
  self->owner_name = name ? strdup(name) : NULL;
  self->has_owner = true;
  self->owner = id;
  self->row_open = name != NULL;
  self->has_part = false;
  return !name || self->owner_name || weir__timeline_no_memory(reader);
}

static void note_origin(writer *self, const json_t *args) {
  static const char *const keys[] = {"pipeline", "line", "stage", "token"};
  self->has_origin = json_object_get(args, "pipeline") != NULL;
  for (size_t i = 0; i < 4; i++) self->origin[i] = whole_of(args, keys[i]);
}

// The call that the task is or that its message is for, if it is of one of several ranks.
static void note_call(writer *self, const json_t *args) {
  const json_t *send = json_object_get(args, "send"), *receive = json_object_get(args, "receive");
  self->call[0] = whole_of(args, "call");
  self->call[1] = send != NULL ? 1 : receive != NULL ? 2 : 0;
  self->call[2] = send != NULL ? whole_of(send, "to") : whole_of(receive, "from");
  self->call[3] = whole_of(send != NULL ? send : receive, "number");
}

static void write_names(const json_t *event, const json_t *args, FILE *file) {
  const json_t *tag = json_object_get(args, "tag");
  fprintf(file, "[%" PRIu64 ",", whole_of(args, "id"));
  if (json_is_string(tag))
    fprintf(file, "\"%s\",", json_string_value(tag)); // digits, as the reader has seen
  else
    fprintf(file, "%" PRIu64 ",", whole_of(args, "tag"));
  weir__text_string(text_of(event, "name"), file);
  fputc(',', file);
  weir__text_string(text_of(args, "kernel"), file);
}

static bool visit_task(weir__timeline_reader *reader, writer *self, const json_t *event) {
  static const char *const times[] = {"submit_ns", "ready_ns", "start_ns", "end_ns"};
  const json_t *args = json_object_get(event, "args");
  FILE *file = self->sections[TASKS].file;
  uint64_t device = 0, lane = 0;
  char what[80];
  snprintf(what, sizeof what, "task '%.60s'", text_of(event, "name"));
  if (!take_device(reader, self, event, what, &device) || !take_lane(reader, event, what, &lane)) return false;
  if (!json_is_string(json_object_get(args, "kernel")))
    return weir__timeline_fail(reader, "%s: kernel is not a text", what);
  fputs(self->task_count++ ? ",\n" : "\n", file);
  write_names(event, args, file);
  fprintf(file, ",%" PRIu64 ",%" PRIu64 ",", device, lane);
  weir__text_string(text_of(args, "status"), file);
  write_wholes(args, times, 4, file);
  fputs(",[", file);
  if (!write_accesses(reader, self, json_object_get(args, "accesses"))) return false;
  fputs("],[", file);
  if (!write_waits(reader, json_object_get(args, "waits"), what, file)) return false;
  fputs("],[", file);
  note_origin(self, args);
  note_call(self, args);
  return set_owner(reader, self, whole_of(args, "id"), text_of(event, "name"));
}

// ---------------------------------------------------------------------------------------------------------------
// What is no task

// Its members were checked, as those of a task are.
static bool visit_graph(weir__timeline_reader *reader, writer *self, const json_t *event) {
  return set_owner(reader, self, whole_of(json_object_get(event, "args"), "id"), NULL);
}

// A time in microseconds, which has three decimals.
static bool take_ns(weir__timeline_reader *reader, const json_t *event, const char *what, const char *key,
                    uint64_t *out_ns) {
  const json_t *value = json_object_get(event, key);
  double us = json_number_value(value);
  if (!json_is_number(value) || !(us >= 0 && us < 1e12))
    return weir__timeline_fail(reader, "%s: %s is not a number from 0 to 10^12", what, key);
  *out_ns = (uint64_t)(us * 1000 + 0.5);
  return true;
}

// A part or launch of the task before it. One of its task's name is written without: the page then shows the task's.
static bool visit_part(weir__timeline_reader *reader, writer *self, const json_t *event) {
  const json_t *args = json_object_get(event, "args");
  const char *name = text_of(event, "name");
  uint64_t owner = 0, lane = 0, start_ns = 0, time_ns = 0;
  char what[80];
  snprintf(what, sizeof what, "part '%.60s'", name);
  if (!json_is_object(args)) return weir__timeline_fail(reader, "%s: args is not an object", what);
  if (!weir__timeline_whole(reader, args, what, "task", &owner) || !take_lane(reader, event, what, &lane) ||
      !take_ns(reader, event, what, "ts", &start_ns) || !take_ns(reader, event, what, "dur", &time_ns))
    return false;
  if (!self->has_owner || owner != self->owner)
    return weir__timeline_fail(reader, "%s: it does not follow its task, %" PRIu64, what, owner);
  if (!self->row_open) return true;
  fprintf(self->sections[TASKS].file, "%s%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", self->has_part ? "," : "", lane,
          start_ns, start_ns + time_ns);
  weir__text_string(strcmp(name, self->owner_name) == 0 ? "" : name, self->sections[TASKS].file);
  self->has_part = true;
  return true;
}

static void visit_span(writer *self, const json_t *event) {
  static const char *const times[] = {"start_ns", "end_ns"};
  const json_t *args = json_object_get(event, "args");
  const char *state = text_of(args, "state");
  FILE *file = self->sections[SPANS].file;
  fprintf(file, "%s[%" PRIu64 ",%" PRIu64 ",\"%s\",%" PRIu64 ",", self->span_count++ ? ",\n" : "\n",
          whole_of(args, "pipeline"), whole_of(args, "line"), state,
          strcmp(state, "free") == 0 ? 0 : whole_of(args, "stage"));
  if (json_object_get(args, "token"))
    fprintf(file, "%" PRIu64, whole_of(args, "token"));
  else
    fputs("null", file);
  write_wholes(args, times, 2, file);
  fputs(json_is_true(json_object_get(args, "open")) ? ",true]" : ",false]", file);
}

// What a thread of the program waited for.
static bool visit_wait(weir__timeline_reader *reader, writer *self, const json_t *event) {
  static const char *const fields[] = {"task", "start_ns", "end_ns"};
  const json_t *args = json_object_get(event, "args");
  const char *what = "a wait of the host";
  uint64_t lane = 0, numbers[3] = {0};
  if (!json_is_object(args)) return weir__timeline_fail(reader, "%s: args is not an object", what);
  if (!take_lane(reader, event, what, &lane)) return false;
  for (int i = 0; i < 3; i++) {
    bool optional = i == 0 && json_object_get(args, "task") == NULL;
    if (!optional && !weir__timeline_whole(reader, args, what, fields[i], &numbers[i])) return false;
  }
  FILE *file = self->sections[HOST].file;
  fprintf(file, "%s[", self->wait_count++ ? ",\n" : "\n");
  weir__text_string(text_of(args, "cause"), file);
  fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s", lane, numbers[0], numbers[1], numbers[2],
          json_is_true(json_object_get(args, "reached")) ? "true" : "false");
  if (json_is_integer(json_object_get(args, "rank"))) fprintf(file, ",%" PRIu64, whole_of(args, "rank"));
  fputc(']', file);
  return true;
}

static bool visit_event(weir__timeline_reader *reader, void *user, const json_t *event) {
  writer *self = user;
  const char *category = text_of(event, "cat");
  if (strcmp(category, "part") == 0) return visit_part(reader, self, event);
  end_row(self);
  if (strcmp(category, "task") == 0) return visit_task(reader, self, event);
  if (strcmp(category, "graph") == 0) return visit_graph(reader, self, event);
  if (strcmp(category, "line") == 0) visit_span(self, event);
  if (strcmp(category, "host") == 0) return visit_wait(reader, self, event);
  return true;
}

static bool visit_end(weir__timeline_reader *reader, void *user) {
  writer *self = user;
  end_row(self);
  if (self->highest_device_line == 0 || self->highest_device < self->device_count) return true;
  reader->line = self->highest_device_line;
  return weir__timeline_fail(reader, "pid %" PRIu64 " of a task, but weir has %" PRIu64 " devices",
                             self->highest_device, self->device_count);
}

// ---------------------------------------------------------------------------------------------------------------

static bool open_sections(section *sections, size_t count) {
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    sections[i].file = open_memstream(&sections[i].text, &sections[i].bytes);
    good = good && sections[i].file;
  }
  return good;
}

// False: memory ran out meanwhile.
static bool close_sections(section *sections, size_t count) {
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    if (!sections[i].file) continue; // it could not be opened, as was said
    good = !ferror(sections[i].file) && good;
    good = fclose(sections[i].file) == 0 && good;
  }
  return good;
}

static void write_section(const section *self, FILE *file) {
  fwrite(self->text, 1, self->bytes, file);
}

static bool join(const writer *self, char **out_rows, size_t *out_bytes) {
  section all = {0};
  const char *number;
  json_t *label;
  size_t count = 0;
  if (!open_sections(&all, 1)) return false;
  fputc('{', all.file);
  write_section(&self->sections[HEAD], all.file);
  fputs(",\n\"buffers\":[", all.file);
  json_object_foreach(self->labels, number, label) {
    fprintf(all.file, "%s[%s,", count++ ? "," : "", number);
    weir__text_string(json_string_value(label), all.file);
    fputc(']', all.file);
  }
  fputs("],\n\"tasks\":[", all.file);
  write_section(&self->sections[TASKS], all.file);
  fputs("],\n\"spans\":[", all.file);
  write_section(&self->sections[SPANS], all.file);
  if (self->wait_count > 0) fputs("],\n\"host\":[", all.file);
  write_section(&self->sections[HOST], all.file);
  fputs("]}", all.file);
  bool good = close_sections(&all, 1);
  if (!good) free(all.text);
  *out_rows = good ? all.text : NULL;
  *out_bytes = good ? all.bytes : 0;
  return good;
}

static weir_status say_no_memory(const char *name, char *message, size_t message_size) {
  snprintf(message, message_size, "%s: out of memory", name);
  return WEIR_ERROR_OUT_OF_MEMORY;
}

// `data` is NULL: of the file.
static weir_status read_rows(const char *name, const void *data, size_t bytes, char *message, size_t message_size,
                             char **out_rows, size_t *out_bytes) {
  writer self = {.labels = json_object()};
  const weir__timeline_visitor visitor = {visit_head, visit_event, visit_end, &self};
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  *out_rows = NULL;
  *out_bytes = 0;
  if (!open_sections(self.sections, SECTIONS) || !self.labels)
    say_no_memory(name, message, message_size);
  else
    status = data ? weir__timeline_visit_memory(name, data, bytes, &visitor, message, message_size)
                  : weir__timeline_visit(name, &visitor, message, message_size);
  bool closed = close_sections(self.sections, SECTIONS);
  if (status == WEIR_OK && (!closed || !join(&self, out_rows, out_bytes)))
    status = say_no_memory(name, message, message_size);
  for (size_t i = 0; i < SECTIONS; i++) free(self.sections[i].text);
  free(self.owner_name);
  json_decref(self.labels);
  return status;
}

weir_status weir__timeline_rows(const char *path, char *message, size_t message_size, char **out_rows,
                                size_t *out_bytes) {
  return read_rows(path, NULL, 0, message, message_size, out_rows, out_bytes);
}

weir_status weir__timeline_rows_memory(const char *name, const void *data, size_t bytes, char *message,
                                       size_t message_size, char **out_rows, size_t *out_bytes) {
  return read_rows(name, data ? data : "", bytes, message, message_size, out_rows, out_bytes);
}
