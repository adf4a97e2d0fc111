// SPDX-License-Identifier: Apache-2.0
#include "engine/buffer.h"

#include <string.h>

#include "base/error.h"
#include "engine/pressure.h"
#include "engine/written.h"

enum { MANY_BUFFERS = 256 }; // whose lines that each access looks at fill a first-level cache

// The buffer that will be taken next was used long ago.
static inline void fetch_next(const weir__object_pool *buffers) {
  const char *next = (const char *)buffers->first;
  if (next == NULL) return;
  __builtin_prefetch(next, 1);
  __builtin_prefetch(next + offsetof(weir_buffer, whole), 1);
  __builtin_prefetch(next + offsetof(weir_buffer, replicas), 1);
}

// The members of a buffer that most have. The replicas of one that was used before are empty: it has lost them when it was released.
static inline void begin(weir_context *context, weir_buffer *buffer, uint64_t bytes) {
  fetch_next(&context->objects.buffers);
  buffer->id = ++context->objects.next_buffer;
  buffer->bytes = bytes;
  buffer->brought = WEIR__HOST_SPACE;
  buffer->copied_in = 0;
  buffer->wrapped = buffer->image = buffer->kept = buffer->reducing = buffer->scratch = false;
  buffer->adopted = buffer->guarded = false;
  buffer->valid = buffer->held = 0;
  buffer->run = 0;
  buffer->reuse = (weir__reuse){0};
}

static weir_buffer *new_buffer(weir_context *context, uint64_t bytes) {
  weir_buffer *buffer = (weir_buffer *)weir__object_take(&context->objects.buffers, context, UINT64_MAX);
  if (buffer == NULL) return NULL;
  begin(context, buffer, bytes);
  if (buffer->id == MANY_BUFFERS) atomic_store_explicit(&context->host.many_buffers, true, memory_order_relaxed);
  weir__written_clear(buffer);
  if (buffer->versions != NULL) memset(buffer->versions, 0, context->memory.versions * sizeof *buffer->versions);
  if (buffer->label[0] != '\0') buffer->label[0] = '\0';
  if (buffer->whole.reader_capacity == 0) weir__segment_initialize(&buffer->whole);
  if (context->host.trace != NULL) weir__trace_add_buffer(context->host.trace, buffer->id, bytes, "");
  return buffer;
}

weir_buffer *weir__buffer_new(weir_context *context, uint64_t bytes) {
  return new_buffer(context, bytes);
}

static __attribute__((cold)) weir_status refuse(const weir_context *context, const char *what, const void *memory,
                                                uint64_t bytes, weir_buffer **out_buffer) {
  if (out_buffer == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: out_buffer is NULL", what);
  *out_buffer = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the context is NULL", what);
  if (bytes == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: a buffer needs at least 1 byte", what);
  if (bytes == WEIR_WHOLE) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: too many bytes", what);
  if (memory == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the memory is NULL", what);
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory", what);
}

static inline bool is_right(const weir_context *context, uint64_t bytes, weir_buffer *const *out_buffer) {
  return out_buffer != NULL && context != NULL && bytes - 1 < WEIR_WHOLE - 1;
}

static __attribute__((noinline)) weir_status release_lock(weir_context *context) {
  weir__lock_release_slow(&context->host.lock);
  return WEIR_OK;
}

// The lock is held, and released.
static __attribute__((noinline)) weir_status make(weir_context *context, const char *what, uint64_t bytes,
                                                  weir_buffer **out_buffer) {
  weir_buffer *buffer = new_buffer(context, bytes);
  weir__context_unlock(context);
  *out_buffer = buffer;
  return buffer != NULL ? WEIR_OK : refuse(context, what, context, bytes, out_buffer);
}

static __attribute__((noinline)) weir_status check_and_make(weir_context *context, const char *what, uint64_t bytes,
                                                            weir_buffer **out_buffer) {
  if (!is_right(context, bytes, out_buffer)) return refuse(context, what, context, bytes, out_buffer);
  weir__context_lock_to_submit(context);
  return make(context, what, bytes, out_buffer);
}

// Whether nothing but a buffer's usual members is to be set.
static inline bool is_usual(const weir_context *context, const weir_buffer *buffer) {
  return buffer->written == NULL && buffer->versions == NULL && buffer->label[0] == '\0' &&
         context->host.trace == NULL && !weir__host_has_notices(&context->host) &&
         atomic_load_explicit(&context->host.many_buffers, memory_order_relaxed);
}

// Most buffers are made of one that was released, and nothing has to be waited for. All calls are left to the functions above, so
// that this one saves no registers.
weir_status weir__buffer_make(weir_context *context, const char *what, uint64_t bytes, weir_buffer **out_buffer) {
  if (!is_right(context, bytes, out_buffer) || !weir__lock_try(&context->host.lock))
    return check_and_make(context, what, bytes, out_buffer);
  weir_buffer *buffer = (weir_buffer *)weir__object_next(&context->objects.buffers, UINT64_MAX);
  if (buffer == NULL || !is_usual(context, buffer)) return make(context, what, bytes, out_buffer);
  weir__object_take_next(&context->objects.buffers);
  begin(context, buffer, bytes);
  *out_buffer = buffer;
  return weir__lock_release_quickly(&context->host.lock) ? WEIR_OK : release_lock(context);
}

weir_status weir__buffer_make_of(weir_context *context, const char *what, void *memory, uint32_t space, uint64_t bytes,
                                 weir_buffer **out_buffer) {
  if (!is_right(context, bytes, out_buffer) || memory == NULL) return refuse(context, what, memory, bytes, out_buffer);
  weir__context_lock_to_submit(context);
  weir_buffer *buffer = weir__buffer_new(context, bytes);
  if (buffer != NULL) {
    buffer->wrapped = true;
    buffer->home = (uint8_t)space;
    buffer->valid = weir__space_bit(space);
    buffer->replicas[space] = (weir__replica){.memory = memory, .storage = context->memory.pools[space].next_number++};
  }
  weir__context_unlock(context);
  *out_buffer = buffer;
  return buffer != NULL ? WEIR_OK : refuse(context, what, memory, bytes, out_buffer);
}

weir_status weir__buffer_wrap(weir_device *device, void *memory, uint64_t bytes, weir_buffer **out_buffer) {
  weir_context *context = weir__context_of(device->host);
  weir_status status = weir__buffer_make_of(context, "buffer wrap", memory, device->space, bytes, out_buffer);
  if (status == WEIR_OK || device->ops->memory->released == NULL) return status;
  weir__context_lock_to_submit(context);
  device->ops->memory->released(device, memory, false, 0);
  weir__context_unlock(context);
  return status;
}

// The caller has its memory back when the last use, by task `last_use`, is over.
static __attribute__((noinline)) void unwrap(weir_context *context, weir_buffer *buffer, weir__id last_use) {
  weir_device *device = context->memory.devices[buffer->home]; // NULL: the host's
  void *memory = buffer->replicas[buffer->home].memory;
  buffer->replicas[buffer->home] = (weir__replica){0};
  if (device != NULL && device->ops->memory->released != NULL)
    device->ops->memory->released(device, memory, buffer->image, last_use);
}

static inline void let_go(weir_buffer *buffer) {
  weir_context *context = buffer->object.context;
  const weir__liveness *live = &context->host.window.live;
  if (buffer->reducing) context->reductions.forget(context, buffer);
  weir__id last_use = buffer->last_use;
  bool busy = !buffer->ranged && weir__live(live, buffer->whole.writer); // in most cases, if it is not idle
  bool idle = last_use < live->oldest || (!busy && weir__buffer_idle(buffer, live));
  weir__buffer_drop_storage(buffer, context->memory.pools, idle);
  weir__storage_returned(context);
  if (buffer->wrapped) unwrap(context, buffer, last_use);
  if (buffer->whole.reader_capacity > WEIR__SEGMENT_INLINE_READERS)
    weir__segment_empty(&buffer->whole, &context->order.ranges.arrays);
  if (context->host.trace != NULL)
    weir__trace_release_buffer(context->host.trace, buffer->id, context->host.window.next - 1);
  weir__object_give(&context->objects.buffers, &buffer->object);
}

void weir__buffer_let_go(weir_buffer *buffer) {
  let_go(buffer);
}

void weir__buffer_unqueue(weir_buffer *buffer) {
  if (--buffer->queued > 0 || !buffer->gone) return;
  buffer->gone = false;
  weir__buffer_let_go(buffer);
}

// Whether nobody is noted in a segment, which has no memory of its own.
static inline bool is_empty(const weir__segment *users) {
  return ((users->writer | users->odd | users->reader_count) == 0) &
         (users->reader_capacity == WEIR__SEGMENT_INLINE_READERS);
}

void weir__buffers_unqueue(weir_context *context, weir_buffer *const *buffers, uint32_t count) {
  weir__object_pool *pool = &context->objects.buffers;
  bool traced = context->host.trace != NULL;
  for (uint32_t i = 0; i < count; i++) {
    weir_buffer *buffer = buffers[i];
    if (--buffer->queued > 0 || !buffer->gone) continue;
    buffer->gone = false;
    if (traced || !weir__buffer_is_bare(buffer) || buffer->by_ranges != 0 || !is_empty(&buffer->whole)) {
      let_go(buffer);
      continue;
    }
    buffer->serial++;
    weir__object_give(pool, &buffer->object);
  }
}

void weir__buffer_give_up(weir_buffer *buffer) {
  if (buffer->queued == 0) {
    weir__buffer_let_go(buffer);
    return;
  }
  buffer->object.released = true;
  buffer->gone = true;
}

// The lock is held, and released.
static __attribute__((noinline)) weir_status release(weir_context *context, weir_buffer *buffer) {
  weir_status status = WEIR_OK;
  if (buffer->object.released || buffer->gone)
    status = weir__error(WEIR_ERROR_RELEASED, "buffer release: the buffer was released before");
  else if (buffer->queued == 0)
    let_go(buffer);
  else
    weir__buffer_give_up(buffer);
  weir__context_unlock(context);
  return status;
}

static __attribute__((noinline)) weir_status lock_and_release(weir_context *context, weir_buffer *buffer) {
  weir__context_lock_to_submit(context);
  return release(context, buffer);
}

// One that submissions which wait name, as those that are held back, only becomes one that was released. Calls are left to the
// functions above, so that this one saves no registers.
weir_status weir__buffer_release(weir_buffer *buffer) {
  weir_context *context = buffer->object.context;
  if (!weir__lock_try(&context->host.lock)) return lock_and_release(context, buffer);
  if (buffer->object.released || buffer->gone || buffer->queued == 0 || weir__host_has_notices(&context->host))
    return release(context, buffer);
  buffer->object.released = true;
  buffer->gone = true;
  return weir__lock_release_quickly(&context->host.lock) ? WEIR_OK : release_lock(context);
}
