// SPDX-License-Identifier: Apache-2.0
//
// When tasks go to the launcher: where the program is wide. A task that could go there has a depth: one more than that of the deepest
// task before it that is not done, or than that of the last one that was. As many tasks as are not done stand in so many layers
// as lie between it and that last one: where there are WIDTH in each, the card launches them faster than queues do; in chains queues
// are faster, since a stream has launched the next kernel before the one before it ends. A count of such tasks keeps the choice from
// changing often, since each change waits until what comes before is done in the other place.
#include "device/cuda/ondevice/inside.h"

enum { WIDTH = 12, MOST_SCORE = 64, WIDE_AT = 48, NARROW_AT = 16 };

static bool arguments_fit(const weir__cuda_launch *launch) {
  uint32_t count = launch->parameter_count;
  if (count > WEIR__ONDEVICE_PARAMETERS) return false; // also where the driver cannot tell
  uint32_t bytes = count == 0 ? 0 : launch->parameter_offsets[count - 1] + launch->parameter_bytes[count - 1];
  return bytes <= WEIR__L_ARG_BYTES;
}

static bool could_go(const weir__ondevice *launcher, const weir__task *task) {
  if (task->kernel == NULL || task->run != NULL || task->move != NULL) return false;
  const weir__cuda_kernel *kernel = task->code;
  if (kernel->count != 1) return false;
  const weir__cuda_launch *launch = &kernel->launches[0];
  return launch->own && launch->resident[launcher->device->base.index] == 0 && arguments_fit(launch);
}

static uint32_t depth_of(const weir__ondevice *launcher, const weir__task *task) {
  uint32_t deepest = launcher->front;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    uint32_t depth = launcher->depths[task->predecessors[i] & launcher->device->slot_mask];
    if ((int32_t)(depth - deepest) > 0 && depth != 0) deepest = depth;
  }
  return deepest + 1 == 0 ? 1 : deepest + 1;
}

bool weir__ondevice_wants(weir__ondevice *launcher, const weir__task *task) {
  if (launcher == NULL || !could_go(launcher, task)) return false;
  uint32_t state = atomic_load_explicit(&launcher->state, memory_order_acquire);
  if (state == WEIR__ONDEVICE_REFUSED_FOR_GOOD) return false;
  uint32_t depth = depth_of(launcher, task);
  launcher->depths[task->id & launcher->device->slot_mask] = depth;
  launcher->unfinished++;
  bool wide = launcher->unfinished >= (uint64_t)WIDTH * (depth - launcher->front);
  if (wide && launcher->score < MOST_SCORE) launcher->score++;
  if (!wide && launcher->score > 0) launcher->score--;
  if (launcher->score >= WIDE_AT) launcher->wide = true;
  if (launcher->score <= NARROW_AT) launcher->wide = false;
  if (!launcher->wide && !launcher->always) return false;
  if (state == WEIR__ONDEVICE_UNMADE) weir__ondevice_begin(launcher);
  do {
    state = atomic_load_explicit(&launcher->state, memory_order_acquire);
  } while (launcher->always && state == WEIR__ONDEVICE_MAKING && weir__cuda_is_well(launcher->device));
  return state == WEIR__ONDEVICE_READY;
}

void weir__ondevice_settled(weir__ondevice *launcher, weir__id id) {
  if (launcher == NULL) return;
  uint32_t *depth = &launcher->depths[id & launcher->device->slot_mask];
  if (*depth == 0) return;
  if ((int32_t)(*depth - launcher->front) > 0) launcher->front = *depth;
  *depth = 0;
  launcher->unfinished--;
}
