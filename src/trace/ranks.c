// SPDX-License-Identifier: Apache-2.0
#include "trace/ranks.h"

#include <inttypes.h>

#include "trace/record.h"

void weir__trace_set_rank(weir__trace *trace, const weir__trace_rank *rank) {
  trace->rank = *rank;
}

const weir__trace_rank *weir__trace_rank_of(const weir__trace *trace) {
  return &trace->rank;
}

void weir__trace_share_buffer(weir__trace *trace, uint64_t id, uint64_t shared) {
  const weir__trace_buffer *found = weir__trace_find_buffer(trace, id);
  if (found != NULL)
    trace->buffers[found - trace->buffers].shared = shared;
  else
    trace->dropped++;
}

void weir__trace_add_written(weir__trace *trace, const weir__trace_written *written) {
  void *all = trace->written;
  bool room = weir__trace_make_room(&all, trace->written_count, &trace->written_capacity, sizeof *trace->written);
  trace->written = all;
  if (room)
    trace->written[trace->written_count++] = *written;
  else
    trace->dropped++;
}

void weir__trace_write_rank(const weir__trace *trace, FILE *file) {
  const weir__trace_rank *rank = &trace->rank;
  if (rank->ranks == 0) return;
  fprintf(file, ",\"rank\":{\"number\":%" PRIu32 ",\"of\":%" PRIu32, rank->rank, rank->ranks);
  fprintf(file, ",\"zero_ns\":%" PRIu64 ",\"error_ns\":%" PRIu64 "}", rank->zero_ns, rank->error_ns);
}

void weir__trace_write_call(const weir__trace_task *task, FILE *file) {
  static const char *const words[] = {
      [WEIR__TRACE_SENDS] = "\"send\":{\"to\"", [WEIR__TRACE_RECEIVES] = "\"receive\":{\"from\""};
  if (task->call == 0) return;
  fprintf(file, ",\"call\":%" PRIu64, task->call);
  if (task->message.direction == WEIR__TRACE_NO_MESSAGE) return;
  fprintf(file, ",%s:%" PRIu32 ",\"number\":%" PRIu64 "}", words[task->message.direction], task->message.peer,
          task->message.number);
}

void weir__trace_write_written(const weir__trace *trace, FILE *file) {
  for (size_t i = 0; i < trace->written_count; i++) {
    const weir__trace_written *written = &trace->written[i];
    const weir__trace_buffer *buffer = weir__trace_find_buffer(trace, written->buffer);
    fprintf(file,
            ",\n{\"name\":\"written\",\"cat\":\"written\",\"ph\":\"i\",\"pid\":0,\"tid\":0,\"ts\":0,\"args\":{\"call\":"
            "%" PRIu64 ",\"buffer\":%" PRIu64 ",\"shared\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 "}}",
            written->call, written->buffer, buffer != NULL ? buffer->shared : 0, written->offset, written->bytes);
  }
}
