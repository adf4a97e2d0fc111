// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "check/timeline_reader.h"

bool weir__timeline_add_devices(weir__timeline_reader *reader, const json_t *head) {
  weir__timeline *timeline = reader->timeline;
  const json_t *list = json_object_get(head, "devices");
  size_t count = json_array_size(list);
  timeline->devices = calloc(count + 1, sizeof *timeline->devices);
  if (!timeline->devices) return weir__timeline_no_memory(reader);
  timeline->device_count = count;
  for (size_t i = 0; i < count; i++) {
    const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
    snprintf(timeline->devices[i].name, sizeof timeline->devices[i].name, "%s", name ? name : "");
  }
  return true;
}

bool weir__timeline_take_memory(weir__timeline_reader *reader, const json_t *place, const char *what,
                                uint64_t *out_memory) {
  *out_memory = 0;
  if (json_object_get(place, "memory") == NULL) return true;
  if (!weir__timeline_whole(reader, place, what, "memory", out_memory)) return false;
  ++*out_memory;
  return true;
}

bool weir__timeline_take_destination(weir__timeline_reader *reader, const json_t *args, const char *what,
                                     weir__timeline_task *task) {
  const json_t *transfer = json_object_get(args, "transfer");
  weir__timeline_destination *destination = &task->destination;
  task->copies = json_is_true(json_object_get(args, "copy")) && task->access_count == 2;
  if (transfer == NULL) return true;
  if (!json_is_object(transfer)) return weir__timeline_fail(reader, "%s: transfer is not an object", what);
  if (!weir__timeline_whole(reader, transfer, what, "storage", &destination->storage) ||
      !weir__timeline_take_memory(reader, transfer, what, &destination->memory))
    return false;
  const weir__timeline_access *access =
      task->access_count == 1 ? &reader->timeline->accesses[task->access_first] : NULL;
  if (destination->storage == 0) return weir__timeline_fail(reader, "%s: transfer names no storage", what);
  if (access == NULL || access->mode != WEIR_READ || access->storage == destination->storage)
    return weir__timeline_fail(reader, "%s: a transfer reads one range, of another storage", what);
  return true;
}

const char *weir__timeline_memory_name(const weir__timeline *timeline, uint64_t memory) {
  if (memory == 0) return "the host";
  return memory <= timeline->device_count ? timeline->devices[memory - 1].name : "a device without a name";
}
