// SPDX-License-Identifier: Apache-2.0
//
// Fields of JSON objects, with messages that say what is wrong with them; and what else the reader's files share.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/controls.h"
#include "stream/reader.h"

bool weir__stream_fail(weir__stream_reader *reader, const char *format, ...) {
  reader->status = WEIR_ERROR_INVALID_ARGUMENT;
  if (reader->message_size == 0) return false;
  int used = reader->line
                 ? snprintf(reader->message, reader->message_size, "%s:%" PRIu32 ": ", reader->name, reader->line)
                 : snprintf(reader->message, reader->message_size, "%s: ", reader->name);
  if (used > 0 && (size_t)used < reader->message_size) {
    va_list list;
    va_start(list, format);
    vsnprintf(reader->message + used, reader->message_size - (size_t)used, format, list);
    va_end(list);
  }
  weir__hide_controls(reader->message, ""); // names come from the file
  return false;
}

bool weir__stream_no_memory(weir__stream_reader *reader) {
  weir__stream_fail(reader, "out of memory");
  reader->status = WEIR_ERROR_OUT_OF_MEMORY;
  return false;
}

bool weir__stream_grow(weir__stream_reader *reader, void **items, uint32_t *capacity, uint32_t count,
                       size_t item_size) {
  if (count < *capacity) return true;
  if (count >= WEIR__STREAM_MAX_EVENTS)
    return weir__stream_fail(reader, "more than %u entries", WEIR__STREAM_MAX_EVENTS);
  uint32_t wanted = *capacity ? *capacity * 2 : 64;
  void *larger = realloc(*items, wanted * item_size);
  if (!larger) return weir__stream_no_memory(reader);
  *items = larger;
  *capacity = wanted;
  return true;
}

bool weir__field_whole_value(weir__stream_reader *reader, const json_t *value, const char *what, const char *key,
                             uint64_t least, uint64_t most, uint64_t *out_value) {
  if (!json_is_integer(value)) return weir__stream_fail(reader, "%s: %s is not a whole number", what, key);
  json_int_t number = json_integer_value(value);
  if (number < 0) return weir__stream_fail(reader, "%s: %s is negative (%" JSON_INTEGER_FORMAT ")", what, key, number);
  if ((uint64_t)number < least || (uint64_t)number > most) {
    return weir__stream_fail(reader, "%s: %s is %" JSON_INTEGER_FORMAT ", which is not in %" PRIu64 " to %" PRIu64,
                             what, key, number, least, most);
  }
  *out_value = (uint64_t)number;
  return true;
}

bool weir__field_whole(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                       uint64_t least, uint64_t most, uint64_t *out_value) {
  const json_t *value = json_object_get(object, key);
  if (!value) return weir__stream_fail(reader, "%s: %s is missing", what, key);
  return weir__field_whole_value(reader, value, what, key, least, most, out_value);
}

bool weir__field_number(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                        double most, double *out_value) {
  const json_t *value = json_object_get(object, key);
  if (!value) return weir__stream_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_number(value)) return weir__stream_fail(reader, "%s: %s is not a number", what, key);
  double number = json_number_value(value);
  if (!isfinite(number) || number < 0 || number > most) {
    return weir__stream_fail(reader, "%s: %s is %g, which is not in 0 to %g", what, key, number, most);
  }
  *out_value = number == 0 ? 0 : number; // no negative zero
  return true;
}

bool weir__field_text(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                      char **out_text) {
  const json_t *value = json_object_get(object, key);
  if (!value) return weir__stream_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_string(value)) return weir__stream_fail(reader, "%s: %s is not a text", what, key);
  *out_text = strdup(json_string_value(value));
  return *out_text ? true : weir__stream_no_memory(reader);
}

bool weir__field_array(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                       const json_t **out_array) {
  *out_array = json_object_get(object, key);
  if (!*out_array) return weir__stream_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_array(*out_array)) return weir__stream_fail(reader, "%s: %s is not a list", what, key);
  return true;
}
