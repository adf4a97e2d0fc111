// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/reader.h"

static bool add_event(weir__stream_reader *reader, weir__stream_event_kind kind, uint32_t index, uint32_t count) {
  weir__stream *stream = reader->stream;
  if (!weir__stream_grow(reader, (void **)&stream->events, &reader->event_capacity, stream->event_count,
                         sizeof *stream->events)) {
    return false;
  }
  stream->events[stream->event_count++] = (weir__stream_event){kind, index, count, reader->line};
  return true;
}

static bool read_buffer(weir__stream_reader *reader, const json_t *object) {
  weir__stream *stream = reader->stream;
  uint64_t id = 0, bytes = 0, address = 0;
  if (!weir__field_whole(reader, object, "buffer", "buffer", 0, INT64_MAX, &id)) return false;
  char what[60];
  snprintf(what, sizeof what, "buffer %" PRIu64, id);
  if (!weir__field_whole(reader, object, what, "bytes", 1, INT64_MAX, &bytes) ||
      !weir__field_whole(reader, object, what, "address", 0, INT64_MAX, &address)) {
    return false;
  }
  uint32_t known = 0;
  if (weir__id_map_find(&reader->ids, id, &known)) {
    return weir__stream_fail(reader, "%s is there already, in line %" PRIu32, what, stream->buffers[known].line);
  }
  if (bytes > INT64_MAX - address) {
    return weir__stream_fail(reader, "%s: address %" PRIu64 " + %" PRIu64 " bytes passes 2^63", what, address, bytes);
  }
  if (bytes > INT64_MAX - reader->total_bytes) {
    return weir__stream_fail(reader, "%s: all buffers together pass 2^63 bytes", what);
  }
  reader->total_bytes += bytes;
  if (!weir__stream_grow(reader, (void **)&stream->buffers, &reader->buffer_capacity, stream->buffer_count,
                         sizeof *stream->buffers)) {
    return false;
  }
  if (!weir__id_map_add(&reader->ids, id, stream->buffer_count)) return weir__stream_no_memory(reader);
  stream->buffers[stream->buffer_count] =
      (weir__stream_buffer){.id = id, .bytes = bytes, .address = address, .line = reader->line};
  return add_event(reader, WEIR__STREAM_BUFFER, stream->buffer_count++, 1);
}

static bool read_free(weir__stream_reader *reader, const json_t *object) {
  weir__stream *stream = reader->stream;
  const json_t *list = NULL;
  if (!weir__field_array(reader, object, "free", "free", &list)) return false;
  uint32_t first = stream->freed_count;
  for (size_t i = 0; i < json_array_size(list); i++) {
    uint64_t id = 0;
    uint32_t index = 0;
    if (!weir__field_whole_value(reader, json_array_get(list, i), "free", "a buffer", 0, INT64_MAX, &id)) return false;
    if (!weir__id_map_find(&reader->ids, id, &index)) {
      return weir__stream_fail(reader, "free: buffer %" PRIu64 " is unknown", id);
    }
    if (stream->buffers[index].freed) return weir__stream_fail(reader, "free: buffer %" PRIu64 " was freed before", id);
    stream->buffers[index].freed = true;
    stream->buffers[index].parameter = false;
    if (!weir__stream_grow(reader, (void **)&stream->freed, &reader->freed_capacity, stream->freed_count,
                           sizeof *stream->freed)) {
      return false;
    }
    stream->freed[stream->freed_count++] = index;
  }
  return add_event(reader, WEIR__STREAM_FREE, first, stream->freed_count - first);
}

static bool read_object(weir__stream_reader *reader, const json_t *object) {
  static const char *const kinds[] = {"weir_stream", "buffer", "free", "op"};
  int kind = -1;
  if (!json_is_object(object)) return weir__stream_fail(reader, "not an object");
  for (int i = 0; i < 4; i++) {
    if (!json_object_get(object, kinds[i])) continue;
    if (kind >= 0) return weir__stream_fail(reader, "has both %s and %s", kinds[kind], kinds[i]);
    kind = i;
  }
  if (kind < 0) return weir__stream_fail(reader, "has none of weir_stream, buffer, free and op");
  if (kind == 0) return weir__stream_read_header(reader, object);
  if (!reader->has_header) return weir__stream_fail(reader, "a header (weir_stream) must come first");
  if (kind == 1) return read_buffer(reader, object);
  if (kind == 2) return read_free(reader, object);
  return weir__stream_read_task(reader, object) &&
         add_event(reader, WEIR__STREAM_TASK, reader->stream->task_count - 1, 1);
}

// A file of another kind, as its first line shows: what weir_trace_save writes if the name ends in .json.
static bool is_timeline(const weir__stream_reader *reader, const char *text, size_t bytes) {
  static const char start[] = "{\"displayTimeUnit\"";
  return reader->line == 1 && bytes >= sizeof start - 1 && memcmp(text, start, sizeof start - 1) == 0;
}

static bool read_line(weir__stream_reader *reader, const char *text, size_t bytes) {
  if (reader->line == UINT32_MAX) return weir__stream_fail(reader, "more than 2^32 lines");
  reader->line++;
  if (bytes > WEIR__STREAM_MAX_LINE) {
    return weir__stream_fail(reader, "the line is longer than %u bytes", WEIR__STREAM_MAX_LINE);
  }
  size_t blank = 0;
  while (blank < bytes && strchr(" \t\r", text[blank]) && text[blank]) blank++;
  if (blank == bytes) return true;

  if (is_timeline(reader, text, bytes))
    return weir__stream_fail(reader, "this is a timeline, and no recorded stream, whose name ends in .jsonl");
  json_error_t error;
  json_t *object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  if (!object && !error.text[0]) return weir__stream_no_memory(reader); // the only failure without a text
  if (!object) return weir__stream_fail(reader, "column %d: %s", error.column, error.text);
  bool good = read_object(reader, object);
  json_decref(object);
  return good;
}

static bool finish(weir__stream_reader *reader) {
  const weir__stream *stream = reader->stream;
  if (!reader->has_header) return weir__stream_fail(reader, "%s", reader->line ? "no header" : "the file is empty");
  if (stream->task_count != reader->header_tasks) {
    return weir__stream_fail(reader, "the file ends after %" PRIu32 " tasks, the header says %" PRIu64,
                             stream->task_count, reader->header_tasks);
  }
  if (reader->header_kernels != UINT64_MAX && stream->kernel_count != reader->header_kernels) {
    return weir__stream_fail(reader, "the file has %" PRIu64 " kernels, the header says %" PRIu64, stream->kernel_count,
                             reader->header_kernels);
  }
  return weir__stream_check_addresses(reader);
}

static bool read_memory(weir__stream_reader *reader, const char *data, size_t bytes) {
  while (bytes > 0) {
    const char *end = memchr(data, '\n', bytes);
    size_t length = end ? (size_t)(end - data) : bytes;
    if (!read_line(reader, data, length)) return false;
    size_t used = end ? length + 1 : length;
    data += used;
    bytes -= used;
  }
  return true;
}

// Passes on whole lines from a window on the file that holds two lines of the greatest length.
static bool read_lines(weir__stream_reader *reader, FILE *file, char *window) {
  const size_t capacity = 2 * (size_t)WEIR__STREAM_MAX_LINE;
  size_t held = 0;
  for (;;) {
    size_t got = fread(window + held, 1, capacity - held, file);
    if (ferror(file)) {
      int error = errno;
      reader->line = 0;
      weir__stream_fail(reader, "%s", strerror(error));
      reader->status = WEIR_ERROR_IO;
      return false;
    }
    held += got;
    const char *last = got == 0 ? window + held : memrchr(window, '\n', held);
    size_t whole = !last ? 0 : got == 0 ? held : (size_t)(last - window) + 1;
    if (!read_memory(reader, window, whole)) return false;
    if (got == 0) return true;
    memmove(window, window + whole, held - whole);
    held -= whole;
    if (held > WEIR__STREAM_MAX_LINE) return read_line(reader, window, held); // which says that it is too long
  }
}

static weir_status begin(weir__stream_reader *reader, const char *name, char *message, size_t message_size) {
  *reader = (weir__stream_reader){.name = name, .message = message, .message_size = message_size};
  if (message_size > 0) message[0] = '\0';
  reader->stream = calloc(1, sizeof *reader->stream);
  if (!reader->stream) weir__stream_no_memory(reader);
  return reader->status;
}

static weir_status end(weir__stream_reader *reader, weir__stream **out_stream) {
  weir__id_map_destroy(&reader->ids);
  weir__id_map_destroy(&reader->numbers);
  if (reader->status == WEIR_OK) {
    *out_stream = reader->stream;
  } else {
    weir__stream_destroy(reader->stream);
  }
  return reader->status;
}

weir_status weir__stream_read_memory(const char *name, const void *data, size_t bytes, char *message,
                                     size_t message_size, weir__stream **out_stream) {
  weir__stream_reader reader;
  *out_stream = NULL;
  if (begin(&reader, name, message, message_size) == WEIR_OK && read_memory(&reader, data, bytes)) finish(&reader);
  return end(&reader, out_stream);
}

weir_status weir__stream_read(const char *path, char *message, size_t message_size, weir__stream **out_stream) {
  weir__stream_reader reader;
  *out_stream = NULL;
  if (begin(&reader, path, message, message_size) != WEIR_OK) return end(&reader, out_stream);
  FILE *file = fopen(path, "rb");
  char *window = file ? malloc(2 * (size_t)WEIR__STREAM_MAX_LINE) : NULL;
  if (!file) {
    weir__stream_fail(&reader, "%s", strerror(errno));
    reader.status = WEIR_ERROR_IO;
  } else if (!window) {
    weir__stream_no_memory(&reader);
  } else if (read_lines(&reader, file, window)) {
    finish(&reader);
  }
  free(window);
  if (file) fclose(file);
  return end(&reader, out_stream);
}

void weir__stream_destroy(weir__stream *stream) {
  if (!stream) return;
  for (uint32_t i = 0; i < stream->task_count; i++) {
    weir__stream_task *task = &stream->tasks[i];
    for (uint32_t k = 0; k < task->kernel_count; k++) free(task->kernels[k].name);
    free(task->kernels);
    free(task->accesses);
    free(task->reads);
    free(task->writes);
    free(task->commutes);
    free(task->op);
  }
  free(stream->tasks);
  free(stream->buffers);
  free(stream->freed);
  free(stream->events);
  free(stream->name);
  free(stream->source);
  free(stream->device);
  free(stream);
}
