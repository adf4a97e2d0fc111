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

// All threads of the block. What is copied may be the host's, or may have been there when it was read last, in the same launch: so it
// is read past the cache of the multiprocessor. Several chunks are loaded before the first is stored: the way over the bus is long.
static __device__ void weir__r_copy(char *to, const char *from, uint32_t bytes) {
  const uint32_t step = blockDim.x;
  uint32_t first = 0;
  if ((((uint64_t)to | (uint64_t)from) & 15) == 0) {
    enum { AT_ONCE = 8 };
    const uint32_t end = bytes / 16;
    for (uint32_t at = threadIdx.x; at < end; at += AT_ONCE * step) {
      weir__r_chunk loaded[AT_ONCE];
#pragma unroll
      for (uint32_t j = 0; j < AT_ONCE; j++)
        if (at + j * step < end) loaded[j] = weir__r_load_chunk((const weir__r_task *)from, at + j * step);
#pragma unroll
      for (uint32_t j = 0; j < AT_ONCE; j++)
        if (at + j * step < end) ((weir__r_chunk *)to)[at + j * step] = loaded[j];
    }
    first = end * 16;
  } else if ((((uint64_t)to | (uint64_t)from) & 3) == 0) {
#pragma unroll 8
    for (uint32_t at = threadIdx.x; at < bytes / 4; at += step)
      ((uint32_t *)to)[at] = ((const volatile uint32_t *)from)[at];
    first = bytes / 4 * 4;
  }
#pragma unroll 4
  for (uint32_t at = first + threadIdx.x; at < bytes; at += step) to[at] = ((const volatile char *)from)[at];
}

static __device__ void weir__r_move(const weir__r_group *group) {
  const uint64_t *args = group->args;
  const uint32_t unit = group->id[0], bytes = weir__r_move_bytes(args, unit);
  const uint64_t first = (uint64_t)unit * WEIR__R_MOVE_BYTES;
  char *to = (char *)args[WEIR__R_MOVE_TO] + first;
  if (!args[WEIR__R_MOVE_IS_FILL]) {
    weir__r_copy(to, (const char *)args[WEIR__R_MOVE_FROM] + first, bytes);
    return;
  }
  for (uint32_t at = threadIdx.x; at < bytes / 4; at += blockDim.x)
    ((uint32_t *)to)[at] = (uint32_t)args[WEIR__R_MOVE_FROM];
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
    if (threadIdx.x == 0) {
      units = weir__r_units_of(&task, entry);
      group.args = task.args;
      for (int i = 0; i < 3; i++) group.count[i] = task.groups[i];
      weir__r_place(&group, &task, units.first);
    }
    if (threadIdx.x < weir__r_edges_of(&task, entry)) weir__r_await(card, task.edges[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) weir__r_begin(host, &task, units.first);
    for (uint32_t unit = units.first;;) {
      if (task.function == WEIR__R_MOVE)
        weir__r_move(&group);
      else if (task.function != 0)
        ((weir__r_function)task.function)(&group);
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
  __shared__ weir__r_desk desk;
  if (threadIdx.x == 0) {
    first = weir__r_arrive(card);
    if (first) weir__r_open_desk(&desk, card);
  }
  __syncthreads();
  if (!first)
    weir__r_work(card, host, epoch);
  else if (threadIdx.x < WEIR__R_LANES)
    weir__r_schedule(&desk, card, host, epoch, gridDim.x - 1, idle_ns, most_ns);
  else if (threadIdx.x < 2 * WEIR__R_LANES)
    weir__r_fetch(&desk, card, host);
  __syncthreads();
  if (threadIdx.x == 0) weir__r_leave(card, host, epoch, gridDim.x);
}
