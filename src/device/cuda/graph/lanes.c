// SPDX-License-Identifier: Apache-2.0
//
// Lanes of enqueue functions in graphs (capture.h).
#include "base/allocate.h"
#include "device/cuda/graph/capture.h"

enum { NONE = -1, LANES = WEIR__CUDA_SET_LANES };

// Per step and lane: the last call in that lane that comes before the step, and whether it is the step itself.
typedef int32_t lane_row[LANES];

// What comes before a step, by all that comes before its predecessors.
static void inherit(lane_row *rows, uint32_t step, uint32_t predecessor) {
  for (int lane = 0; lane < LANES; lane++)
    if (rows[predecessor][lane] > rows[step][lane]) rows[step][lane] = rows[predecessor][lane];
}

// A lane whose last call comes before the step anyway, or that was not used yet; else any, in turn.
static int choose(const lane_row row, const int32_t last[LANES], uint32_t turn) {
  for (int lane = 0; lane < LANES; lane++)
    if (last[lane] != NONE && row[lane] == last[lane]) return lane;
  for (int lane = 0; lane < LANES; lane++)
    if (last[lane] == NONE) return lane;
  return (int)(turn % LANES);
}

bool weir__cuda_assign_lanes(weir__cuda_device *device, weir__cuda_call_step *calls, uint32_t count,
                             const uint64_t *first, const uint32_t *predecessors, uint32_t *out_set) {
  int32_t last[LANES];
  uint32_t turn = 0;
  lane_row *rows = weir__allocate(count * sizeof *rows);
  if (rows == NULL) return false;
  uint32_t set = *out_set =
      atomic_fetch_add_explicit(&device->next_set, 1, memory_order_relaxed) % WEIR__CUDA_LANE_SETS;
  uint32_t base = device->queue_count + WEIR__CUDA_OPEN_QUEUES + set * LANES;
  for (int lane = 0; lane < LANES; lane++) last[lane] = NONE;
  for (uint32_t i = 0; i < count; i++) {
    for (int lane = 0; lane < LANES; lane++) rows[i][lane] = NONE;
    for (uint64_t j = first[i]; j < first[i + 1]; j++) inherit(rows, i, predecessors[j]);
    if (calls[i].enqueue == NULL) continue;
    int lane = choose(rows[i], last, turn++);
    bool in_order = last[lane] == NONE || rows[i][lane] == last[lane];
    calls[i].lane = base + (uint32_t)lane;
    calls[i].after = in_order ? WEIR__CUDA_NO_STEP : (uint32_t)last[lane];
    if (!in_order) inherit(rows, i, (uint32_t)last[lane]);
    rows[i][lane] = last[lane] = (int32_t)i;
  }
  weir__free(rows);
  return true;
}

CUresult weir__cuda_begin_set(weir__cuda_device *device, uint32_t set, CUstream stream) {
  CUevent event = device->sets[set];
  return event == NULL ? CUDA_SUCCESS : device->driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT);
}

CUresult weir__cuda_end_set(weir__cuda_device *device, uint32_t set, CUstream stream) {
  const weir__cuda_driver *driver = device->driver;
  CUevent event = device->sets[set];
  CUresult result = event == NULL ? driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) {
    result = driver->cuEventRecord(event, stream);
    if (result != CUDA_SUCCESS && device->sets[set] == NULL)
      driver->cuEventDestroy(event);
    else
      device->sets[set] = event;
  }
  // Without an event for it, the next launch with these lanes must find this one done.
  return result == CUDA_SUCCESS ? result : driver->cuStreamSynchronize(stream);
}

void weir__cuda_sets_destroy(weir__cuda_device *device) {
  for (uint32_t i = 0; i < WEIR__CUDA_LANE_SETS; i++)
    if (device->sets[i] != NULL) device->driver->cuEventDestroy(device->sets[i]);
  if (device->capture.stream != NULL) device->driver->cuStreamDestroy(device->capture.stream);
}
