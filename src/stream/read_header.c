// SPDX-License-Identifier: Apache-2.0
#include "stream/reader.h"

static bool optional_text(weir__stream_reader *reader, const json_t *object, const char *key, char **out_text) {
  const json_t *value = json_object_get(object, key);
  return !value || json_is_null(value) || weir__field_text(reader, object, "header", key, out_text);
}

static bool optional_number(weir__stream_reader *reader, const json_t *object, const char *key, double *out_value) {
  const json_t *value = json_object_get(object, key);
  *out_value = -1;
  return !value || json_is_null(value) || weir__field_number(reader, object, "header", key, 1e18, out_value);
}

bool weir__stream_read_header(weir__stream_reader *reader, const json_t *object) {
  weir__stream *stream = reader->stream;
  if (reader->has_header) return weir__stream_fail(reader, "a second header");
  uint64_t version = 0;
  if (!weir__field_whole(reader, object, "header", "weir_stream", 0, INT64_MAX, &version)) return false;
  if (version != 1)
    return weir__stream_fail(reader, "format version %llu is not known, only 1", (unsigned long long)version);

  uint64_t sms = 0;
  if (!weir__field_text(reader, object, "header", "name", &stream->name) ||
      !weir__field_whole(reader, object, "header", "sms", 1, WEIR__STREAM_MAX_SMS, &sms) ||
      !weir__field_whole(reader, object, "header", "tasks", 0, WEIR__STREAM_MAX_EVENTS, &reader->header_tasks)) {
    return false;
  }
  stream->sms = (uint32_t)sms;
  reader->header_kernels = UINT64_MAX;
  if (json_object_get(object, "kernels") &&
      !weir__field_whole(reader, object, "header", "kernels", 0, INT64_MAX, &reader->header_kernels)) {
    return false;
  }
  reader->has_header = true;
  return optional_text(reader, object, "source", &stream->source) &&
         optional_text(reader, object, "device", &stream->device) &&
         optional_number(reader, object, "kernel_us", &stream->kernel_us) &&
         optional_number(reader, object, "eager_us", &stream->eager_us) &&
         optional_number(reader, object, "serial_graph_us", &stream->serial_graph_us) &&
         optional_number(reader, object, "critical_us_by_address", &stream->critical_us_by_address) &&
         optional_number(reader, object, "critical_us_by_buffer", &stream->critical_us_by_buffer);
}
