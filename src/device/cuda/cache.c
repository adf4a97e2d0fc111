// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cache.h"

#include "base/allocate.h"

enum { BUCKETS = 1024, MOST_COPIES = 4, MOST_SHAPES = 256, MOST_LAUNCHES = 1 << 17 };

struct weir__cuda_cache {
  weir__cuda_device *device;
  weir__cuda_exec *buckets[BUCKETS];
  uint64_t launches; // of all graphs
  uint64_t clock;    // of uses
};

weir__cuda_cache *weir__cuda_cache_create(weir__cuda_device *device) {
  weir__cuda_cache *cache = weir__allocate_zeroed(sizeof *cache);
  if (cache != NULL) cache->device = device;
  return cache;
}

static weir__cuda_exec **bucket_of(weir__cuda_cache *cache, uint64_t hash) {
  return &cache->buckets[hash % BUCKETS];
}

static void drop(weir__cuda_cache *cache, weir__cuda_exec *exec) {
  weir__cuda_exec **link = bucket_of(cache, exec->hash);
  while (*link != exec) link = &(*link)->next;
  *link = exec->next;
  cache->launches -= exec->launch_count + 1;
  weir__cuda_exec_destroy(cache->device, exec);
}

void weir__cuda_cache_destroy(weir__cuda_cache *cache) {
  if (cache == NULL) return;
  for (uint32_t i = 0; i < BUCKETS; i++) {
    while (cache->buckets[i] != NULL) drop(cache, cache->buckets[i]);
  }
  weir__free(cache);
}

// Drops the idle graph that was not used for longest. False: none is idle.
static bool drop_oldest(weir__cuda_cache *cache) {
  weir__cuda_exec *oldest = NULL;
  for (uint32_t i = 0; i < BUCKETS; i++) {
    for (weir__cuda_exec *exec = cache->buckets[i]; exec != NULL; exec = exec->next) {
      if (exec->in_flight == 0 && (oldest == NULL || exec->last_used < oldest->last_used)) oldest = exec;
    }
  }
  if (oldest == NULL) return false;
  drop(cache, oldest);
  return true;
}

// What the cache has for some steps.
typedef struct candidates {
  weir__cuda_exec *same;       // idle, or with no copy to spare
  weir__cuda_exec *same_shape; // idle
  weir__cuda_exec *busy;       // same shape, in flight; the one that was launched first
  weir__cuda_exec *other;      // idle; not used for longest
  uint32_t copies, shapes;
} candidates;

static bool older(const weir__cuda_exec *exec, const weir__cuda_exec *than) {
  return than == NULL || exec->last_used < than->last_used;
}

static candidates look(weir__cuda_cache *cache, const weir__cuda_step *steps, uint32_t count, uint64_t hash) {
  candidates found = {0};
  for (weir__cuda_exec *exec = *bucket_of(cache, hash); exec != NULL; exec = exec->next) {
    if (exec->hash != hash || !weir__cuda_exec_fits(exec, steps, count)) continue;
    bool idle = exec->in_flight == 0;
    weir__cuda_likeness likeness = weir__cuda_exec_likeness(cache->device, exec, steps);
    found.shapes++;
    if (likeness == WEIR__CUDA_OTHER_SHAPE) {
      if (idle && older(exec, found.other)) found.other = exec;
      continue;
    }
    found.copies++;
    if (likeness == WEIR__CUDA_SAME && idle) found.same = exec;
    if (idle && older(exec, found.same_shape)) found.same_shape = exec;
    if (!idle && older(exec, found.busy)) found.busy = exec;
  }
  return found;
}

static CUresult make(weir__cuda_cache *cache, const weir__cuda_step *steps, uint32_t count, uint64_t hash,
                     weir__cuda_exec **out_exec) {
  bool marks = cache->device->base.host->trace != NULL;
  CUresult result = weir__cuda_exec_create(cache->device, steps, count, marks ? WEIR__CUDA_EXEC_MARKS : 0, out_exec);
  if (result == CUDA_SUCCESS) weir__cuda_cache_add(cache, *out_exec, hash);
  return result;
}

static CUresult set(weir__cuda_cache *cache, weir__cuda_exec *exec, const weir__cuda_step *steps) {
  // A launch that was placed must be in its stream, with what is set now, before anything else is set.
  while (exec->queue != NULL && !weir__cuda_is_issued(exec->queue, exec->number)) weir__pause();
  uint32_t changed;
  CUresult result = weir__cuda_exec_set(cache->device, exec, steps, NULL, &changed);
  if (result != CUDA_SUCCESS && exec->in_flight == 0) drop(cache, exec);
  return result;
}

// What is to be used where no graph is set as the steps say; NULL: nothing.
static CUresult set_or_make(weir__cuda_cache *cache, const weir__cuda_step *steps, uint32_t count, uint64_t hash,
                            const candidates *found, bool known, bool make_now, weir__cuda_exec **out_exec,
                            bool *out_wanted) {
  // Events of a timeline belong to one launch at a time.
  bool one_at_a_time = cache->device->base.host->trace != NULL;
  bool enough = found->copies >= MOST_COPIES;
  *out_exec = found->same_shape;
  *out_wanted = false;
  if (*out_exec == NULL && !one_at_a_time && (enough || !make_now)) {
    *out_exec = found->busy;
    *out_wanted = !enough;
  }
  if (*out_exec == NULL && (!known || found->shapes >= MOST_SHAPES)) {
    *out_exec = found->other;
    *out_wanted = found->shapes < MOST_SHAPES;
  }
  if (*out_exec != NULL) return set(cache, *out_exec, steps);
  *out_wanted = !make_now;
  return make_now ? make(cache, steps, count, hash, out_exec) : CUDA_SUCCESS;
}

static weir__cuda_exec *take(weir__cuda_cache *cache, weir__cuda_exec *exec) {
  exec->in_flight++;
  exec->last_used = ++cache->clock;
  return exec;
}

CUresult weir__cuda_cache_take(weir__cuda_cache *cache, const weir__cuda_step *steps, uint32_t count, uint64_t hash,
                               bool known, bool make_now, weir__cuda_exec **out_exec, bool *out_wanted,
                               bool *out_same) {
  candidates found = look(cache, steps, count, hash);
  weir__cuda_exec *exec = found.same;
  CUresult result = CUDA_SUCCESS;
  *out_exec = NULL;
  *out_wanted = false;
  *out_same = exec != NULL;
  if (exec == NULL) result = set_or_make(cache, steps, count, hash, &found, known, make_now, &exec, out_wanted);
  if (result != CUDA_SUCCESS || exec == NULL) return result;
  *out_exec = take(cache, exec);
  return CUDA_SUCCESS;
}

weir__cuda_exec *weir__cuda_cache_take_same(weir__cuda_cache *cache, const weir__cuda_step *steps, uint32_t count,
                                            uint64_t hash, bool *out_wanted) {
  candidates found = look(cache, steps, count, hash);
  *out_wanted = found.copies == 0 && found.shapes < MOST_SHAPES;
  return found.same != NULL ? take(cache, found.same) : NULL;
}

void weir__cuda_cache_add(weir__cuda_cache *cache, weir__cuda_exec *exec, uint64_t hash) {
  while (cache->launches > MOST_LAUNCHES && drop_oldest(cache)) {
  }
  exec->hash = hash;
  exec->last_used = ++cache->clock;
  exec->next = *bucket_of(cache, hash);
  *bucket_of(cache, hash) = exec;
  cache->launches += exec->launch_count + 1;
}

void weir__cuda_cache_give(weir__cuda_cache *cache, weir__cuda_exec *exec, bool useless) {
  exec->in_flight--;
  if (useless && exec->in_flight == 0) drop(cache, exec);
}
