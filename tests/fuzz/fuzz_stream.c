// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes as a stream. What is read must keep the promises of stream.h.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "stream/stream.h"

static void require(bool holds) {
  if (!holds) abort();
}

static void check_task(const weir__stream *stream, const weir__stream_task *task) {
  require(task->access_count <= WEIR_MAX_ARGS);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__stream_access *access = &task->accesses[i], *last = i > 0 ? access - 1 : NULL;
    require(access->buffer < stream->buffer_count && access->bytes > 0);
    require(access->offset + access->bytes <= stream->buffers[access->buffer].bytes);
    require(!last || last->buffer < access->buffer || last->offset + last->bytes <= access->offset);
  }
  require(weir__stream_task_us(task) >= 0);
  require(weir__stream_task_work_us(task, stream->sms) <= weir__stream_task_us(task));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char message[200];
  weir__stream *stream = NULL;
  weir_status status = weir__stream_read_memory("fuzz", data, size, message, sizeof message, &stream);
  require((status == WEIR_OK) == (stream != NULL));
  require(status == WEIR_OK || strncmp(message, "fuzz:", 5) == 0);
  for (uint32_t i = 0; stream && i < stream->task_count; i++) check_task(stream, &stream->tasks[i]);
  weir__stream_destroy(stream);
  return 0;
}
