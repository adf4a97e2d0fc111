// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_CHECK_TIMELINE_READER_H
#define WEIR_CHECK_TIMELINE_READER_H

#include <jansson.h>
#include <stdbool.h>

#include "check/timeline.h"

typedef struct weir__timeline_reader weir__timeline_reader;

// The reader shows it all that it reads, in the order of the file, each once it has checked it: the object "weir",
// every entry of traceEvents, and the end. `user` is the visitor's own.
typedef struct weir__timeline_visitor {
  bool (*head)(weir__timeline_reader *reader, void *user, const json_t *head);
  bool (*event)(weir__timeline_reader *reader, void *user, const json_t *event);
  bool (*end)(weir__timeline_reader *reader, void *user);
  void *user;
} weir__timeline_visitor;

// Reads a timeline for a visitor alone, from a file or from memory; otherwise like weir__timeline_read.
weir_status weir__timeline_visit(const char *path, const weir__timeline_visitor *visitor, char *message,
                                 size_t message_size);
weir_status weir__timeline_visit_memory(const char *name, const void *data, size_t bytes,
                                        const weir__timeline_visitor *visitor, char *message, size_t message_size);

// Functions that return bool say false once they have set status and message.
struct weir__timeline_reader {
  const char *name;
  const char *data; // what is left to read
  size_t bytes;
  uint32_t line;
  weir_status status;
  char *message;
  size_t message_size;
  weir__timeline *timeline;
  bool has_events;
  const weir__timeline_visitor *visitor; // NULL: none
};

bool weir__timeline_fail(weir__timeline_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool weir__timeline_no_memory(weir__timeline_reader *reader);

// Fields of an object, which is called `what` in messages: a whole number of at least 0; the tag, a text where it is
// above 2^63 - 1; a text, cut to `size`; a list.
bool weir__timeline_whole(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                          uint64_t *out_value);
bool weir__timeline_tag(weir__timeline_reader *reader, const json_t *object, const char *what, uint64_t *out_tag);
bool weir__timeline_text(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                         size_t size, char *out_text);
bool weir__timeline_list(weir__timeline_reader *reader, const json_t *object, const char *what, const char *key,
                         const json_t **out_list);

// Makes room for one more item.
bool weir__timeline_grow(weir__timeline_reader *reader, void **items, size_t *capacity, size_t count, size_t item_size);

// Of pipelines: those of the object "weir"; a span of a line; the call that a task was submitted in, if there was one. Last, when
// all is read: that what spans and tasks name is there.
bool weir__timeline_add_pipelines(weir__timeline_reader *reader, const json_t *head);
bool weir__timeline_add_span(weir__timeline_reader *reader, const json_t *event);
bool weir__timeline_take_origin(weir__timeline_reader *reader, const json_t *args, const char *what,
                                weir__timeline_task *task);
bool weir__timeline_join_pipelines(weir__timeline_reader *reader);

// Of memories: the devices of the object "weir"; in whose memory some bytes are; what a transfer or copy does with its
// accesses, which were read before.
bool weir__timeline_add_devices(weir__timeline_reader *reader, const json_t *head);
bool weir__timeline_take_memory(weir__timeline_reader *reader, const json_t *place, const char *what,
                                uint64_t *out_memory);
bool weir__timeline_take_destination(weir__timeline_reader *reader, const json_t *args, const char *what,
                                     weir__timeline_task *task);

// Of ranks: those of the object "weir"; what a task is in the common sequence; what calls say was written.
bool weir__timeline_add_ranks(weir__timeline_reader *reader, const json_t *head);
bool weir__timeline_take_call(weir__timeline_reader *reader, const json_t *args, const char *what,
                              weir__timeline_call *out_call);
bool weir__timeline_add_written(weir__timeline_reader *reader, const json_t *event);

// Takes one entry of traceEvents; those of other kinds are ignored.
bool weir__timeline_add_event(weir__timeline_reader *reader, const json_t *event);

// Takes the object "weir".
bool weir__timeline_add_head(weir__timeline_reader *reader, const json_t *head);

#endif // WEIR_CHECK_TIMELINE_READER_H
