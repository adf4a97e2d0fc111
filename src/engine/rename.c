// SPDX-License-Identifier: Apache-2.0
#include "engine/rename.h"

#include "base/allocate.h"
#include "base/machine.h"

enum { AT_ONCE_ON_A_CARD = 64, LIMIT_PART = 8, MOST_FAR = 16 };

uint32_t weir__rename_versions(const weir_context *context) {
  uint32_t at_once = 0;
  for (uint32_t i = 0; i < context->host.device_count; i++) {
    const weir_device *device = context->host.devices[i];
    bool threads = !device->ops->run_ahead && device->ops->polled == NULL;
    at_once += threads || device->lanes > AT_ONCE_ON_A_CARD ? device->lanes : AT_ONCE_ON_A_CARD;
  }
  return at_once - 1;
}

void weir__rename_limit(weir_context *context, uint64_t limit) {
  for (uint32_t space = 0; space < context->memory.space_count; space++) {
    uint64_t bytes = space == WEIR__HOST_SPACE ? weir__machine_memory() : context->memory.devices[space]->memory_bytes;
    context->memory.pools[space].waiting_limit = limit != 0 ? limit : bytes != 0 ? bytes / LIMIT_PART : UINT64_MAX;
  }
}

// Tasks that the next one comes after.
typedef struct earlier_tasks {
  const weir__window *window;
  uint64_t near;          // as weir__task.ancestors
  weir__id far[MOST_FAR]; // those among them that are further away
  uint32_t far_count;
  bool all; // every task that was asked about is among them
} earlier_tasks;

static inline void add(earlier_tasks *earlier, weir__id id) {
  if (!weir__live(&earlier->window->live, id)) return;
  earlier->near |= weir__window_and_ancestors(earlier->window, id, earlier->window->next);
  if (earlier->window->next - id > 64 && earlier->far_count < MOST_FAR) earlier->far[earlier->far_count++] = id;
}

static inline bool is_earlier(const earlier_tasks *earlier, weir__id id) {
  uint64_t distance = earlier->window->next - id;
  if (distance <= 64) return earlier->near >> (distance - 1) & 1;
  for (uint32_t i = 0; i < earlier->far_count; i++) {
    if (earlier->far[i] == id) return true;
  }
  return false;
}

// What reads the segment comes after its writer, or after all that commute on it.
static inline void add_writers(earlier_tasks *earlier, const weir__segment *segment) {
  add(earlier, segment->writer);
  const weir__id *readers = weir__segment_readers(segment);
  for (uint32_t i = 0; segment->commutes && i < segment->reader_count; i++) {
    if ((readers[i] & WEIR__READER_TAG) == WEIR__READER_COMMUTES) add(earlier, weir__reader_task(readers[i]));
  }
}

static void add_writers_of(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  (void)lo;
  (void)hi;
  add_writers(user, segment);
}

// Readers come after the writer: only the last users are asked about.
static inline void ask_users(earlier_tasks *earlier, const weir__segment *segment) {
  const weir__liveness *live = &earlier->window->live;
  const weir__id *readers = weir__segment_readers(segment);
  bool read = false;
  for (uint32_t i = 0; i < segment->reader_count && earlier->all; i++) {
    weir__id reader = weir__reader_task(readers[i]);
    if (!weir__live(live, reader)) continue;
    read = true;
    earlier->all = is_earlier(earlier, reader);
  }
  if (!read && weir__live(live, segment->writer) && !is_earlier(earlier, segment->writer)) earlier->all = false;
}

static void ask_users_of(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  (void)lo;
  (void)hi;
  ask_users(user, segment);
}

// Whether the newest user came after all that the task surely comes after. That settles most cases.
static inline bool is_newer_than_all(const weir_context *context, const weir__request *request, weir__id user) {
  if (context->order.fence >= user || request->task->after_count > 0) return false;
  bool newer = weir__live(&context->host.window.live, user);
  for (uint32_t i = 0; i < request->checked.access_count; i++) {
    const weir__access *access = &request->accesses[i];
    bool one_writer = !access->buffer->ranged && !access->buffer->whole.commutes;
    weir__id last = one_writer ? access->buffer->whole.writer : access->buffer->last_use;
    newer &= (access->mode == WEIR_WRITE) | (last < user);
  }
  return newer;
}

bool weir__rename_gains(weir_context *context, const weir__request *request, uint32_t index) {
  if (context->memory.versions == 0 || (context->host.flags & WEIR_CONTEXT_IN_ORDER)) return false;
  if (is_newer_than_all(context, request, request->accesses[index].buffer->last_use)) return true;
  earlier_tasks earlier;
  earlier.window = &context->host.window;
  earlier.near = 0;
  earlier.far_count = 0;
  earlier.all = true;
  for (uint32_t i = 0; i < request->checked.access_count; i++) {
    const weir__access *access = &request->accesses[i];
    if (access->mode == WEIR_WRITE) continue;
    if (access->buffer->ranged)
      weir__buffer_visit(access->buffer, access->lo, access->hi, add_writers_of, &earlier);
    else
      add_writers(&earlier, &access->buffer->whole);
  }
  const weir_task *task = request->task;
  for (uint32_t i = 0; i < task->after_count; i++) add(&earlier, task->after[i]->task);
  if (context->order.fence != 0) add(&earlier, context->order.fence);
  if (earlier.near == 0 && earlier.far_count == 0) return true;
  weir_buffer *buffer = request->accesses[index].buffer;
  if (buffer->ranged)
    weir__buffer_visit(buffer, 0, buffer->bytes, ask_users_of, &earlier);
  else
    ask_users(&earlier, &buffer->whole);
  return !earlier.all;
}

const weir__version *weir__rename_oldest(const weir_buffer *buffer, uint32_t space) {
  if (buffer->versions == NULL) return NULL;
  const weir__version *oldest = &buffer->versions[buffer->oldest_version];
  const weir__block *block = oldest->block;
  bool waits = block != NULL && oldest->number >> WEIR__NUMBER_SPACE_SHIFT == space && block->memory != NULL &&
               block->number == oldest->number && block->state == WEIR__BLOCK_WAITING;
  return waits ? oldest : NULL;
}

void weir__rename_note(const weir_context *context, weir_buffer *buffer, uint32_t space) {
  uint32_t versions = context->memory.versions;
  if (buffer->versions == NULL) buffer->versions = weir__allocate_zeroed(versions * sizeof *buffer->versions);
  weir__block *block = buffer->replicas[space].block;
  if (buffer->versions == NULL || block == NULL) return;
  buffer->versions[buffer->oldest_version] = (weir__version){block, block->number};
  if (++buffer->oldest_version == versions) buffer->oldest_version = 0;
}
