// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resident/maker.h"

#include <pthread.h>
#include <time.h>

#include "base/allocate.h"
#include "base/disk_cache.h"
#include "base/topology.h"
#include "base/tsan.h"
#include "device/cuda/resident/resident.h"

// After QUIET_NS no more launches are expected to come. Each link that nobody asked for makes it twice as long, up to 2 to the power
// of MOST_DOUBLED: all is linked anew each time.
enum { QUIET_NS = 2000000, MOST_DOUBLED = 9 };

struct weir__resident_maker {
  weir__cuda_device *device;
  weir__resident_make_ring make_ring;
  pthread_t thread;
  _Atomic uint32_t thread_state;
  _Atomic bool has_linked;
  weir__resident *ring; // made by the thread, before anything is linked
  // Guarded by the mutex. Only the thread changes wishes that are there.
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool has_thread, stopping;
  weir__resident_wishes wishes;
  uint32_t seen;    // so many wishes were looked at when they were new
  uint32_t unasked; // how often code was linked for which nobody had asked
  uint32_t asked; // so many were there when somebody asked, by the device's thread, which may read it without the mutex
  uint32_t served;               // so many were linked, or were to be and could not
  weir__resident_linked *linked; // NULL: nothing that was not taken
};

void weir__resident_linked_free(weir__cuda_device *device, weir__resident_linked *linked) {
  if (linked == NULL) return;
  weir__resident_unlink(device, &linked->module);
  weir__free(linked->functions);
  weir__free(linked);
}

// Compiles the first wishes, as far as they were not. False: with `cached_only` a compiler would be needed.
static bool compile_first(weir__resident_maker *maker, uint32_t count, bool cached_only) {
  bool good = true;
  pthread_mutex_lock(&maker->mutex);
  for (uint32_t i = 0; i < count && !maker->stopping && good; i++) {
    weir__resident_wish wish = maker->wishes.all[i];
    if (wish.source == NULL) continue;
    pthread_mutex_unlock(&maker->mutex);
    weir__resident_part *part;
    good = weir__resident_wish_compile(maker->device, &wish, cached_only, &part);
    pthread_mutex_lock(&maker->mutex);
    if (!good) break;
    maker->wishes.all[i].part = part;
    weir__resident_wish_forget(&maker->wishes.all[i]);
  }
  pthread_mutex_unlock(&maker->mutex);
  return good;
}

// Links what was compiled of the first wishes. False: nothing is to be had.
static bool link_first(weir__resident_maker *maker, weir__resident_linked *linked) {
  weir__resident_part **parts = weir__allocate(linked->count * sizeof(weir__resident_part *));
  uint32_t *indices = weir__allocate(linked->count * sizeof *indices), used = 0;
  linked->functions = weir__allocate_zeroed(linked->count * sizeof *linked->functions);
  bool good = parts != NULL && indices != NULL && linked->functions != NULL;
  pthread_mutex_lock(&maker->mutex);
  for (uint32_t i = 0; i < linked->count && good; i++) {
    if (maker->wishes.all[i].part == NULL) continue;
    parts[used] = maker->wishes.all[i].part;
    indices[used++] = i;
  }
  pthread_mutex_unlock(&maker->mutex);
  good = good && used > 0 && weir__resident_link(maker->device, parts, used, &linked->module) == WEIR_OK;
  for (uint32_t i = 0; i < used && good; i++) linked->functions[indices[i]] = linked->module.functions[i];
  weir__free(parts);
  weir__free(indices);
  return good;
}

// NULL: nothing is to be had.
static weir__resident_linked *make(weir__resident_maker *maker, uint32_t count, bool cached_only) {
  if (!compile_first(maker, count, cached_only)) return NULL;
  weir__resident_linked *linked = weir__allocate_zeroed(sizeof *linked);
  if (linked == NULL) return NULL;
  linked->count = count;
  bool good = link_first(maker, linked);
  if (good && maker->ring == NULL) good = maker->make_ring(maker->device, &maker->ring) == WEIR_OK;
  if (good) return linked;
  weir__resident_linked_free(maker->device, linked);
  return NULL;
}

static bool is_asked(const weir__resident_maker *maker) {
  return maker->asked > maker->served;
}

// Waits until launches have stopped coming, unless somebody asks meanwhile.
static void await_quiet(weir__resident_maker *maker) {
  uint64_t quiet_ns = (uint64_t)QUIET_NS << (maker->unasked < MOST_DOUBLED ? maker->unasked : MOST_DOUBLED);
  uint32_t before;
  do {
    before = maker->wishes.count;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    uint64_t end_ns = (uint64_t)end.tv_nsec + quiet_ns;
    end.tv_sec += (time_t)(end_ns / 1000000000);
    end.tv_nsec = (long)(end_ns % 1000000000);
    while (!is_asked(maker) && !maker->stopping && before == maker->wishes.count &&
           pthread_cond_timedwait(&maker->changed, &maker->mutex, &end) == 0) {
    }
  } while (!is_asked(maker) && !maker->stopping && before != maker->wishes.count);
}

// One piece of work, with the mutex held.
static void work(weir__resident_maker *maker) {
  bool asked = is_asked(maker);
  uint32_t count = asked ? maker->asked : maker->wishes.count;
  pthread_mutex_unlock(&maker->mutex);
  weir__resident_linked *linked = make(maker, count, !asked);
  pthread_mutex_lock(&maker->mutex);
  weir__resident_linked *not_taken = NULL;
  if (linked != NULL) {
    not_taken = maker->linked;
    maker->linked = linked;
    atomic_store_explicit(&maker->has_linked, true, memory_order_release);
  }
  if (maker->seen < count) maker->seen = count;
  if (!asked && linked != NULL) maker->unasked++;
  if ((asked || linked != NULL) && maker->served < count) maker->served = count; // somebody may have asked meanwhile
  pthread_cond_broadcast(&maker->changed);
  if (not_taken == NULL) return;
  pthread_mutex_unlock(&maker->mutex); // unloading may wait for all that runs on the card
  weir__resident_linked_free(maker->device, not_taken);
  pthread_mutex_lock(&maker->mutex);
}

static void *thread_main(void *argument) {
  weir__resident_maker *maker = argument;
  weir__unpin(); // the device's thread has a core to itself, and goes on meanwhile
  if (!weir__cuda_begin_thread(maker->device, &maker->thread_state, NULL, NULL)) return NULL;
  pthread_mutex_lock(&maker->mutex);
  while (!maker->stopping) {
    if (!is_asked(maker) && maker->seen >= maker->wishes.count) {
      pthread_cond_wait(&maker->changed, &maker->mutex);
      continue;
    }
    if (!is_asked(maker)) await_quiet(maker);
    if (!maker->stopping) work(maker);
  }
  pthread_mutex_unlock(&maker->mutex);
  return NULL;
}

// With the mutex held, which the thread takes only after it has said that it runs.
static bool start(weir__resident_maker *maker) {
  if (maker->has_thread) return true;
  atomic_store_explicit(&maker->thread_state, WEIR__CUDA_STARTING, memory_order_relaxed);
  if (!weir__allocate_permit() || weir__thread_create(&maker->thread, thread_main, maker) != 0) return false;
  maker->has_thread = weir__cuda_await_thread(&maker->thread_state, maker->thread) == WEIR_OK;
  return maker->has_thread;
}

// ---------------------------------------------------------------------------------------------------------------

uint32_t weir__resident_maker_wish(weir__resident_maker *maker, const weir_cuda_code *code,
                                   const weir_cuda_launch *launch) {
  pthread_mutex_lock(&maker->mutex);
  uint32_t before = maker->wishes.count, number = weir__resident_wishes_add(&maker->wishes, code, launch);
  // Without a thread it is asked for later.
  if (maker->wishes.count > before && weir__disk_cache_is_on() && start(maker)) pthread_cond_broadcast(&maker->changed);
  pthread_mutex_unlock(&maker->mutex);
  return number;
}

bool weir__resident_maker_ask(weir__resident_maker *maker, bool awaits) {
  pthread_mutex_lock(&maker->mutex);
  bool good = start(maker);
  if (good) maker->asked = maker->wishes.count;
  pthread_cond_broadcast(&maker->changed);
  while (good && awaits && is_asked(maker)) pthread_cond_wait(&maker->changed, &maker->mutex);
  pthread_mutex_unlock(&maker->mutex);
  return good;
}

uint32_t weir__resident_maker_asked(const weir__resident_maker *maker) {
  return maker->asked;
}

bool weir__resident_maker_has_linked(const weir__resident_maker *maker) {
  return atomic_load_explicit(&maker->has_linked, memory_order_acquire);
}

weir__resident_linked *weir__resident_maker_take(weir__resident_maker *maker) {
  pthread_mutex_lock(&maker->mutex);
  weir__resident_linked *linked = maker->linked;
  maker->linked = NULL;
  atomic_store_explicit(&maker->has_linked, false, memory_order_relaxed);
  pthread_mutex_unlock(&maker->mutex);
  return linked;
}

weir__resident *weir__resident_maker_ring(const weir__resident_maker *maker) {
  return maker->ring;
}

weir__resident_maker *weir__resident_maker_create(weir__cuda_device *device, weir__resident_make_ring make_ring) {
  weir__resident_maker *maker = weir__allocate_zeroed(sizeof *maker);
  if (maker == NULL) return NULL;
  maker->device = device;
  maker->make_ring = make_ring;
  pthread_mutex_init(&maker->mutex, NULL);
  pthread_cond_init(&maker->changed, NULL);
  return maker;
}

void weir__resident_maker_stop(weir__resident_maker *maker) {
  pthread_mutex_lock(&maker->mutex);
  maker->stopping = true;
  pthread_cond_broadcast(&maker->changed);
  pthread_mutex_unlock(&maker->mutex);
  if (maker->has_thread) pthread_join(maker->thread, NULL);
}

void weir__resident_maker_destroy(weir__resident_maker *maker) {
  weir__resident_linked_free(maker->device, maker->linked);
  weir__resident_wishes_free(&maker->wishes);
  pthread_cond_destroy(&maker->changed);
  pthread_mutex_destroy(&maker->mutex);
  weir__free(maker);
}
