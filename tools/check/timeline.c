// SPDX-License-Identifier: Apache-2.0
//
// The outer object of a timeline is scanned here; each value in it, and each event, is a JSON text of its own for the
// parser, so that a long timeline costs no more memory than its tasks.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/controls.h"
#include "check/timeline_reader.h"

bool weir__timeline_fail(weir__timeline_reader *reader, const char *format, ...) {
  reader->status = WEIR_ERROR_INVALID_ARGUMENT;
  if (reader->message_size == 0) return false;
  int used = reader->line
                 ? snprintf(reader->message, reader->message_size, "%s:%" PRIu32 ": ", reader->name, reader->line)
                 : snprintf(reader->message, reader->message_size, "%s: ", reader->name);
  if (used > 0 && (size_t)used < reader->message_size) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->message + used, reader->message_size - (size_t)used, format, arguments);
    va_end(arguments);
  }
  weir__hide_controls(reader->message, "");
  return false;
}

bool weir__timeline_no_memory(weir__timeline_reader *reader) {
  weir__timeline_fail(reader, "out of memory");
  reader->status = WEIR_ERROR_OUT_OF_MEMORY;
  return false;
}

static void skip(weir__timeline_reader *reader, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) reader->line += reader->data[i] == '\n' && reader->line < UINT32_MAX;
  reader->data += bytes;
  reader->bytes -= bytes;
}

// The next character that is not a blank, without taking it; '\0' at the end.
static char peek(weir__timeline_reader *reader) {
  while (reader->bytes > 0 &&
         (*reader->data == ' ' || *reader->data == '\t' || *reader->data == '\n' || *reader->data == '\r')) {
    skip(reader, 1);
  }
  return reader->bytes > 0 ? *reader->data : '\0';
}

static bool take(weir__timeline_reader *reader, char wanted) {
  if (peek(reader) != wanted) {
    return weir__timeline_fail(reader, reader->bytes ? "'%c' is missing" : "the file ends where '%c' is missing",
                               wanted);
  }
  skip(reader, 1);
  return true;
}

// Parses the value that comes next; NULL once status and message are set.
static json_t *take_value(weir__timeline_reader *reader) {
  json_error_t error;
  peek(reader);
  json_t *value = json_loadb(reader->data, reader->bytes, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
  if (value) {
    skip(reader, (size_t)error.position);
    return value;
  }
  if (!error.text[0]) { // the only failure without a text
    weir__timeline_no_memory(reader);
  } else {
    if (error.line > 1) reader->line += (uint32_t)error.line - 1;
    weir__timeline_fail(reader, "%s", error.text);
  }
  return NULL;
}

static bool add_event(weir__timeline_reader *reader, const json_t *event) {
  const weir__timeline_visitor *visitor = reader->visitor;
  return weir__timeline_add_event(reader, event) && (!visitor || visitor->event(reader, visitor->user, event));
}

static bool add_head(weir__timeline_reader *reader, const json_t *head) {
  const weir__timeline_visitor *visitor = reader->visitor;
  return weir__timeline_add_head(reader, head) && (!visitor || visitor->head(reader, visitor->user, head));
}

static bool take_events(weir__timeline_reader *reader) {
  if (reader->has_events) return weir__timeline_fail(reader, "traceEvents is there twice");
  reader->has_events = true;
  if (!take(reader, '[')) return false;
  if (peek(reader) == ']') return take(reader, ']');
  for (;;) {
    peek(reader);
    uint32_t line = reader->line;
    json_t *event = take_value(reader);
    if (!event) return false;
    uint32_t next_line = reader->line;
    reader->line = line;
    bool good = add_event(reader, event);
    json_decref(event);
    if (!good) return false;
    reader->line = next_line;
    if (peek(reader) == ']') return take(reader, ']');
    if (!take(reader, ',')) return false;
  }
}

static bool take_member(weir__timeline_reader *reader, bool *has_head) {
  if (peek(reader) != '"') return weir__timeline_fail(reader, "a name in quotes is missing");
  json_t *key = take_value(reader);
  if (!key) return false;
  bool is_events = strcmp(json_string_value(key), "traceEvents") == 0;
  bool is_head = strcmp(json_string_value(key), "weir") == 0;
  json_decref(key);
  if (!take(reader, ':')) return false;
  if (is_events) return take_events(reader);
  json_t *value = take_value(reader);
  if (!value) return false;
  bool good = true;
  if (is_head) {
    good = *has_head ? weir__timeline_fail(reader, "weir is there twice") : add_head(reader, value);
    *has_head = true;
  }
  json_decref(value);
  return good;
}

static bool is_stream(const weir__timeline_reader *reader) {
  static const char start[] = "{\"weir_stream\"";
  return reader->bytes >= sizeof start - 1 && memcmp(reader->data, start, sizeof start - 1) == 0;
}

static bool read_all(weir__timeline_reader *reader) {
  bool has_head = false;
  reader->line = 1;
  if (is_stream(reader))
    return weir__timeline_fail(reader, "this is a recorded stream, and no timeline, whose name ends in .json");
  if (peek(reader) != '{') return weir__timeline_fail(reader, reader->bytes ? "not an object" : "the file is empty");
  skip(reader, 1);
  while (peek(reader) != '}') {
    if (!take_member(reader, &has_head)) return false;
    if (peek(reader) != '}' && !take(reader, ',')) return false;
  }
  skip(reader, 1);
  peek(reader);
  if (reader->bytes > 0) return weir__timeline_fail(reader, "there is more after the end");
  if (!has_head) return weir__timeline_fail(reader, "weir is missing: this is no timeline of Weir");
  if (!reader->has_events) return weir__timeline_fail(reader, "traceEvents is missing");
  const weir__timeline_visitor *visitor = reader->visitor;
  return weir__timeline_join_pipelines(reader) && (!visitor || visitor->end(reader, visitor->user));
}

static weir_status read_memory(const char *name, const void *data, size_t bytes, const weir__timeline_visitor *visitor,
                               char *message, size_t message_size, weir__timeline **out_timeline) {
  weir__timeline_reader reader = {
      .name = name, .data = data, .bytes = bytes, .visitor = visitor, .message = message, .message_size = message_size};
  *out_timeline = NULL;
  if (message_size > 0) message[0] = '\0';
  reader.timeline = calloc(1, sizeof *reader.timeline);
  if (!reader.timeline) weir__timeline_no_memory(&reader);
  if (reader.timeline && read_all(&reader)) {
    *out_timeline = reader.timeline;
  } else {
    weir__timeline_destroy(reader.timeline);
  }
  return reader.status;
}

// Whether a file cannot be a timeline, as its first character shows: then the rest of it, which may be large or have no end,
// need not be read.
static bool is_other(const char *data, size_t bytes) {
  size_t blanks = 0;
  while (blanks < bytes && strchr(" \t\r\n", data[blanks]) && data[blanks]) blanks++;
  return blanks < bytes && data[blanks] != '{';
}

// The contents of a file, or the start of one that is no timeline; NULL with errno set.
static char *load(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  char *data = NULL;
  size_t capacity = 0, held = 0;
  int error = file ? 0 : errno;
  while (!error) {
    if (held == capacity) {
      capacity = capacity ? capacity * 2 : 1u << 16;
      char *larger = realloc(data, capacity);
      if (!larger) error = ENOMEM;
      if (larger) data = larger;
      if (error) break;
    }
    size_t got = fread(data + held, 1, capacity - held, file);
    if (got == 0 && ferror(file)) error = errno;
    if (got == 0) break;
    held += got;
    if (is_other(data, held)) break;
  }
  if (file) fclose(file);
  if (error) free(data);
  errno = error;
  *out_bytes = held;
  return error ? NULL : data;
}

static weir_status read_file(const char *path, const weir__timeline_visitor *visitor, char *message,
                             size_t message_size, weir__timeline **out_timeline) {
  size_t bytes = 0;
  *out_timeline = NULL;
  char *data = load(path, &bytes);
  if (!data) {
    weir_status status = errno == ENOMEM ? WEIR_ERROR_OUT_OF_MEMORY : WEIR_ERROR_IO;
    snprintf(message, message_size, "%s: %s", path, strerror(errno));
    return status;
  }
  weir_status status = read_memory(path, data, bytes, visitor, message, message_size, out_timeline);
  free(data);
  return status;
}

weir_status weir__timeline_read(const char *path, char *message, size_t message_size, weir__timeline **out_timeline) {
  return read_file(path, NULL, message, message_size, out_timeline);
}

weir_status weir__timeline_read_memory(const char *name, const void *data, size_t bytes, char *message,
                                       size_t message_size, weir__timeline **out_timeline) {
  return read_memory(name, data, bytes, NULL, message, message_size, out_timeline);
}

weir_status weir__timeline_visit(const char *path, const weir__timeline_visitor *visitor, char *message,
                                 size_t message_size) {
  weir__timeline *timeline = NULL;
  weir_status status = read_file(path, visitor, message, message_size, &timeline);
  weir__timeline_destroy(timeline);
  return status;
}

weir_status weir__timeline_visit_memory(const char *name, const void *data, size_t bytes,
                                        const weir__timeline_visitor *visitor, char *message, size_t message_size) {
  weir__timeline *timeline = NULL;
  weir_status status = read_memory(name, data, bytes, visitor, message, message_size, &timeline);
  weir__timeline_destroy(timeline);
  return status;
}

const char *weir__timeline_label_of(const weir__timeline *timeline, uint64_t buffer) {
  for (size_t i = 0; i < timeline->label_count; i++) {
    if (timeline->labels[i].buffer == buffer) return timeline->labels[i].text;
  }
  return "";
}

void weir__timeline_destroy(weir__timeline *timeline) {
  if (!timeline) return;
  free(timeline->tasks);
  free(timeline->accesses);
  free(timeline->waits);
  for (size_t i = 0; i < timeline->pipeline_count; i++) free(timeline->pipelines[i].stages);
  free(timeline->pipelines);
  free(timeline->spans);
  free(timeline->labels);
  free(timeline->launches);
  free(timeline->devices);
  free(timeline->ranks);
  free(timeline->written);
  free(timeline);
}
