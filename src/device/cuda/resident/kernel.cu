// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel: its first block to begin is the scheduler, the others are workers. Compiled by NVRTC behind protocol.h, and linked
// with the functions of the context's kernels, which take a work-group each (weir/kernel.h).

typedef void (*weir__r_function)(const weir__r_group *group);

static __device__ void weir__r_place(weir__r_group *group, const weir__r_task *task, uint32_t unit) {
  uint32_t x = task->groups[0], y = task->groups[1];
  group->id[0] = unit % x;
  group->id[1] = unit / x % y;
  group->id[2] = unit / x / y;
}

// A worker's block has as many threads as the largest work-group of the kernels, in whole warps; those that a kernel does
// not need pass its function by. The task is copied to where all of them can read it at once.
static __device__ void weir__r_work(weir__r_card *card, weir__r_host *host, uint32_t epoch) {
  __shared__ weir__r_entry entry;
  __shared__ weir__r_task task;
  __shared__ weir__r_units units;
  __shared__ weir__r_group group;
  if (threadIdx.x == 0) entry = weir__r_take(card, blockIdx.x, weir__r_claim(card), epoch);
  for (;;) {
    __syncthreads();
    if (!entry.taken) return;
    const uint64_t *words = (const uint64_t *)weir__r_task_of(card, entry);
    for (uint32_t i = threadIdx.x; i < sizeof task / sizeof *words; i += blockDim.x) ((uint64_t *)&task)[i] = words[i];
    __syncthreads();
    if (threadIdx.x < weir__r_edges_of(&task, entry)) weir__r_await(card, task.edges[threadIdx.x]);
    if (threadIdx.x == 0) {
      units = weir__r_units_of(&task, entry);
      group.args = task.args;
      for (int i = 0; i < 3; i++) group.count[i] = task.groups[i];
      weir__r_place(&group, &task, units.first);
    }
    __syncthreads();
    if (threadIdx.x == 0) weir__r_begin(card, &task, units.first);
    for (uint32_t unit = units.first;;) {
      if (task.function != 0) ((weir__r_function)task.function)(&group);
      __syncthreads();
      if (++unit == units.end) break;
      if (threadIdx.x == 0) weir__r_place(&group, &task, unit);
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      uint32_t is_last = weir__r_finish(card, host, &task), position = weir__r_claim(card);
      if (is_last) weir__r_report(card, host, task.number);
      entry = weir__r_take(card, blockIdx.x, position, epoch);
    }
  }
}

extern "C" __global__ void weir__resident(weir__r_card *card, weir__r_host *host, uint32_t epoch, uint64_t idle_ns,
                                          uint64_t most_ns) {
  __shared__ uint32_t first;
  if (threadIdx.x == 0) first = weir__r_arrive(card);
  __syncthreads();
  if (!first)
    weir__r_work(card, host, epoch);
  else if (threadIdx.x < WEIR__R_LANES)
    weir__r_schedule(card, host, epoch, gridDim.x - 1, idle_ns, most_ns);
  __syncthreads();
  if (threadIdx.x == 0) weir__r_leave(card, host, epoch, gridDim.x);
}
