// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a piece that is launched as one graph.
#include "base/allocate.h"
#include "device/cuda/graph.h"
#include "device/cuda/pieces_inside.h"
#include "device/cuda/resident/resident.h"

enum {
  TASKS_AT_ONCE = 32, // are reported
  AHEAD = 4,          // so far tasks that will be reported are fetched
};

// Tasks that were launched as one graph.
struct weir__cuda_piece {
  struct weir__cuda_piece *next;
  weir__cuda_exec *exec; // NULL: nothing has to be launched
  bool useless;          // it could not be launched
  uint32_t count;
  weir__task *tasks[WEIR__CUDA_LARGEST_PIECE];
};

static weir__cuda_piece *new_piece(weir__cuda_pieces *pieces) {
  weir__cuda_piece *piece = pieces->free_pieces;
  if (piece == NULL) return weir__allocate(sizeof *piece);
  pieces->free_pieces = piece->next;
  return piece;
}

static void free_piece(weir__cuda_pieces *pieces, weir__cuda_piece *piece) {
  piece->next = pieces->free_pieces;
  pieces->free_pieces = piece;
}

void weir__cuda_free_pieces(weir__cuda_pieces *pieces) {
  while (pieces->free_pieces != NULL) {
    weir__cuda_piece *piece = pieces->free_pieces;
    pieces->free_pieces = piece->next;
    weir__free(piece);
  }
}

// Adds what the first `count` tasks wait for outside of the piece to the device's places.
static bool find_places(weir__cuda_pieces *pieces, uint32_t count, uint32_t *out_count) {
  weir__cuda_device *device = pieces->device;
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    const weir__cuda_collected *task = &pieces->collection.tasks[i];
    if (!weir__cuda_reserve_places(device, found + task->outside_count + 1)) return false;
    for (uint32_t j = 0; j < task->outside_count; j++) {
      const weir__cuda_op *op = weir__cuda_find(device, pieces->collection.outside[task->first_outside + j]);
      bool listed = op == NULL;
      for (uint32_t k = found; k > 0 && !listed; k--) listed = device->places[k - 1] == op->place;
      if (!listed) device->places[found++] = op->place;
    }
  }
  *out_count = found;
  return true;
}

bool weir__cuda_launch_as_piece(weir__cuda_pieces *pieces, uint32_t count, weir__cuda_exec *exec, bool here) {
  weir__cuda_device *device = pieces->device;
  uint32_t place_count;
  weir__cuda_op *op = weir__cuda_new_op(device);
  weir__cuda_piece *piece = op == NULL ? NULL : new_piece(pieces);
  bool good = piece != NULL && find_places(pieces, count, &place_count) &&
              weir__cuda_place(device, op, device->places, place_count, WEIR__ANY_QUEUE);
  if (!good) {
    if (piece != NULL) free_piece(pieces, piece);
    if (op != NULL) weir__cuda_free_op(device, op);
    return false;
  }
  piece->exec = exec;
  piece->useless = false;
  piece->count = count;
  for (uint32_t i = 0; i < count; i++) {
    piece->tasks[i] = pieces->collection.tasks[i].task;
    device->slot_ops[piece->tasks[i]->id & device->slot_mask] = op;
  }
  op->piece = piece;
  op->here = here;
  op->status = device->lost;
  if (device->resident != NULL) weir__resident_make_room(device->resident);
  if (exec != NULL) {
    exec->queue = &device->queues_in_flight[op->place->queue];
    exec->number = exec->queue->placed + 1;
  }
  weir__cuda_start(device, op);
  return true;
}

CUresult weir__cuda_launch_piece(weir__cuda_device *device, weir__cuda_piece *piece, CUstream stream) {
  if (piece->exec == NULL) return CUDA_SUCCESS;
  CUresult result = device->driver->cuGraphLaunch(piece->exec->exec, stream);
  if (result == CUDA_SUCCESS || weir__cuda_is_sticky(result)) return result;
  // One after another they may still go.
  piece->useless = true;
  result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < piece->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_task(device, piece->tasks[i], stream);
  return result;
}

void weir__cuda_doom_piece(weir__cuda_device *device, const weir__cuda_piece *piece, bool poisoned) {
  for (uint32_t i = 0; i < piece->count; i++) {
    if (!poisoned || piece->tasks[i]->reads_poison) weir__window_doom(&device->base.host->window, piece->tasks[i]);
  }
}

static void time_task(weir__cuda_device *device, const weir__cuda_op *op, uint32_t index,
                      weir__completion *completion) {
  const weir__trace_task *record = weir__trace_find(device->base.host->trace, op->piece->tasks[index]->id);
  uint64_t submit_ns = record != NULL ? record->submit_ns : 0;
  if (op->piece->exec != NULL && !op->piece->useless) {
    weir__cuda_step_times(device, op->piece->exec, index, submit_ns, &completion->start_ns, &completion->end_ns,
                          &completion->lane);
    return;
  }
  // Without a graph tasks ran one after another, or have nothing to run: each is shown with an equal share of the time.
  uint64_t start = weir__cuda_event_ns(device, op->start), end = weir__cuda_event_ns(device, op->end);
  uint64_t all = end > start ? end - start : 0, count = op->piece->count;
  completion->start_ns = start + all * index / count;
  completion->end_ns = start + all * (index + 1) / count;
  if (completion->start_ns < submit_ns) completion->start_ns = submit_ns;
  if (completion->end_ns < completion->start_ns) completion->end_ns = completion->start_ns;
}

void weir__cuda_report_piece(weir__cuda_device *device, weir__cuda_op *op) {
  weir__host *host = device->base.host;
  weir__cuda_piece *piece = op->piece;
  for (uint32_t i = 0; i < piece->count; i++) {
    weir__task *task = piece->tasks[i];
    if (i + AHEAD < piece->count) __builtin_prefetch(piece->tasks[i + AHEAD], 1);
    weir__completion completion = {.status = op->status, .message = op->message, .lane = op->place->queue};
    if (op->status == WEIR_OK && task->reads_poison) completion.status = WEIR_ERROR_UPSTREAM_FAILED;
    if (host->trace != NULL) time_task(device, op, i, &completion);
    device->slot_ops[task->id & device->slot_mask] = NULL;
    if (device->resident != NULL) weir__resident_settled(device, task->id);
    weir__host_complete(host, task, &completion);
    if (i % TASKS_AT_ONCE != TASKS_AT_ONCE - 1) continue;
    weir__host_completed(host); // and let others have the lock
    weir__host_unlock(host);
    weir__host_lock(host);
  }
  if (piece->exec != NULL) weir__cuda_cache_give(device->pieces->cache, piece->exec, piece->useless);
  free_piece(device->pieces, piece);
}
