// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes as a timeline, checked against a small stream, its pipelines by themselves, without a stream; and its
// rows.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "fuzz.h"
#include "timeline/rows.h"

static const char stream_text[] =
    "{\"weir_stream\":1,\"name\":\"fuzz\",\"sms\":1,\"tasks\":4}\n"
    "{\"buffer\":1,\"bytes\":100,\"address\":0}\n{\"buffer\":2,\"bytes\":64,\"address\":100}\n"
    "{\"op\":\"a\",\"reads\":[[1,0,100]],\"writes\":[[2,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"b\",\"reads\":[[2,32,32]],\"writes\":[],\"kernels\":[],\"host_wait\":true}\n"
    "{\"free\":[2]}\n{\"buffer\":3,\"bytes\":64,\"address\":100}\n"
    "{\"op\":\"c\",\"reads\":[],\"writes\":[[3,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"d\",\"reads\":[[3,0,16]],\"writes\":[[3,8,16]],\"kernels\":[]}\n";

// Rows are of timelines that can be read, and are JSON that can stand inside <script>.
static void make_rows(const uint8_t *data, size_t size, bool readable) {
  char message[200] = "", *rows = NULL;
  size_t bytes = 0;
  weir_status status = weir__timeline_rows_memory("fuzz", data, size, message, sizeof message, &rows, &bytes);
  if ((status == WEIR_OK) != (rows != NULL) || (rows && !readable)) abort();
  if (!rows && strncmp(message, "fuzz:", 5) != 0) abort();
  json_t *parsed = rows ? json_loadb(rows, bytes, 0, NULL) : NULL;
  if (rows && (!json_is_object(parsed) || memchr(rows, '<', bytes))) abort();
  json_decref(parsed);
  free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char message[200];
  weir__stream *stream = NULL;
  weir__timeline *timeline = NULL;
  weir__check_report report;
  if (weir__stream_read_memory("stream", stream_text, strlen(stream_text), message, sizeof message, &stream) !=
      WEIR_OK) {
    abort();
  }
  weir_status status = weir__timeline_read_memory("fuzz", data, size, message, sizeof message, &timeline);
  if ((status == WEIR_OK) != (timeline != NULL)) abort();
  if (status != WEIR_OK && strncmp(message, "fuzz:", 5) != 0) abort();
  if (timeline && weir__check_timeline(timeline, stream, NULL, &report) == WEIR__CHECK_BAD_INPUT) abort();
  if (timeline && (report.result == WEIR__CHECK_PROVED) != (report.broken == 0)) abort();
  const weir__check_options apart = {.lines_apart = true};
  if (timeline && weir__check_pipelines(timeline, &apart, &report) == WEIR__CHECK_BAD_INPUT &&
      timeline->pipeline_count > 0)
    abort();
  if (timeline && weir__check_ranks_alone(timeline, NULL, &report) == WEIR__CHECK_BAD_INPUT && timeline->part_of == 0)
    abort();
  make_rows(data, size, timeline != NULL);
  weir__timeline_destroy(timeline);
  weir__stream_destroy(stream);
  return 0;
}
