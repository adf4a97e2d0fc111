// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/timeline_reader.h"

bool weir__timeline_whole(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                          uint64_t *out_value) {
  const json_t *value = json_object_get(object, key);
  if (!value) return weir__timeline_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_integer(value)) return weir__timeline_fail(reader, "%s: %s is not a whole number", what, key);
  if (json_integer_value(value) < 0) return weir__timeline_fail(reader, "%s: %s is negative", what, key);
  *out_value = (uint64_t)json_integer_value(value);
  return true;
}

bool weir__timeline_tag(weir__timeline_reader *reader, const json_t *object, const char *what, uint64_t *out_tag) {
  const char *text = json_string_value(json_object_get(object, "tag"));
  if (!text) return weir__timeline_whole(reader, object, what, "tag", out_tag);
  char *end = NULL;
  errno = 0;
  unsigned long long value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
  if (errno || value <= INT64_MAX || *end)
    return weir__timeline_fail(reader, "%s: tag is neither a whole number nor the text of one from 2^63 to 2^64 - 1",
                               what);
  *out_tag = value;
  return true;
}

bool weir__timeline_text(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                         size_t size, char *out_text) {
  const json_t *value = json_object_get(object, key);
  if (!value) return weir__timeline_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_string(value)) return weir__timeline_fail(reader, "%s: %s is not a text", what, key);
  snprintf(out_text, size, "%s", json_string_value(value));
  return true;
}

bool weir__timeline_list(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                         const json_t **out_list) {
  *out_list = json_object_get(object, key);
  if (!*out_list) return weir__timeline_fail(reader, "%s: %s is missing", what, key);
  if (!json_is_array(*out_list)) return weir__timeline_fail(reader, "%s: %s is not a list", what, key);
  return true;
}

bool weir__timeline_grow(weir__timeline_reader *reader, void **items, size_t *capacity, size_t count,
                         size_t item_size) {
  if (count < *capacity) return true;
  if (count >= UINT32_MAX / 2) return weir__timeline_fail(reader, "more than 2^31 entries");
  size_t wanted = *capacity ? *capacity * 2 : 64;
  void *larger = realloc(*items, wanted * item_size);
  if (!larger) return weir__timeline_no_memory(reader);
  *items = larger;
  *capacity = wanted;
  return true;
}
