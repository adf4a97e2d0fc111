// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_CHECK_TIMELINE_READER_H
#define WEIR_CHECK_TIMELINE_READER_H

#include <jansson.h>
#include <stdbool.h>

#include "check/timeline.h"

// Functions that return bool say false once they have set status and message.
typedef struct weir__timeline_reader {
  const char *name;
  const char *data; // what is left to read
  size_t bytes;
  uint32_t line;
  weir_status status;
  char *message;
  size_t message_size;
  weir__timeline *timeline;
  bool has_events;
} weir__timeline_reader;

bool weir__timeline_fail(weir__timeline_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool weir__timeline_no_memory(weir__timeline_reader *reader);

// Takes one entry of traceEvents; those that are not tasks are ignored.
bool weir__timeline_add_event(weir__timeline_reader *reader, const json_t *event);

// Takes the object "weir".
bool weir__timeline_add_head(weir__timeline_reader *reader, const json_t *head);

#endif // WEIR_CHECK_TIMELINE_READER_H
