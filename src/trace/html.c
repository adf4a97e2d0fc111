// SPDX-License-Identifier: Apache-2.0
//
// A trace as one HTML page: timeline.html with timeline.css, timeline.js and the data in the places that it names.
// The data is JSON in rows rather than objects, so that a page of 100,000 tasks stays small:
//   {"title", "dropped", "devices": [[name, lanes, lane word], ...], "buffers": [[id, bytes, label], ...],
//    "tasks": [[id, tag, label, kernel, device, lane, status, submit_ns, ready_ns, start_ns, end_ns,
//               [mode, buffer, storage, offset, bytes, ...], [task, hazard, buffer, lo, hi, ...],
//               [lane, start_ns, end_ns, name, ...], [pipeline, line, stage, token]], ...]}
// The last part of a task's row is there if a stage submitted it. Where there are pipelines, so are these, the token left out as null:
//   "pipelines": [[id, lines, [[stage, serial], ...]], ...],
//   "spans": [[pipeline, line, state, stage, token, start_ns, end_ns, open], ...]
#include <inttypes.h>
#include <string.h>

#include "trace/page.h"
#include "trace/record.h"

static void write_numbers(const uint64_t *numbers, size_t count, FILE *file) {
  for (size_t i = 0; i < count; i++) {
    if (i) fputc(',', file);
    weir__text_number(numbers[i], file);
  }
}

static void write_accesses(const weir__trace_task *task, FILE *file) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__trace_access *access = &task->accesses[i];
    const uint64_t numbers[] = {access->buffer, access->storage, access->offset, access->bytes};
    fprintf(file, "%s\"%s\",", i ? "," : "", weir__trace_mode_name(access->mode));
    write_numbers(numbers, 4, file);
  }
}

static void write_waits(const weir__trace_task *task, FILE *file) {
  for (uint32_t i = 0; i < task->wait_count; i++) {
    const weir__trace_wait *wait = &task->waits[i];
    const uint64_t numbers[] = {wait->buffer, wait->lo, wait->hi};
    fprintf(file, "%s%" PRIu64 ",\"%s\",", i ? "," : "", wait->task, weir__trace_hazard_name(wait->hazard));
    write_numbers(numbers, 3, file);
  }
}

static void write_spans(const weir__trace_task *task, FILE *file) {
  for (uint32_t i = 0; i < task->span_count; i++) {
    const weir__trace_span *span = &task->spans[i];
    const uint64_t numbers[] = {span->lane, span->start_ns, span->end_ns};
    if (i) fputc(',', file);
    write_numbers(numbers, 3, file);
    fputc(',', file);
    weir__text_string(span->name, file);
  }
}

static void write_task(const weir__trace_task *task, FILE *file) {
  const uint64_t numbers[] = {task->submit_ns, task->ready_ns, task->start_ns, task->end_ns};
  fprintf(file, "[%" PRIu64 ",", task->id);
  weir__text_number(task->tag, file);
  fputc(',', file);
  weir__text_string(task->label, file);
  fputc(',', file);
  weir__text_string(task->kernel, file);
  fprintf(file, ",%" PRIu32 ",%" PRIu32 ",\"%s\",", task->device, task->lane,
          weir_status_name(task->done ? task->status : WEIR_PENDING));
  write_numbers(numbers, 4, file);
  fputs(",[", file);
  write_accesses(task, file);
  fputs("],[", file);
  write_waits(task, file);
  fputs("],[", file);
  write_spans(task, file);
  fputc(']', file);
  if (task->has_origin) {
    const weir__trace_origin *origin = &task->origin;
    const uint64_t call[] = {origin->pipeline, origin->line, origin->stage, origin->token};
    fputs(",[", file);
    write_numbers(call, 4, file);
    fputc(']', file);
  }
  fputc(']', file);
}

static void write_stages(const weir__trace_pipeline *pipeline, FILE *file) {
  fprintf(file, "[%" PRIu32 ",%" PRIu32 ",[", pipeline->id, pipeline->line_count);
  for (uint32_t i = 0; i < pipeline->stage_count; i++) {
    fputs(i ? ",[" : "[", file);
    weir__text_string(pipeline->stages[i].name, file);
    fputs(pipeline->stages[i].serial ? ",true]" : ",false]", file);
  }
  fputs("]]", file);
}

static void write_line(const weir__trace *trace, const weir__trace_pipeline *pipeline, uint32_t line, bool *is_first,
                       FILE *file) {
  weir__trace_line_reader reader;
  weir__trace_line_span span;
  weir__trace_line_read(weir__trace_line_at(pipeline, line), trace->now_ns, &reader);
  while (weir__trace_line_next(&reader, &span)) {
    fprintf(file, "%s[%" PRIu32 ",%" PRIu32 ",\"%s\",%u,", *is_first ? "\n" : ",\n", pipeline->id, line,
            weir__trace_doing_name(span.doing), span.stage);
    *is_first = false;
    if (span.has_token)
      weir__text_number(span.token, file);
    else
      fputs("null", file);
    fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%s]", span.start_ns, span.end_ns, reader.span_is_open ? "true" : "false");
  }
}

static void write_pipelines(const weir__trace *trace, FILE *file) {
  bool is_first = true;
  fputs(",\n\"pipelines\":[", file);
  for (const weir__trace_pipeline *each = trace->pipelines; each != NULL; each = each->next) {
    write_stages(each, file);
    if (each->next != NULL) fputc(',', file);
  }
  fputs("],\n\"spans\":[", file);
  for (const weir__trace_pipeline *each = trace->pipelines; each != NULL; each = each->next) {
    for (uint32_t line = 0; line < each->line_count; line++) write_line(trace, each, line, &is_first, file);
  }
  fputc(']', file);
}

static void write_data(const weir__trace *trace, const char *title, FILE *file) {
  fputs("{\"title\":", file);
  weir__text_string(title, file);
  fprintf(file, ",\"dropped\":%" PRIu64 ",\n\"devices\":[", weir__trace_dropped(trace));
  for (size_t i = 0; i < trace->device_count; i++) {
    const weir__trace_device *device = &trace->devices[i];
    fputs(i ? ",[" : "[", file);
    weir__text_string(device->name, file);
    fprintf(file, ",%" PRIu32 ",\"%s\"]", device->lanes, weir__trace_lane_word(device));
  }
  fputs("],\n\"buffers\":[", file);
  for (size_t i = 0; i < trace->buffer_count; i++) {
    const weir__trace_buffer *buffer = &trace->buffers[i];
    fprintf(file, "%s[%" PRIu64 ",%" PRIu64 ",", i ? "," : "", buffer->id, buffer->bytes);
    weir__text_string(buffer->label, file);
    fputc(']', file);
  }
  fputs("],\n\"tasks\":[", file);
  // A graph is shown by its nodes.
  const char *separator = "\n";
  for (size_t i = 0; i < trace->task_count + trace->node_count; i++) {
    const weir__trace_task *task = i < trace->task_count ? &trace->tasks[i] : &trace->nodes[i - trace->task_count];
    if (task->graph) continue;
    fputs(separator, file);
    separator = ",\n";
    write_task(task, file);
  }
  fputc(']', file);
  if (trace->pipelines != NULL) write_pipelines(trace, file);
  fputc('}', file);
}

void weir__trace_write_html(const weir__trace *trace, const char *title, FILE *file) {
  static const char data_mark[] = "@DATA@";
  const char *page = (const char *)weir__trace_page, *end = page + weir__trace_page_bytes;
  const char *mark = memmem(page, weir__trace_page_bytes, data_mark, sizeof(data_mark) - 1);
  fwrite(page, 1, (size_t)(mark - page), file);
  write_data(trace, title, file);
  mark += sizeof(data_mark) - 1;
  fwrite(mark, 1, (size_t)(end - mark), file);
}
