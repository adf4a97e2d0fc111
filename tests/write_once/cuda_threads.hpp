// SPDX-License-Identifier: Apache-2.0
//
// CUDA's words for C++ threads: a kernel's CUDA form runs with a thread for each work-item and a real barrier, one
// work-group after another. Under the thread sanitizer that finds what a GPU would suffer from and a loop over work-items
// cannot show: a wait that is missing.
#ifndef WRITE_ONCE_CUDA_THREADS_HPP
#define WRITE_ONCE_CUDA_THREADS_HPP

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#define __CUDACC__ 1
#define __global__
#define __device__
#define __constant__
#define __shared__ static // one work-group at a time
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct dim3 {
  unsigned x, y, z;
};

static thread_local dim3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static pthread_barrier_t block_barrier;

static inline void __syncthreads() {
  pthread_barrier_wait(&block_barrier);
}

// A named barrier: `count` threads, in whole warps, wait for each other; which they are is up to them.
static struct {
  std::mutex mutex;
  std::condition_variable all_here;
  unsigned count, here, round;
} named_barriers[16];

static inline void __barrier_sync_count(unsigned id, unsigned count) {
  auto &barrier = named_barriers[id];
  std::unique_lock<std::mutex> lock(barrier.mutex);
  if (count % 32 != 0 || (barrier.here > 0 && barrier.count != count)) abort();
  barrier.count = count;
  unsigned round = barrier.round;
  if (++barrier.here == count) {
    barrier.here = 0;
    barrier.round++;
    barrier.all_here.notify_all();
  } else {
    barrier.all_here.wait(lock, [&] { return barrier.round != round; });
  }
}

#define __isGlobal(pointer) ((pointer) != nullptr)
#define __builtin_assume(condition) ((void)(condition))

template <class T> T atomicCAS(T *pointer, T expected, T desired) {
  __atomic_compare_exchange(pointer, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

template <class T, class Change> T atomic_change(T *pointer, Change change) {
  T seen, desired;
  __atomic_load(pointer, &seen, __ATOMIC_RELAXED);
  do {
    desired = change(seen);
  } while (!__atomic_compare_exchange(pointer, &seen, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return seen;
}

template <class T> T atomicAdd(T *pointer, T value) {
  return atomic_change(pointer, [=](T seen) { return seen + value; });
}

template <class T> T atomicMin(T *pointer, T value) {
  return atomic_change(pointer, [=](T seen) { return seen < value ? seen : value; });
}

template <class T> T atomicMax(T *pointer, T value) {
  return atomic_change(pointer, [=](T seen) { return seen > value ? seen : value; });
}

// Runs `kernel`, a call of a kernel without arguments, for each work-item of each work-group.
template <class Kernel> void launch(dim3 groups, dim3 size, Kernel kernel) {
  unsigned items = size.x * size.y * size.z, count = groups.x * groups.y * groups.z;
  gridDim = groups;
  blockDim = size;
  pthread_barrier_init(&block_barrier, NULL, items);
  std::vector<std::thread> threads;
  for (unsigned item = 0; item < items; item++) {
    threads.emplace_back([=] {
      threadIdx = {item % size.x, item / size.x % size.y, item / size.x / size.y};
      for (unsigned group = 0; group < count; group++) {
        blockIdx = {group % groups.x, group / groups.x % groups.y, group / groups.x / groups.y};
        kernel();
        __syncthreads();
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  pthread_barrier_destroy(&block_barrier);
}

#endif // WRITE_ONCE_CUDA_THREADS_HPP
