// SPDX-License-Identifier: Apache-2.0
//
// Schedulers on the card.
//
// What a task has written is there for all before the next kernel of its graph begins, which adds to its word with
// release; the scheduler reads that with acquire, and launches after that. State goes from run to run through memory
// that is fenced before the next run is launched and is read past the first-level cache.
#include "device_launch.cuh"

namespace {

__device__ uint64_t card_now() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ uint32_t read_acquire(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ uint32_t read_state(const uint32_t *word) {
  return __ldcg(word);
}

__device__ void fail(const card_plan &plan, uint32_t error, uint32_t where) {
  if (atomicCAS(&plan.state->error, 0u, error) == 0) plan.state->where = where;
}

// The time at which to give up; the same for all runs of a scheduler that is one warp or less.
__device__ uint64_t begin(const card_plan &plan) {
  uint64_t deadline = __ldcg((const unsigned long long *)&plan.state->deadline);
  return deadline ? deadline : card_now() + plan.patience_ns;
}

__device__ bool launch(const card_plan &plan, uint32_t place, uint32_t task, uint64_t deadline) {
  if (plan.nodes) {
    cudaError_t error =
        cudaGraphKernelNodeSetParam(plan.nodes[place], plan.offset, &plan.args[task], sizeof(task_args));
    if (error != cudaSuccess) {
      fail(plan, error, task);
      return false;
    }
    if (plan.fence) __threadfence();
  }
  for (;;) {
    cudaError_t error = cudaGraphLaunch(plan.execs[place], cudaStreamGraphFireAndForget);
    if (error == cudaSuccess) return true;
    if (deadline == 0 || error != cudaErrorInvalidValue || card_now() > deadline) {
      fail(plan, error, task);
      return false;
    }
    atomicAdd(&plan.state->retries, 1u);
  }
}

// Launches the next run of the scheduler; one thread, after which the state must not be touched.
__device__ void go_on(const card_plan &plan) {
  card_state *state = plan.state;
  uint32_t run = read_state(&state->run) + 1;
  state->run = run;
  if (plan.relay && run >= plan.relays) {
    fail(plan, CARD_NO_RELAY, run);
    return;
  }
  __threadfence();
  cudaError_t error = plan.relay ? cudaGraphLaunch(plan.relay[run], cudaStreamGraphFireAndForgetAsSibling)
                                 : cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
  if (error != cudaSuccess) fail(plan, error, read_state(&state->launched));
}

__global__ void launch_all(const __grid_constant__ card_plan plan) {
  card_state *state = plan.state;
  uint32_t base = read_state(&state->launched), end = min(base + plan.per_run, plan.count);
  for (uint32_t i = base + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x) {
    if (!launch(plan, plan.nodes ? i - base : i, i, 0)) break;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&state->arrived, 1u) + 1 != gridDim.x) return;
  __threadfence();
  state->arrived = 0;
  state->launched = end;
  if (end < plan.count && read_state(&state->error) == 0) go_on(plan);
}

// Whether a task of launch_windowed is done in time.
__device__ bool wait_done(const card_plan &plan, uint32_t task, uint64_t deadline) {
  const uint32_t *word = &plan.done[plan.nodes ? task % plan.slots : task];
  uint32_t wanted = plan.nodes ? task / plan.slots + 1 : 1;
  for (uint32_t looks = 1; read_acquire(word) < wanted; looks++) {
    if (looks % 256 != 0 || card_now() <= deadline) continue;
    fail(plan, CARD_LATE, task);
    return false;
  }
  return true;
}

__global__ void launch_windowed(const __grid_constant__ card_plan plan) {
  card_state *state = plan.state;
  uint64_t deadline = begin(plan);
  uint32_t base = read_state(&state->launched), end = min(base + plan.per_run, plan.count);
  for (uint32_t i = base; i < end; i++) {
    if (i >= plan.window && !wait_done(plan, i - plan.window, deadline)) return;
    if (!launch(plan, plan.nodes ? i % plan.slots : i, i, deadline)) return;
  }
  state->deadline = deadline;
  state->launched = end;
  if (end < plan.count) go_on(plan);
}

// ---------------------------------------------------------------------------------------------------------------
// One warp that launches what is ready. What it holds is in shared memory during a run.

enum { LANES = 32, FLIGHT_PIECES = sizeof(card_flight) / sizeof(uint4) };
static_assert(sizeof(card_flight) % sizeof(uint4) == 0, "flights are copied by 16 bytes");
static_assert(CARD_MOST_FLIGHTS >= 2 * CARD_LAUNCHES, "those of a run and those that the one before left");

__shared__ uint32_t waits[CARD_MOST_TASKS];
__shared__ uint16_t ready[CARD_MOST_TASKS]; // ring
__shared__ uint32_t ready_end;
__shared__ card_flight flights[CARD_MOST_FLIGHTS];

__device__ void copy_flight(card_flight *to, const card_flight *from, bool past_cache) {
  for (int i = 0; i < FLIGHT_PIECES; i++)
    ((uint4 *)to)[i] = past_cache ? __ldcg((const uint4 *)from + i) : ((const uint4 *)from)[i];
}

// Returns the flights that are left from the run before.
__device__ uint32_t take_over(const card_plan &plan, uint32_t lane) {
  const card_state *state = plan.state;
  uint32_t pending = read_state(&state->ready_count), flying = read_state(&state->flight_count);
  for (uint32_t i = lane; i < plan.count; i += LANES) waits[i] = read_state(&state->waits[i]);
  for (uint32_t i = lane; i < pending; i += LANES) ready[i] = __ldcg(&state->ready[i]);
  for (uint32_t i = lane; i < flying; i += LANES) copy_flight(&flights[i], &state->flights[i], true);
  if (lane == 0) ready_end = pending;
  __syncwarp();
  return flying;
}

__device__ void hand_over(const card_plan &plan, uint32_t lane, uint32_t ready_begin, uint32_t flying,
                          uint32_t launched, uint64_t deadline) {
  card_state *state = plan.state;
  uint32_t pending = ready_end - ready_begin, kept = 0;
  for (uint32_t i = lane; i < plan.count; i += LANES) state->waits[i] = waits[i];
  for (uint32_t i = lane; i < pending; i += LANES) state->ready[i] = ready[(ready_begin + i) % CARD_MOST_TASKS];
  for (uint32_t first = 0; first < flying; first += LANES) {
    bool open = first + lane < flying && flights[first + lane].open;
    uint32_t lanes = __ballot_sync(~0u, open);
    if (open) copy_flight(&state->flights[kept + __popc(lanes & ((1u << lane) - 1))], &flights[first + lane], false);
    kept += (uint32_t)__popc(lanes);
  }
  if (lane == 0) {
    state->ready_count = pending;
    state->flight_count = kept;
    state->launched = launched;
    state->deadline = deadline;
  }
  __threadfence();
  __syncwarp();
  if (lane == 0) go_on(plan);
}

// Each lane looks at its flights, and those of their successors that wait for nothing else become ready.
__device__ void land(const card_plan &plan, uint32_t lane, uint32_t flying) {
  for (uint32_t f = lane; f < flying; f += LANES) {
    card_flight *flight = &flights[f];
    if (!flight->open || read_acquire(&plan.done[flight->word]) < flight->wanted) continue;
    flight->open = 0;
    for (uint32_t s = 0; s < flight->successors.count; s++) {
      uint32_t task = flight->successors.to[s];
      if (atomicSub(&waits[task], 1u) == 1) ready[atomicAdd(&ready_end, 1u) % CARD_MOST_TASKS] = (uint16_t)task;
    }
  }
  __syncwarp();
}

__global__ void __launch_bounds__(LANES) launch_ready(const __grid_constant__ card_plan plan) {
  uint32_t lane = threadIdx.x, ready_begin = 0, used = 0, flying = take_over(plan, lane);
  uint32_t launched = read_state(&plan.state->launched), run = read_state(&plan.state->run);
  uint32_t budget = min(plan.per_run, CARD_MOST_FLIGHTS - flying);
  uint64_t deadline = __shfl_sync(~0u, begin(plan), 0);
  for (uint32_t round = 1; launched < plan.count && used < budget; round++) {
    land(plan, lane, flying);
    uint32_t some = min(min(*(volatile uint32_t *)&ready_end - ready_begin, budget - used), (uint32_t)LANES);
    bool good = true;
    if (lane < some) {
      uint32_t task = ready[(ready_begin + lane) % CARD_MOST_TASKS], place = plan.nodes ? used + lane : task;
      good = launch(plan, place, task, deadline);
      card_flight *flight = &flights[flying + lane];
      flight->open = 1;
      flight->word = place;
      flight->wanted = plan.nodes ? run + 1 : 1;
      flight->successors = plan.successors[task];
    }
    if (round % 256 == 0 && card_now() > deadline) {
      fail(plan, CARD_LATE, launched);
      good = false;
    }
    if (!__all_sync(~0u, good)) return;
    ready_begin += some;
    flying += some;
    used += some;
    launched += some;
  }
  if (launched < plan.count) hand_over(plan, lane, ready_begin, flying, launched, deadline);
}

__global__ void measure_clocks(uint64_t *out_times) {
  uint64_t begin = card_now(), ticks = (uint64_t)clock64(), now = begin;
  while (now - begin < 20000000) now = card_now();
  out_times[0] = (uint64_t)clock64() - ticks;
  out_times[1] = now - begin;
}

} // namespace

const void *card_kernel(card_way way) {
  switch (way) {
  case CARD_ALL:
    return (const void *)launch_all;
  case CARD_WINDOWED:
    return (const void *)launch_windowed;
  case CARD_READY:
    return (const void *)launch_ready;
  default:
    return nullptr;
  }
}

double card_ticks_per_us(void) {
  uint64_t *times = nullptr, read[2];
  launch_check(cudaMalloc((void **)&times, sizeof read), "cudaMalloc");
  for (int i = 0; i < 3; i++) measure_clocks<<<1, 1>>>(times); // the first ones let the card reach its clock
  launch_check(cudaGetLastError(), "the kernel that measures clocks");
  launch_check(cudaMemcpy(read, times, sizeof read, cudaMemcpyDeviceToHost), "measuring clocks");
  launch_check(cudaFree(times), "cudaFree");
  return (double)read[0] * 1000 / (double)read[1];
}
