// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "stream/stream.h"

static json_t *optional_text(const char *text) {
  return text ? json_string(text) : json_null();
}

static json_t *optional_number(double number) {
  return number < 0 ? json_null() : json_real(number);
}

static json_t *header_object(const weir__stream *stream) {
  return json_pack("{s:i, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "weir_stream", 1, "name",
                   stream->name, "source", optional_text(stream->source), "device", optional_text(stream->device),
                   "sms", (json_int_t)stream->sms, "tasks", (json_int_t)stream->task_count, "kernels",
                   (json_int_t)stream->kernel_count, "kernel_us", optional_number(stream->kernel_us), "eager_us",
                   optional_number(stream->eager_us), "serial_graph_us", optional_number(stream->serial_graph_us),
                   "critical_us_by_address", optional_number(stream->critical_us_by_address), "critical_us_by_buffer",
                   optional_number(stream->critical_us_by_buffer));
}

static json_t *buffer_object(const weir__stream_buffer *buffer) {
  return json_pack("{s:I, s:I, s:I}", "buffer", (json_int_t)buffer->id, "bytes", (json_int_t)buffer->bytes, "address",
                   (json_int_t)buffer->address);
}

// json_array_append_new and json_object_set_new take NULL as a failure, so a lack of memory anywhere arrives here.
static json_t *free_object(const weir__stream *stream, const weir__stream_event *event) {
  json_t *list = json_array();
  bool good = list != NULL;
  for (uint32_t i = 0; good && i < event->count; i++) {
    const weir__stream_buffer *buffer = &stream->buffers[stream->freed[event->index + i]];
    good = json_array_append_new(list, json_integer((json_int_t)buffer->id)) == 0;
  }
  if (good) return json_pack("{s:o}", "free", list);
  json_decref(list);
  return NULL;
}

static json_t *range_list(const weir__stream *stream, const weir__stream_range *ranges, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; list && i < count; i++) {
    json_t *range = json_pack("[I, I, I]", (json_int_t)stream->buffers[ranges[i].buffer].id,
                              (json_int_t)ranges[i].offset, (json_int_t)ranges[i].bytes);
    if (json_array_append_new(list, range) != 0) {
      json_decref(list);
      return NULL;
    }
  }
  return list;
}

static json_t *triple(const uint32_t numbers[3]) {
  return json_pack("[I, I, I]", (json_int_t)numbers[0], (json_int_t)numbers[1], (json_int_t)numbers[2]);
}

static json_t *kernel_object(const weir__stream_kernel *kernel) {
  if (kernel->copy_bytes > 0) {
    return json_pack("{s:s, s:I, s:f}", "name", kernel->name, "bytes", (json_int_t)kernel->copy_bytes, "us",
                     kernel->us);
  }
  return json_pack("{s:s, s:o, s:o, s:I, s:I, s:f}", "name", kernel->name, "grid", triple(kernel->grid), "block",
                   triple(kernel->block), "regs", (json_int_t)kernel->registers, "smem",
                   (json_int_t)kernel->shared_bytes, "us", kernel->us);
}

static json_t *kernel_list(const weir__stream_task *task) {
  json_t *list = json_array();
  for (uint32_t i = 0; list && i < task->kernel_count; i++) {
    if (json_array_append_new(list, kernel_object(&task->kernels[i])) != 0) {
      json_decref(list);
      return NULL;
    }
  }
  return list;
}

static json_t *task_object(const weir__stream *stream, const weir__stream_task *task) {
  json_t *object =
      json_pack("{s:s, s:o, s:o, s:o}", "op", task->op, "reads", range_list(stream, task->reads, task->read_count),
                "writes", range_list(stream, task->writes, task->write_count), "kernels", kernel_list(task));
  if (object && task->commute_count > 0 &&
      json_object_set_new(object, "commutes", range_list(stream, task->commutes, task->commute_count)) != 0) {
    json_decref(object);
    return NULL;
  }
  bool counted = task->number == 0 || task->number == (uint64_t)(task - stream->tasks) + 1;
  if (object && !counted && json_object_set_new(object, "task", json_integer((json_int_t)task->number)) != 0) {
    json_decref(object);
    return NULL;
  }
  if (object && task->host_wait && json_object_set_new(object, "host_wait", json_true()) != 0) {
    json_decref(object);
    return NULL;
  }
  return object;
}

// Writes the object as a line, and drops it. False: no memory (errno is ENOMEM) or the file cannot be written.
static bool write_line(FILE *file, json_t *object) {
  errno = ENOMEM;
  if (!object) return false;
  char *text = json_dumps(object, JSON_COMPACT);
  json_decref(object);
  if (!text) {
    errno = ENOMEM;
    return false;
  }
  errno = 0;
  bool good = fputs(text, file) >= 0 && fputc('\n', file) != EOF;
  free(text);
  return good;
}

static bool write_event(FILE *file, const weir__stream *stream, const weir__stream_event *event) {
  if (event->kind == WEIR__STREAM_BUFFER) return write_line(file, buffer_object(&stream->buffers[event->index]));
  if (event->kind == WEIR__STREAM_FREE) return write_line(file, free_object(stream, event));
  return write_line(file, task_object(stream, &stream->tasks[event->index]));
}

weir_status weir__stream_write(const weir__stream *stream, const char *path, char *message, size_t message_size) {
  if (message_size > 0) message[0] = '\0';
  FILE *file = fopen(path, "wb");
  bool good = file && write_line(file, header_object(stream));
  for (uint32_t i = 0; good && i < stream->event_count; i++) good = write_event(file, stream, &stream->events[i]);
  int error = good ? 0 : errno;
  if (file && fclose(file) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good) return WEIR_OK;
  snprintf(message, message_size, "%s: %s", path, strerror(error));
  return error == ENOMEM ? WEIR_ERROR_OUT_OF_MEMORY : WEIR_ERROR_IO;
}
