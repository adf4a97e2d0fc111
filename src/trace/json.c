// SPDX-License-Identifier: Apache-2.0
//
// A trace as Chrome trace JSON. docs/inside/timeline-json.md describes the layout, which `weir check` reads.
#include <inttypes.h>

#include "trace/record.h"

static void write_key(const char *key, uint64_t number, FILE *file) {
  fprintf(file, ",\"%s\":", key);
  weir__text_number(number, file);
}

static void write_text(const char *key, const char *text, FILE *file) {
  fprintf(file, ",\"%s\":", key);
  weir__text_string(text, file);
}

static void write_box(const weir_box *box, FILE *file) {
  fprintf(file, ",\"box\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", box->width, box->pitch,
          box->rows, box->slice_pitch, box->slices);
}

static void write_memory(uint32_t memory, FILE *file) {
  if (memory > 0) write_key("memory", memory - 1, file);
}

static void write_destination(const weir__trace_destination *destination, FILE *file) {
  if (destination->storage == 0) return;
  fputs(",\"transfer\":{\"storage\":", file);
  weir__text_number(destination->storage, file);
  write_memory(destination->memory, file);
  fputc('}', file);
}

static void write_accesses(const weir__trace *trace, const weir__trace_task *task, FILE *file) {
  fputs(",\"accesses\":[", file);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__trace_access *access = &task->accesses[i];
    const weir__trace_buffer *buffer = weir__trace_find_buffer(trace, access->buffer);
    fprintf(file, "%s{\"mode\":\"%s\"", i ? "," : "", weir__trace_mode_name(access->mode));
    write_key("buffer", access->buffer, file);
    write_text("label", buffer ? buffer->label : "", file);
    if (buffer && buffer->shared) write_key("shared", buffer->shared, file);
    write_key("storage", access->storage, file);
    write_memory(access->memory, file);
    write_key("offset", access->offset, file);
    write_key("bytes", access->bytes, file);
    if (access->box.rows > 0) write_box(&access->box, file);
    fputc('}', file);
  }
  fputc(']', file);
}

static void write_waits(const weir__trace_task *task, FILE *file) {
  fputs(",\"waits\":[", file);
  for (uint32_t i = 0; i < task->wait_count; i++) {
    const weir__trace_wait *wait = &task->waits[i];
    fprintf(file, "%s{\"task\":%" PRIu64 ",\"hazard\":\"%s\"", i ? "," : "", wait->task,
            weir__trace_hazard_name(wait->hazard));
    write_key("buffer", wait->buffer, file);
    write_key("lo", wait->lo, file);
    write_key("hi", wait->hi, file);
    fputc('}', file);
  }
  fputc(']', file);
}

// The fields that every event of a stretch of time has, up to "args".
static void write_stretch(const char *name, const char *category, uint32_t device, uint32_t lane, uint64_t start_ns,
                          uint64_t end_ns, FILE *file) {
  fputs(",\n{\"name\":", file);
  weir__text_string(name, file);
  fprintf(file, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":", category, device, lane);
  weir__text_us(start_ns, file);
  fputs(",\"dur\":", file);
  weir__text_us(end_ns > start_ns ? end_ns - start_ns : 0, file);
}

static void write_origin(const weir__trace_origin *origin, FILE *file) {
  write_key("pipeline", origin->pipeline, file);
  write_key("line", origin->line, file);
  write_key("stage", origin->stage, file);
  write_key("token", origin->token, file);
}

static void write_task(const weir__trace *trace, const weir__trace_task *task, FILE *file) {
  write_stretch(task->label, task->graph ? "graph" : "task", task->device, task->lane, task->start_ns, task->end_ns,
                file);
  fprintf(file, ",\"args\":{\"id\":%" PRIu64, task->id);
  write_key("tag", task->tag, file);
  write_text("status", weir_status_name(task->done ? task->status : WEIR_PENDING), file);
  write_text("kernel", task->kernel, file);
  write_key("submit_ns", task->submit_ns, file);
  write_key("ready_ns", task->ready_ns, file);
  write_key("start_ns", task->start_ns, file);
  write_key("end_ns", task->end_ns, file);
  if (task->has_origin) write_origin(&task->origin, file);
  weir__trace_write_call(task, file);
  write_destination(&task->destination, file);
  if (task->copies) fputs(",\"copy\":true", file);
  write_accesses(trace, task, file);
  write_waits(task, file);
  fputs("}}", file);
  for (uint32_t i = 0; i < task->span_count; i++) {
    const weir__trace_span *span = &task->spans[i];
    if (task->graph && span->node > 0) continue; // its node says it
    write_stretch(span->name[0] ? span->name : task->label, "part", task->device, span->lane, span->start_ns,
                  span->end_ns, file);
    fprintf(file, ",\"args\":{\"task\":%" PRIu64 "}}", task->id);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Pipelines

static void write_pipeline_head(const weir__trace_pipeline *pipeline, FILE *file) {
  fprintf(file, "{\"id\":%" PRIu32 ",\"lines\":%" PRIu32 ",\"stages\":[", pipeline->id, pipeline->line_count);
  for (uint32_t i = 0; i < pipeline->stage_count; i++) {
    fputs(i ? ",{\"name\":" : "{\"name\":", file);
    weir__text_string(pipeline->stages[i].name, file);
    fprintf(file, ",\"serial\":%s}", pipeline->stages[i].serial ? "true" : "false");
  }
  fputs("]}", file);
}

static void write_pipeline_names(const weir__trace_pipeline *pipeline, uint32_t process, FILE *file) {
  fprintf(file,
          ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":0,\"args\":{\"name\":"
          "\"pipeline %" PRIu32 "\"}}",
          process, pipeline->id);
  for (uint32_t line = 0; line < pipeline->line_count; line++) {
    fprintf(file,
            ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
            ",\"args\":{\"name\":\"line %" PRIu32 "\"}}",
            process, line, line);
  }
}

static void write_line(const weir__trace *trace, const weir__trace_pipeline *pipeline, uint32_t line, uint32_t process,
                       FILE *file) {
  weir__trace_line_reader reader;
  weir__trace_line_span span;
  weir__trace_line_read(weir__trace_line_at(pipeline, line), trace->now_ns, &reader);
  while (weir__trace_line_next(&reader, &span)) {
    char text[32];
    write_stretch(weir__trace_line_span_name(pipeline, &span, text), "line", process, line, span.start_ns, span.end_ns,
                  file);
    fprintf(file, ",\"args\":{\"pipeline\":%" PRIu32 ",\"line\":%" PRIu32 ",\"state\":\"%s\"", pipeline->id, line,
            weir__trace_doing_name(span.doing));
    if (span.doing != WEIR__TRACE_FREE) write_key("stage", span.stage, file);
    if (span.has_token) write_key("token", span.token, file);
    write_key("start_ns", span.start_ns, file);
    write_key("end_ns", span.end_ns, file);
    fputs(reader.span_is_open ? ",\"open\":true}}" : "}}", file);
  }
}

static void write_pipelines(const weir__trace *trace, FILE *file) {
  uint32_t process = (uint32_t)trace->device_count;
  for (const weir__trace_pipeline *each = trace->pipelines; each != NULL; each = each->next, process++) {
    write_pipeline_names(each, process, file);
    for (uint32_t line = 0; line < each->line_count; line++) write_line(trace, each, line, process, file);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// What threads of the caller's waited for

enum { MOST_THREADS = 64 };

// The lane of a thread: threads count in the order of their first waits, and the last lane is for all further ones.
static uint32_t thread_lane(uint64_t *threads, uint32_t *count, uint64_t thread) {
  for (uint32_t i = 0; i < *count; i++) {
    if (threads[i] == thread) return i;
  }
  if (*count == MOST_THREADS) return MOST_THREADS - 1;
  threads[*count] = thread;
  return (*count)++;
}

static void write_host_name(uint32_t process, const char *kind, uint32_t lane, FILE *file) {
  fprintf(file, ",\n{\"name\":\"%s_name\",\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"args\":{\"name\":\"",
          kind, process, lane);
  if (kind[0] == 'p')
    fputs("host", file);
  else
    fprintf(file, "thread %" PRIu32, lane);
  fputs("\"}}", file);
}

static void write_host_wait(const weir__trace_host_wait *wait, uint32_t process, uint32_t lane, FILE *file) {
  write_stretch(weir__trace_cause_name(wait->cause), "host", process, lane, wait->start_ns, wait->end_ns, file);
  fprintf(file, ",\"args\":{\"cause\":\"%s\",\"reached\":%s", weir__trace_cause_name(wait->cause),
          wait->reached ? "true" : "false");
  if (wait->task != 0) write_key("task", wait->task, file);
  write_key("after", wait->after, file);
  write_key("start_ns", wait->start_ns, file);
  write_key("end_ns", wait->end_ns, file);
  fputs("}}", file);
}

static void write_host_waits(const weir__trace *trace, FILE *file) {
  uint32_t process = (uint32_t)trace->device_count, count = 0;
  uint64_t threads[MOST_THREADS];
  for (const weir__trace_pipeline *each = trace->pipelines; each != NULL; each = each->next) process++;
  for (size_t i = 0; i < trace->host_wait_count; i++) {
    const weir__trace_host_wait *wait = &trace->host_waits[i];
    uint32_t known = count, lane = thread_lane(threads, &count, wait->thread);
    if (i == 0) write_host_name(process, "process", 0, file);
    if (count > known) write_host_name(process, "thread", lane, file);
    write_host_wait(wait, process, lane, file);
  }
}

// ---------------------------------------------------------------------------------------------------------------

static void write_device_names(const weir__trace *trace, FILE *file) {
  for (size_t i = 0; i < trace->device_count; i++) {
    const weir__trace_device *device = &trace->devices[i];
    fprintf(file, "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%zu,\"tid\":0,\"args\":{\"name\":", i ? "," : "",
            i);
    weir__text_string(device->name, file);
    fputs("}}", file);
    for (uint32_t lane = 0; lane < device->lanes; lane++) {
      fprintf(file,
              ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%zu,\"tid\":%" PRIu32
              ",\"args\":{\"name\":\"%s %" PRIu32 "\"}}",
              i, lane, weir__trace_lane_word(device), lane);
    }
  }
}

void weir__trace_write_json(const weir__trace *trace, const char *title, FILE *file) {
  fputs("{\"displayTimeUnit\":\"ns\",\"weir\":{\"version\":1", file);
  write_text("title", title, file);
  write_key("dropped", weir__trace_dropped(trace), file);
  weir__trace_write_rank(trace, file);
  fputs(",\"devices\":[", file);
  for (size_t i = 0; i < trace->device_count; i++) {
    fputs(i ? ",{\"name\":" : "{\"name\":", file);
    weir__text_string(trace->devices[i].name, file);
    fprintf(file, ",\"lanes\":%" PRIu32 ",\"lane\":\"%s\"}", trace->devices[i].lanes,
            weir__trace_lane_word(&trace->devices[i]));
  }
  fputs(trace->pipelines != NULL ? "],\"pipelines\":[" : "", file);
  for (const weir__trace_pipeline *each = trace->pipelines; each != NULL; each = each->next) {
    write_pipeline_head(each, file);
    if (each->next != NULL) fputc(',', file);
  }
  fputs("]},\"traceEvents\":[", file);
  write_device_names(trace, file);
  for (size_t i = 0; i < trace->task_count; i++) write_task(trace, &trace->tasks[i], file);
  for (size_t i = 0; i < trace->node_count; i++) write_task(trace, &trace->nodes[i], file);
  write_pipelines(trace, file);
  write_host_waits(trace, file);
  weir__trace_write_written(trace, file);
  fputs("\n]}\n", file);
}
