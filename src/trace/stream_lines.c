// SPDX-License-Identifier: Apache-2.0
#include "trace/stream_lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"

enum {
  GROUP_THREADS = 256, // of a work-group on a device with queues; how many it really has is not recorded
  WORKER_THREADS = 1024,
  WORKER_SHARED_BYTES = 114 * 1024, // so that a work-group has a multiprocessor, as it had a worker, to itself
};

bool weir__stream_writer_fail(weir__stream_writer *writer, weir_status status, const char *text, uint64_t task) {
  writer->status = status;
  if (task > 0)
    snprintf(writer->message, writer->message_size, "task %" PRIu64 " %s", task, text);
  else
    snprintf(writer->message, writer->message_size, "%s", text);
  return false;
}

bool weir__stream_writer_no_memory(weir__stream_writer *writer) {
  return weir__stream_writer_fail(writer, WEIR_ERROR_OUT_OF_MEMORY, "no memory to write a stream", 0);
}

bool weir__stream_writer_declare(weir__stream_writer *writer, uint64_t id, uint64_t bytes, const char *label) {
  if (writer->file == NULL) return true;
  fputs("{\"buffer\":", writer->file);
  weir__text_number(id, writer->file);
  fprintf(writer->file, ",\"bytes\":%" PRIu64 ",\"address\":%" PRIu64, bytes, writer->next_address);
  if (label[0] != '\0') {
    fputs(",\"label\":", writer->file);
    weir__text_string(label, writer->file);
  }
  fputs("}\n", writer->file);
  writer->next_address += (bytes + WEIR__STREAM_ALIGNMENT - 1) / WEIR__STREAM_ALIGNMENT * WEIR__STREAM_ALIGNMENT;
  return true;
}

bool weir__stream_writer_use_buffer(weir__stream_writer *writer, uint64_t id, bool writes) {
  const weir__trace_buffer *buffer = weir__trace_find_buffer(writer->trace, id);
  if (buffer == NULL) return weir__stream_writer_no_memory(writer);
  weir__stream_writer_buffer *state = &writer->buffers[buffer - writer->trace->buffers];
  state->dirty = state->dirty || writes;
  if (state->declared) return true;
  state->declared = true;
  return weir__stream_writer_declare(writer, id, buffer->bytes, buffer->label);
}

bool weir__stream_writer_add_range(weir__stream_writer *writer, bool writes, weir__stream_writer_range range) {
  size_t *count = writes ? &writer->write_count : &writer->read_count;
  if (*count == writer->capacity) {
    size_t capacity = writer->capacity * 2;
    weir__stream_writer_range *reads = weir__allocate(capacity * sizeof *reads),
                              *written = weir__allocate(capacity * sizeof *written);
    if (reads == NULL || written == NULL) {
      weir__free(reads);
      weir__free(written);
      return weir__stream_writer_no_memory(writer);
    }
    memcpy(reads, writer->reads, writer->read_count * sizeof *reads);
    memcpy(written, writer->writes, writer->write_count * sizeof *written);
    weir__free(writer->reads);
    weir__free(writer->writes);
    writer->reads = reads;
    writer->writes = written;
    writer->capacity = capacity;
  }
  (writes ? writer->writes : writer->reads)[(*count)++] = range;
  return true;
}

bool weir__stream_writer_add_access(weir__stream_writer *writer, bool writes, const weir__trace_access *access) {
  const weir_box *box = &access->box;
  if (box->rows == 0)
    return weir__stream_writer_add_range(writer, writes,
                                         (weir__stream_writer_range){access->buffer, access->offset, access->bytes});
  if (box->rows * box->slices > WEIR_MAX_ARGS)
    return weir__stream_writer_fail(writer, WEIR_ERROR_INVALID_ARGUMENT,
                                    "a box has more rows than a stream can express", 0);
  for (uint64_t slice = 0; slice < box->slices; slice++) {
    for (uint64_t row = 0; row < box->rows; row++) {
      uint64_t offset = access->offset + slice * box->slice_pitch + row * box->pitch;
      if (!weir__stream_writer_add_range(writer, writes,
                                         (weir__stream_writer_range){access->buffer, offset, box->width}))
        return false;
    }
  }
  return true;
}

static void write_ranges(const char *key, const weir__stream_writer_range *ranges, size_t count, FILE *file) {
  fprintf(file, ",\"%s\":[", key);
  for (size_t i = 0; i < count; i++) {
    fprintf(file, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "", ranges[i].buffer, ranges[i].offset,
            ranges[i].bytes);
  }
  fputc(']', file);
}

static void write_kernel(weir__stream_writer *writer, const weir__trace_task *task) {
  double us = task->end_ns > task->start_ns ? (double)(task->end_ns - task->start_ns) / 1000 : 0;
  FILE *file = writer->file;
  writer->kernels++;
  writer->kernel_us += us;
  if (file == NULL) return;
  fputs("{\"name\":", file);
  weir__text_string(task->kind == WEIR__TRACE_COPY ? task->label : task->kernel, file);
  if (task->kind == WEIR__TRACE_COPY) {
    uint64_t bytes = task->access_count > 0 ? task->accesses[0].bytes : 1;
    fprintf(file, ",\"bytes\":%" PRIu64, bytes);
  } else {
    bool worker = weir__trace_lane_word(&writer->trace->devices[task->device])[0] == 'w';
    uint32_t groups[3];
    for (int i = 0; i < 3; i++) groups[i] = task->groups[i] == 0 ? 1 : task->groups[i];
    fprintf(file, ",\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"block\":[%d,1,1],\"regs\":0,\"smem\":%d",
            groups[0], groups[1], groups[2], worker ? WORKER_THREADS : GROUP_THREADS, worker ? WORKER_SHARED_BYTES : 0);
  }
  fprintf(file, ",\"us\":%.3f}", us);
}

bool weir__stream_writer_write(weir__stream_writer *writer, uint64_t number, const char *op,
                               const weir__trace_task *task, bool wait) {
  writer->tasks++;
  FILE *file = writer->file;
  if (task != NULL && writer->ranges > WEIR_MAX_ARGS)
    return weir__stream_writer_fail(
        writer, WEIR_ERROR_INVALID_ARGUMENT,
        "has more accesses, with rows of boxes and tasks that it comes after, than a stream can express", number);
  writer->ranges = 0;
  if (file != NULL) {
    fprintf(file, "{\"task\":%" PRIu64 ",\"op\":", number);
    weir__text_string(op, file);
    write_ranges("reads", writer->reads, writer->read_count, file);
    write_ranges("writes", writer->writes, writer->write_count, file);
    fputs(",\"kernels\":[", file);
  }
  if (task != NULL) write_kernel(writer, task);
  if (file != NULL) fputs(wait ? "],\"host_wait\":true}\n" : "]}\n", file);
  writer->read_count = writer->write_count = 0;
  return true;
}
