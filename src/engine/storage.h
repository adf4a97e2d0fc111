// SPDX-License-Identifier: Apache-2.0
//
// Storage for what a task accesses: found before the task is taken in, put behind its buffers when it is.
#ifndef WEIR_ENGINE_STORAGE_H
#define WEIR_ENGINE_STORAGE_H

#include "engine/submission.h"

// How many accesses, the first ones, may need storage.
uint32_t weir__storage_accesses(const weir__request *request);

// Finds storage for every access that needs some: request->fresh. RETRY: the lock was released, to wait for memory.
weir__admit_result weir__storage_find(weir_context *context, const weir__request *request, weir_status *out_status);

// The same where nothing has to be waited for. False: it has to be, or memory is short; nothing is found then, and nothing is said.
bool weir__storage_find_at_once(weir_context *context, const weir__request *request);

// A block for access number `access` to a buffer of which nothing is anywhere. Nobody uses it. NULL: none can be had without
// waiting, or otherwise.
weir__block *weir__storage_take_bare(weir_context *context, const weir_buffer *buffer, uint32_t space, uint32_t access);

// For access number `access`, which overwrites all of a tiny buffer that has nothing but its storage in `space`: if tasks in flight
// use that, the buffer gets other storage. False: none is easily found, and nothing has changed.
bool weir__storage_rename_tiny(weir_context *context, weir_buffer *buffer, uint32_t space, uint32_t access);

// Takes a block for `buffer` in `space`: an idle one, or, if its first user writes or updates the `whole` of it, so that later users
// come after that one, also a waiting one whose users are known (then it has users). RETRY: the lock was released, to wait for
// memory. `access` tells accesses of a task apart.
weir__admit_result weir__storage_take(weir_context *context, const weir__submission *submission,
                                      const weir_buffer *buffer, uint32_t space, uint32_t access, bool whole,
                                      weir__block **out_block, weir_status *out_status);

// Undoes weir__storage_find for the first `count` accesses.
void weir__storage_give_back(weir_context *context, const weir__request *request, uint32_t count);

// Puts what was found behind access `index`'s buffer, before the access itself is recorded, and settles which of the
// buffer's copies stay valid. Users of the storage that the task must wait for are added to the dependences.
void weir__storage_bind(weir_context *context, const weir__request *request, uint32_t index);

// The same, inline where nothing but the block changes.
static inline void weir__storage_bind_quickly(weir_context *context, const weir__request *request, uint32_t index) {
  const weir__access *access = &request->accesses[index];
  weir_buffer *buffer = access->buffer;
  weir__block *fresh = request->fresh[index];
  uint16_t here = weir__space_bit(access->space);
  if (fresh == NULL && (access->mode == WEIR_READ || (buffer->valid == here && (buffer->held & (uint16_t)~here) == 0 &&
                                                      buffer->parts == NULL && !buffer->wrapped)))
    return;
  bool bare = (buffer->valid | buffer->held) == 0 && !buffer->wrapped;
  if (fresh == NULL || !bare || fresh->user_count > 0) {
    weir__storage_bind(context, request, index);
    return;
  }
  weir__buffer_set_storage(buffer, access->space, fresh);
  if (access->mode != WEIR_READ) buffer->valid = here;
}

// Does both, and notes nothing, for a task of the host's space that overwrites all of a buffer which has storage: if tasks in flight use
// that, and the buffer is tiny, it gets other storage. False: the two functions above are to be asked.
bool weir__storage_exchange(weir_context *context, weir_buffer *buffer);

// Where devices have memory of their own: which block each access took when it came up before, by the kernels that were
// submitted last. A task that comes again then finds its buffers where they were, and a graph with it needs no new
// parameters. (As a processor predicts branches by their history.)
typedef struct weir__predictor weir__predictor;

weir__predictor *weir__predictor_create(void); // NULL: no memory
void weir__predictor_destroy(weir__predictor *predictor);

// The next task to be submitted is of this kind.
void weir__predictor_note(weir__predictor *predictor, const weir_task *task);

// The next one is a launch for a run of tasks with this hash.
void weir__predictor_note_run(weir__predictor *predictor, uint64_t hash);

// Adds a predecessor, if it is in flight.
static inline void weir__depend_on_task(weir_context *context, weir__dependences *dependences, weir__id id,
                                        weir__hazard hazard) {
  if (weir__live(&context->host.window.live, id)) weir__dependences_add(dependences, id, hazard, false, 0, 0);
}

#endif // WEIR_ENGINE_STORAGE_H
