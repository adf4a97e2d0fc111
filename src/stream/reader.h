// SPDX-License-Identifier: Apache-2.0
//
// What the files of the reader share. Functions that return bool say false once they have set status and message.
#ifndef WEIR_STREAM_READER_H
#define WEIR_STREAM_READER_H

#include <jansson.h>

#include "stream/stream.h"

// Map from the ids of a file to indices. Keys are hashed with a seed of their own, so that no file can make it slow.
typedef struct weir__id_map {
  uint64_t *keys;
  uint32_t *values; // UINT32_MAX: empty
  uint32_t capacity, count;
  uint64_t seed;
} weir__id_map;

bool weir__id_map_add(weir__id_map *map, uint64_t key, uint32_t value); // false: no memory. The key must be new
bool weir__id_map_find(const weir__id_map *map, uint64_t key, uint32_t *out_value);
void weir__id_map_destroy(weir__id_map *map);

typedef struct weir__stream_reader {
  const char *name;
  uint32_t line;
  weir_status status;
  char *message;
  size_t message_size;
  weir__stream *stream;
  uint32_t buffer_capacity, task_capacity, freed_capacity, event_capacity;
  weir__id_map ids;
  bool has_header;
  weir__id_map numbers;                  // of tasks, if they have some
  uint64_t header_tasks, header_kernels; // what the header promises; kernels UINT64_MAX: nothing
  uint64_t total_bytes;                  // of all buffers
} weir__stream_reader;

bool weir__stream_fail(weir__stream_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool weir__stream_no_memory(weir__stream_reader *reader);

// Makes room for one more item behind `count`.
bool weir__stream_grow(weir__stream_reader *reader, void **items, uint32_t *capacity, uint32_t count, size_t item_size);

// Fields of an object. `what` names the object in messages, such as "header" or "task 'add'".
bool weir__field_whole(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                       uint64_t least, uint64_t most, uint64_t *out_value);
bool weir__field_number(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                        double most, double *out_value);
bool weir__field_text(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                      char **out_text); // copied
bool weir__field_array(weir__stream_reader *reader, const json_t *object, const char *what, const char *key,
                       const json_t **out_array);
bool weir__field_whole_value(weir__stream_reader *reader, const json_t *value, const char *what, const char *key,
                             uint64_t least, uint64_t most, uint64_t *out_value);

// One line of each kind.
bool weir__stream_read_header(weir__stream_reader *reader, const json_t *object);
bool weir__stream_read_task(weir__stream_reader *reader, const json_t *object);

// Fills in task->accesses from its lists.
bool weir__stream_normalise(weir__stream_reader *reader, weir__stream_task *task);

// Checks that no buffer lies on addresses of another one that is not freed.
bool weir__stream_check_addresses(weir__stream_reader *reader);

#endif // WEIR_STREAM_READER_H
