// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/reader.h"

// One [buffer, offset, bytes] of a list.
static bool read_range(weir__stream_reader *reader, const json_t *value, const char *what, const char *key,
                       weir__stream_range *out_range) {
  if (!json_is_array(value) || json_array_size(value) != 3) {
    return weir__stream_fail(reader, "%s: an entry of %s is not [buffer, offset, bytes]", what, key);
  }
  uint64_t id = 0, offset = 0, bytes = 0;
  if (!weir__field_whole_value(reader, json_array_get(value, 0), what, "the buffer of a range", 0, INT64_MAX, &id) ||
      !weir__field_whole_value(reader, json_array_get(value, 1), what, "the offset of a range", 0, INT64_MAX,
                               &offset) ||
      !weir__field_whole_value(reader, json_array_get(value, 2), what, "the length of a range", 0, INT64_MAX, &bytes)) {
    return false;
  }
  uint32_t index = 0;
  const char *verb = key[0] == 'c' ? "commutes on" : key;
  if (!weir__id_map_find(&reader->ids, id, &index)) {
    return weir__stream_fail(reader, "%s %s buffer %" PRIu64 " [%" PRIu64 ", %" PRIu64 "): the buffer is unknown", what,
                             verb, id, offset, offset + bytes);
  }
  const weir__stream_buffer *buffer = &reader->stream->buffers[index];
  if (buffer->freed) {
    return weir__stream_fail(reader, "%s %s buffer %" PRIu64 " [%" PRIu64 ", %" PRIu64 "): the buffer was freed before",
                             what, verb, id, offset, offset + bytes);
  }
  if (offset > buffer->bytes || bytes > buffer->bytes - offset) {
    return weir__stream_fail(reader,
                             "%s %s buffer %" PRIu64 " [%" PRIu64 ", %" PRIu64 "): the buffer has %" PRIu64 " bytes",
                             what, verb, id, offset, offset + bytes, buffer->bytes);
  }
  *out_range = (weir__stream_range){.buffer = index, .offset = offset, .bytes = bytes};
  return true;
}

static bool read_ranges(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                        weir__stream_range **out_ranges, uint32_t *out_count) {
  const json_t *list = NULL;
  if (!weir__field_array(reader, object, what, key, &list)) return false;
  size_t count = json_array_size(list);
  if (count == 0) return true;
  *out_ranges = calloc(count, sizeof **out_ranges);
  if (!*out_ranges) return weir__stream_no_memory(reader);
  for (size_t i = 0; i < count; i++) {
    if (!read_range(reader, json_array_get(list, i), what, key, &(*out_ranges)[i])) return false;
  }
  *out_count = (uint32_t)count;
  return true;
}

static bool read_triple(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                        const uint64_t most[3], uint64_t most_product, uint32_t *out_triple) {
  const json_t *list = NULL;
  if (!weir__field_array(reader, object, what, key, &list)) return false;
  if (json_array_size(list) != 3) return weir__stream_fail(reader, "%s: %s does not have 3 numbers", what, key);
  uint64_t product = 1;
  for (size_t i = 0; i < 3; i++) {
    uint64_t number = 0;
    if (!weir__field_whole_value(reader, json_array_get(list, i), what, key, 1, most[i], &number)) return false;
    out_triple[i] = (uint32_t)number;
    if (number > most_product / product) {
      return weir__stream_fail(reader, "%s: %s has a product of more than %" PRIu64, what, key, most_product);
    }
    product *= number;
  }
  return true;
}

static bool read_kernel(weir__stream_reader *reader, const json_t *object, const char *op,
                        weir__stream_kernel *kernel) {
  static const uint64_t most_blocks[3] = {INT32_MAX, 65535, 65535};
  static const uint64_t most_threads[3] = {WEIR__STREAM_MAX_THREADS, WEIR__STREAM_MAX_THREADS,
                                           WEIR__STREAM_MAX_THREADS};
  char what[200];
  snprintf(what, sizeof what, "task '%.80s': a kernel", op);
  if (!json_is_object(object)) return weir__stream_fail(reader, "%s is not an object", what);
  if (!weir__field_text(reader, object, what, "name", &kernel->name)) return false;
  snprintf(what, sizeof what, "task '%.80s': kernel '%.80s'", op, kernel->name);
  if (!weir__field_number(reader, object, what, "us", WEIR__STREAM_MAX_US, &kernel->us)) return false;

  bool is_copy = json_object_get(object, "bytes") != NULL;
  bool is_launch = json_object_get(object, "grid") != NULL;
  if (is_copy && is_launch) return weir__stream_fail(reader, "%s has both grid and bytes", what);
  if (!is_copy && !is_launch) return weir__stream_fail(reader, "%s has neither grid nor bytes", what);
  if (is_copy) return weir__field_whole(reader, object, what, "bytes", 1, INT64_MAX, &kernel->copy_bytes);
  uint64_t registers = 0, shared = 0;
  if (!read_triple(reader, object, what, "grid", most_blocks, WEIR__STREAM_MAX_BLOCKS, kernel->grid) ||
      !read_triple(reader, object, what, "block", most_threads, WEIR__STREAM_MAX_THREADS, kernel->block) ||
      !weir__field_whole(reader, object, what, "regs", 0, WEIR__STREAM_MAX_REGISTERS, &registers) ||
      !weir__field_whole(reader, object, what, "smem", 0, WEIR__STREAM_MAX_SHARED, &shared)) {
    return false;
  }
  kernel->registers = (uint32_t)registers;
  kernel->shared_bytes = (uint32_t)shared;
  return true;
}

static bool read_kernels(weir__stream_reader *reader, const json_t *object, const char *what, weir__stream_task *task) {
  const json_t *list = NULL;
  if (!weir__field_array(reader, object, what, "kernels", &list)) return false;
  size_t count = json_array_size(list);
  if (count == 0) return true;
  task->kernels = calloc(count, sizeof *task->kernels);
  if (!task->kernels) return weir__stream_no_memory(reader);
  task->kernel_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    if (!read_kernel(reader, json_array_get(list, i), task->op, &task->kernels[i])) return false;
  }
  reader->stream->kernel_count += count;
  return true;
}

// Marks what the task touches, and buffers that it is the first to touch and reads: they may be parameters.
static void mark_buffers(weir__stream *stream, const weir__stream_task *task) {
  for (uint32_t i = 0, next; i < task->access_count; i = next) {
    weir__stream_buffer *buffer = &stream->buffers[task->accesses[i].buffer];
    bool reads = false;
    for (next = i; next < task->access_count && task->accesses[next].buffer == task->accesses[i].buffer; next++) {
      reads |= task->accesses[next].mode != WEIR_WRITE;
    }
    if (!buffer->accessed) buffer->parameter = reads;
    buffer->accessed = true;
  }
}

// All tasks have a number, or none has.
static bool read_number(weir__stream_reader *reader, const json_t *object, const char *what, weir__stream_task *task) {
  uint32_t index = reader->stream->task_count - 1, other;
  task->number = index + 1u;
  bool numbered = json_object_get(object, "task") != NULL;
  if (index > 0 && numbered != (reader->numbers.count > 0))
    return weir__stream_fail(reader, "%s has %s number (task), unlike those before it", what, numbered ? "a" : "no");
  if (!numbered) return true;
  if (!weir__field_whole(reader, object, what, "task", 1, INT64_MAX, &task->number)) return false;
  if (weir__id_map_find(&reader->numbers, task->number, &other))
    return weir__stream_fail(reader, "%s has number %" PRIu64 ", like the task of line %" PRIu32, what, task->number,
                             reader->stream->tasks[other].line);
  return weir__id_map_add(&reader->numbers, task->number, index) || weir__stream_no_memory(reader);
}

uint32_t weir__stream_find(const weir__stream *stream, uint64_t number) {
  uint32_t index = 0;
  while (index < stream->task_count && stream->tasks[index].number != number) index++;
  return index;
}

bool weir__stream_read_task(weir__stream_reader *reader, const json_t *object) {
  weir__stream *stream = reader->stream;
  if (!weir__stream_grow(reader, (void **)&stream->tasks, &reader->task_capacity, stream->task_count,
                         sizeof *stream->tasks)) {
    return false;
  }
  weir__stream_task *task = &stream->tasks[stream->task_count++];
  *task = (weir__stream_task){.line = reader->line};
  if (!weir__field_text(reader, object, "task", "op", &task->op)) return false;

  char what[100];
  snprintf(what, sizeof what, "task '%.80s'", task->op);
  const json_t *host_wait = json_object_get(object, "host_wait");
  if (host_wait && !json_is_boolean(host_wait)) {
    return weir__stream_fail(reader, "%s: host_wait is not true or false", what);
  }
  task->host_wait = json_is_true(host_wait);
  if (!read_number(reader, object, what, task)) return false;
  if (!read_ranges(reader, object, what, "reads", &task->reads, &task->read_count) ||
      !read_ranges(reader, object, what, "writes", &task->writes, &task->write_count) ||
      (json_object_get(object, "commutes") &&
       !read_ranges(reader, object, what, "commutes", &task->commutes, &task->commute_count)) ||
      !read_kernels(reader, object, what, task) || !weir__stream_normalise(reader, task)) {
    return false;
  }
  if (task->access_count > WEIR_MAX_ARGS) {
    return weir__stream_fail(reader, "%s has %" PRIu32 " separate accesses, more than %d", what, task->access_count,
                             WEIR_MAX_ARGS);
  }
  mark_buffers(stream, task);
  return true;
}
