// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/builder.h"

#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tsan.h"

enum {
  MOST_JOBS = 64,
  NAP_NS = 100000,
  LONG_NAP_NS = 500000, // where no batch has come again
  IDLE_NS = 1000000,
  PATIENCE_NS = 2000000,      // with a batch that came again, while the device is busy
  PATIENCE_NEW_NS = 20000000, // the same, while new tasks are launched one by one
  KNOWN_PARAMETERS = 16
};

typedef struct job {
  struct job *next;
  uint64_t hash, id; // id: of topology and shape
  uint64_t asked_ns;
  _Atomic bool known; // or it was asked for again
  uint32_t count;
  weir__cuda_step *steps; // what they point to follows in the same memory
  weir__cuda_exec *exec;
} job;

struct weir__cuda_builder {
  weir__cuda_device *device;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t asked;
  job *first, *last; // to do; guarded by the mutex
  job *made;         // guarded by the mutex
  bool stopping;     // guarded by the mutex
  _Atomic uint32_t made_count;
  _Atomic uint32_t work; // weir__cuda_work
  _Atomic uint32_t state;
  job *pending[MOST_JOBS]; // that were asked for and not fetched; of the device's thread
  uint32_t pending_count;
};

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

static uint64_t id_of(const weir__cuda_device *device, const weir__cuda_step *steps, uint32_t count, uint64_t hash) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = 0; j < steps[i].kernel->count; j++) {
      const weir__cuda_launch *launch = &steps[i].kernel->launches[j];
      const uint32_t *grid = launch->grid[0] == 0 ? steps[i].groups : launch->grid;
      hash = mix(hash, (uintptr_t)launch->functions[device->base.device.index] ^ (uint64_t)launch->block[0] << 48);
      hash = mix(hash, (uint64_t)grid[0] << 32 ^ (uint64_t)grid[1] << 16 ^ grid[2]);
      hash = mix(hash, launch->shared_bytes);
    }
  }
  return hash;
}

// ---------------------------------------------------------------------------------------------------------------
// Copies of steps

static size_t padded(size_t bytes) {
  return (bytes + 15) & ~(size_t)15;
}

static size_t kernel_bytes(const weir__cuda_kernel *kernel) {
  return padded(sizeof *kernel + kernel->count * sizeof kernel->launches[0]);
}

// The most bytes that a parameter of the step has; 0: that is not known.
static size_t parameter_bytes(const weir__cuda_step *step, uint32_t index) {
  size_t most = 0;
  for (uint32_t i = 0; i < step->kernel->count; i++) {
    const weir__cuda_launch *launch = &step->kernel->launches[i];
    if (launch->parameter_count > KNOWN_PARAMETERS) return 0;
    if (launch->value != NULL || index >= launch->parameter_count) continue;
    if (launch->parameter_bytes[index] > most) most = launch->parameter_bytes[index];
  }
  return most == 0 ? sizeof(uint64_t) : most;
}

// Bytes of a copy of everything; 0: it cannot be copied, because sizes are not known.
static size_t copy_bytes(const weir__cuda_step *steps, uint32_t count) {
  size_t bytes = padded(count * sizeof *steps);
  for (uint32_t i = 0; i < count; i++) {
    bytes += kernel_bytes(steps[i].kernel) + padded(steps[i].parameter_count * sizeof(void *)) +
             padded(steps[i].predecessor_count * sizeof(uint32_t)) + padded(3 * sizeof(uint32_t));
    for (uint32_t j = 0; j < steps[i].kernel->count; j++) {
      const weir__cuda_launch *launch = &steps[i].kernel->launches[j];
      if (launch->parameter_count > KNOWN_PARAMETERS) return 0;
      if (launch->value != NULL) bytes += padded(launch->parameter_bytes[0]);
    }
    for (uint32_t j = 0; j < steps[i].parameter_count; j++) bytes += padded(parameter_bytes(&steps[i], j));
  }
  return bytes;
}

static void *put(unsigned char **at, const void *from, size_t bytes) {
  void *to = *at;
  if (bytes > 0) memcpy(to, from, bytes);
  *at += padded(bytes);
  return to;
}

static void copy_step(const weir__cuda_step *from, weir__cuda_step *to, unsigned char **at) {
  weir__cuda_kernel *kernel =
      put(at, from->kernel, sizeof *kernel + from->kernel->count * sizeof from->kernel->launches[0]);
  for (uint32_t i = 0; i < kernel->count; i++) {
    weir__cuda_launch *launch = &kernel->launches[i];
    if (launch->value != NULL) launch->value = put(at, launch->value, launch->parameter_bytes[0]);
  }
  void **parameters = put(at, from->parameters, from->parameter_count * sizeof(void *));
  for (uint32_t i = 0; i < from->parameter_count; i++)
    parameters[i] = put(at, from->parameters[i], parameter_bytes(from, i));
  *to = (weir__cuda_step){
      .kernel = kernel,
      .groups = put(at, from->groups, 3 * sizeof(uint32_t)),
      .parameters = parameters,
      .parameter_count = from->parameter_count,
      .predecessors = put(at, from->predecessors, from->predecessor_count * sizeof(uint32_t)),
      .predecessor_count = from->predecessor_count,
  };
}

static weir__cuda_step *copy_steps(const weir__cuda_step *steps, uint32_t count) {
  size_t bytes = copy_bytes(steps, count);
  unsigned char *memory = bytes == 0 ? NULL : weir__allocate(bytes);
  if (memory == NULL) return NULL;
  weir__cuda_step *copy = (weir__cuda_step *)(void *)memory;
  unsigned char *at = memory + padded(count * sizeof *copy);
  for (uint32_t i = 0; i < count; i++) copy_step(&steps[i], &copy[i], &at);
  return copy;
}

// ---------------------------------------------------------------------------------------------------------------
// The thread

static void free_job(weir__cuda_builder *builder, job *done) {
  if (done->exec != NULL) weir__cuda_exec_destroy(builder->device, done->exec);
  weir__free(done->steps);
  weir__free(done);
}

// The job to be done next: the first that came again, else the first.
static job *next_job(const weir__cuda_builder *builder) {
  job *next = builder->first;
  while (next != NULL && !atomic_load_explicit(&next->known, memory_order_relaxed)) next = next->next;
  return next != NULL ? next : builder->first;
}

static void unlink_job(weir__cuda_builder *builder, job *from) {
  job *before = NULL;
  for (job *other = builder->first; other != from; other = other->next) before = other;
  if (before == NULL)
    builder->first = from->next;
  else
    before->next = from->next;
  if (builder->last == from) builder->last = before;
}

// Whether the job may be done while launches go on, or does not hold up any.
static bool is_due(const job *next, weir__cuda_work work, uint64_t now, uint64_t idle_since) {
  if (now - idle_since >= IDLE_NS) return true;
  bool known = atomic_load_explicit(&next->known, memory_order_relaxed);
  return known && now - next->asked_ns >= (work == WEIR__CUDA_BUSY_WITH_NEW ? PATIENCE_NEW_NS : PATIENCE_NS);
}

// Waits for a job that is due, and takes it out of the list. NULL: the thread is to stop. The mutex is held.
static job *await_job(weir__cuda_builder *builder) {
  uint64_t idle_since = weir__clock_ns();
  while (!builder->stopping) {
    job *next = next_job(builder);
    if (next == NULL) {
      pthread_cond_wait(&builder->asked, &builder->mutex);
      idle_since = weir__clock_ns();
      continue;
    }
    uint64_t now = weir__clock_ns();
    weir__cuda_work work = (weir__cuda_work)atomic_load_explicit(&builder->work, memory_order_relaxed);
    if (work != WEIR__CUDA_IDLE) idle_since = now;
    if (is_due(next, work, now, idle_since)) {
      unlink_job(builder, next);
      return next;
    }
    bool known = atomic_load_explicit(&next->known, memory_order_relaxed);
    pthread_mutex_unlock(&builder->mutex);
    _Atomic uint32_t never = 0;
    weir__sleep_on(&never, 0, known ? NAP_NS : LONG_NAP_NS);
    pthread_mutex_lock(&builder->mutex);
  }
  return NULL;
}

static void *builder_main(void *argument) {
  weir__cuda_builder *builder = argument;
  weir__cuda_device *device = builder->device;
  if (!weir__cuda_begin_thread(device, &builder->state, NULL, NULL)) return NULL;
  CUstream stream = NULL;
  if (device->driver->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) stream = NULL;
  pthread_mutex_lock(&builder->mutex);
  for (job *next; (next = await_job(builder)) != NULL;) {
    pthread_mutex_unlock(&builder->mutex);
    CUresult result = weir__cuda_exec_create(device, next->steps, NULL, next->count, 0, &next->exec);
    if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
    // Otherwise the first launch would have to do it.
    if (result == CUDA_SUCCESS && stream != NULL &&
        device->driver->cuGraphUpload(next->exec->exec, stream) == CUDA_SUCCESS)
      device->driver->cuStreamSynchronize(stream);
    pthread_mutex_lock(&builder->mutex);
    next->next = builder->made;
    builder->made = next;
    atomic_fetch_add_explicit(&builder->made_count, 1, memory_order_release);
  }
  pthread_mutex_unlock(&builder->mutex);
  if (stream != NULL) device->driver->cuStreamDestroy(stream);
  return NULL;
}

weir__cuda_builder *weir__cuda_builder_create(weir__cuda_device *device) {
  weir__cuda_builder *builder = weir__allocate_zeroed(sizeof *builder);
  if (builder == NULL) return NULL;
  builder->device = device;
  pthread_mutex_init(&builder->mutex, NULL);
  pthread_cond_init(&builder->asked, NULL);
  if (weir__allocate_permit() && weir__thread_create(&builder->thread, builder_main, builder) == 0 &&
      weir__cuda_await_thread(&builder->state, builder->thread) == WEIR_OK)
    return builder;
  pthread_cond_destroy(&builder->asked);
  pthread_mutex_destroy(&builder->mutex);
  weir__free(builder);
  return NULL;
}

void weir__cuda_builder_destroy(weir__cuda_builder *builder) {
  if (builder == NULL) return;
  pthread_mutex_lock(&builder->mutex);
  builder->stopping = true;
  pthread_cond_signal(&builder->asked);
  pthread_mutex_unlock(&builder->mutex);
  pthread_join(builder->thread, NULL);
  job *lists[] = {builder->first, builder->made};
  for (int i = 0; i < 2; i++) {
    while (lists[i] != NULL) {
      job *next = lists[i]->next;
      free_job(builder, lists[i]);
      lists[i] = next;
    }
  }
  pthread_cond_destroy(&builder->asked);
  pthread_mutex_destroy(&builder->mutex);
  weir__free(builder);
}

static void forget_pending(weir__cuda_builder *builder, const job *gone) {
  for (uint32_t i = 0; i < builder->pending_count; i++) {
    if (builder->pending[i] != gone) continue;
    builder->pending[i] = builder->pending[--builder->pending_count];
    return;
  }
}

// Drops the first job that has not come again, if there are too many. False: all have.
static bool make_room(weir__cuda_builder *builder) {
  if (builder->pending_count < MOST_JOBS) return true;
  pthread_mutex_lock(&builder->mutex);
  job *oldest = builder->first;
  while (oldest != NULL && atomic_load_explicit(&oldest->known, memory_order_relaxed)) oldest = oldest->next;
  if (oldest != NULL) unlink_job(builder, oldest);
  pthread_mutex_unlock(&builder->mutex);
  if (oldest == NULL) return false;
  forget_pending(builder, oldest);
  free_job(builder, oldest);
  return true;
}

void weir__cuda_builder_ask(weir__cuda_builder *builder, const weir__cuda_step *steps, uint32_t count, uint64_t hash,
                            bool known) {
  uint64_t id = id_of(builder->device, steps, count, hash);
  for (uint32_t i = 0; i < builder->pending_count; i++) {
    if (builder->pending[i]->id != id) continue;
    if (known) atomic_store_explicit(&builder->pending[i]->known, true, memory_order_relaxed);
    return;
  }
  job *asked = make_room(builder) ? weir__allocate(sizeof *asked) : NULL;
  if (asked == NULL) return;
  *asked = (job){.hash = hash,
                 .id = id,
                 .asked_ns = weir__clock_ns(),
                 .known = known,
                 .count = count,
                 .steps = copy_steps(steps, count)};
  if (asked->steps == NULL) {
    weir__free(asked);
    return;
  }
  builder->pending[builder->pending_count++] = asked;
  pthread_mutex_lock(&builder->mutex);
  if (builder->last == NULL)
    builder->first = asked;
  else
    builder->last->next = asked;
  builder->last = asked;
  pthread_cond_signal(&builder->asked);
  pthread_mutex_unlock(&builder->mutex);
}

weir__cuda_exec *weir__cuda_builder_fetch(weir__cuda_builder *builder, uint64_t *out_hash) {
  while (atomic_load_explicit(&builder->made_count, memory_order_acquire) > 0) {
    pthread_mutex_lock(&builder->mutex);
    job *made = builder->made;
    builder->made = made->next;
    atomic_fetch_sub_explicit(&builder->made_count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&builder->mutex);
    forget_pending(builder, made);
    weir__cuda_exec *exec = made->exec;
    *out_hash = made->hash;
    made->exec = NULL;
    free_job(builder, made);
    if (exec != NULL) return exec;
  }
  return NULL;
}

void weir__cuda_builder_note_work(weir__cuda_builder *builder, weir__cuda_work work) {
  if (atomic_load_explicit(&builder->work, memory_order_relaxed) != work)
    atomic_store_explicit(&builder->work, work, memory_order_relaxed);
}
