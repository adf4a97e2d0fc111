// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resident/automatic.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/topology.h"
#include "base/tsan.h"
#include "device/cuda/resident/part.h"
#include "device/cuda/resident/resident.h"

enum {
  // Of tasks that were launched one by one: at some 3 us each, what it takes to link and to load some kernels.
  ENOUGH_MISSED = 1024,
  // Work-groups of a task in the mean, for each multiprocessor: with more, queues are faster, which have the whole card for them.
  GROUPS_PER_PROCESSOR = 2,
};

// A launch that may be wanted.
typedef struct code_request {
  weir__hash id;
  char *source, *options, *function; // NULL once it was compiled
  uint32_t block[3], shared_bytes, value_bytes;
  weir__resident_part *part; // NULL: not compiled, or it does not fit
} code_request;

// What the thread has made: of the first requests, where their functions are.
typedef struct linked_module {
  weir__resident_module module;
  uint64_t *functions;
  uint32_t count;
} linked_module;

struct weir__resident_automatic {
  weir__cuda_device *device;
  pthread_t thread;
  bool has_thread;
  uint32_t processors;
  _Atomic uint32_t thread_state;
  _Atomic bool disabled, has_linked;
  // Guarded by the mutex. Only the thread changes requests that are there.
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  code_request *requests;
  uint32_t count, capacity;
  // As many requests, when the thread was asked the last time, by the device's thread, which may look at it without the mutex; and when
  // it had seen to that.
  uint32_t asked, served;
  linked_module *linked; // NULL: nothing that was not taken over
  bool stopping;
  weir__resident *ring; // made by the thread, before anything else; then the device's thread has it
  // Of the device's thread.
  uint32_t missed, enough;
  bool awaits; // the thread is waited for
};

// ---------------------------------------------------------------------------------------------------------------
// Wishes

static void forget_code(code_request *request) {
  weir__free(request->source);
  weir__free(request->options);
  weir__free(request->function);
  request->source = request->options = request->function = NULL;
}

static weir__hash id_of(const weir_cuda_code *code, const weir_cuda_launch *launch) {
  struct {
    weir__hash source, options, function;
    uint32_t block[3], shared_bytes, value_bytes, zero;
  } all = {.shared_bytes = launch->shared_bytes, .value_bytes = launch->value != NULL ? launch->value_bytes : 0};
  memcpy(all.block, launch->block, sizeof all.block);
  const char *options = code->options != NULL ? code->options : "";
  all.source = weir__hash_of(code->source, strlen(code->source));
  all.options = weir__hash_of(options, strlen(options));
  all.function = weir__hash_of(launch->function, strlen(launch->function));
  return weir__hash_of(&all, sizeof all);
}

static bool make_request(const weir_cuda_code *code, const weir_cuda_launch *launch, weir__hash id,
                         code_request *out_request) {
  code_request w = {.id = id,
                    .source = weir__allocate_string(code->source),
                    .options = weir__allocate_string(code->options != NULL ? code->options : ""),
                    .function = weir__allocate_string(launch->function),
                    .shared_bytes = launch->shared_bytes,
                    .value_bytes = launch->value != NULL ? launch->value_bytes : 0};
  memcpy(w.block, launch->block, sizeof w.block);
  *out_request = w;
  if (w.source != NULL && w.options != NULL && w.function != NULL) return true;
  forget_code(out_request);
  return false;
}

static bool reserve(weir__resident_automatic *automatic) {
  if (automatic->count < automatic->capacity) return true;
  uint32_t capacity = automatic->capacity == 0 ? 16 : 2 * automatic->capacity;
  code_request *requests = weir__allocate(capacity * sizeof *requests);
  if (requests == NULL) return false;
  if (automatic->count > 0) memcpy(requests, automatic->requests, automatic->count * sizeof *requests);
  weir__free(automatic->requests);
  automatic->requests = requests;
  automatic->capacity = capacity;
  return true;
}

uint32_t weir__resident_request_code(weir__cuda_device *device, const weir_cuda_code *code,
                                     const weir_cuda_launch *launch) {
  weir__resident_automatic *automatic = device->automatic;
  if (code->source == NULL || !code->groups) return 0;
  weir__hash id = id_of(code, launch);
  pthread_mutex_lock(&automatic->mutex);
  uint32_t index = 0;
  while (index < automatic->count && !weir__hash_equal(automatic->requests[index].id, id)) index++;
  bool good = index < automatic->count ||
              (reserve(automatic) && make_request(code, launch, id, &automatic->requests[automatic->count]));
  if (good && index == automatic->count) automatic->count++;
  pthread_mutex_unlock(&automatic->mutex);
  return good ? index + 1 : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// The thread

// Compiles a request, whose code nobody else changes. It may not fit, or not compile so: then its tasks stay in queues.
static void compile(weir__resident_automatic *automatic, const code_request *request, weir__resident_part **out_part) {
  static const char nothing;
  char reason[160];
  const weir_cuda_code code = {.source = request->source, .options = request->options, .groups = true};
  const weir_cuda_launch launch = {.function = request->function,
                                   .block = {request->block[0], request->block[1], request->block[2]},
                                   .shared_bytes = request->shared_bytes,
                                   .value = request->value_bytes > 0 ? &nothing : NULL,
                                   .value_bytes = request->value_bytes};
  *out_part = NULL;
  if (weir__resident_words(request->value_bytes) > WEIR__R_ARGS) return;
  if (weir__resident_compile(automatic->device, request->function, &code, &launch, out_part, reason, sizeof reason) !=
      WEIR_OK)
    *out_part = NULL;
}

// Compiles the first requests, as far as they were not.
static void compile_requests(weir__resident_automatic *automatic, uint32_t count) {
  pthread_mutex_lock(&automatic->mutex);
  for (uint32_t i = 0; i < count && !automatic->stopping; i++) {
    code_request w = automatic->requests[i];
    if (w.source == NULL) continue;
    pthread_mutex_unlock(&automatic->mutex);
    weir__resident_part *part;
    compile(automatic, &w, &part);
    pthread_mutex_lock(&automatic->mutex);
    automatic->requests[i].part = part;
    forget_code(&automatic->requests[i]);
  }
  pthread_mutex_unlock(&automatic->mutex);
}

static void free_linked(weir__cuda_device *device, linked_module *m) {
  if (m == NULL) return;
  weir__resident_unlink(device, &m->module);
  weir__free(m->functions);
  weir__free(m);
}

// Links what was compiled of the first requests. False: nothing is to be had.
static bool link_requests(weir__resident_automatic *automatic, linked_module *m) {
  weir__resident_part **parts = weir__allocate(m->count * sizeof(weir__resident_part *));
  uint32_t *indices = weir__allocate(m->count * sizeof *indices), used = 0;
  m->functions = weir__allocate_zeroed(m->count * sizeof *m->functions);
  bool good = parts != NULL && indices != NULL && m->functions != NULL;
  pthread_mutex_lock(&automatic->mutex);
  for (uint32_t i = 0; i < m->count && good; i++) {
    if (automatic->requests[i].part == NULL) continue;
    parts[used] = automatic->requests[i].part;
    indices[used++] = i;
  }
  pthread_mutex_unlock(&automatic->mutex);
  good = good && used > 0 && weir__resident_link(automatic->device, parts, used, &m->module) == WEIR_OK;
  for (uint32_t i = 0; i < used && good; i++) m->functions[indices[i]] = m->module.functions[i];
  weir__free(parts);
  weir__free(indices);
  return good;
}

// Makes what was asked for; NULL: nothing is to be had.
static linked_module *make(weir__resident_automatic *automatic, uint32_t count) {
  compile_requests(automatic, count);
  linked_module *m = weir__allocate_zeroed(sizeof *m);
  if (m == NULL) return NULL;
  m->count = count;
  bool good = link_requests(automatic, m);
  if (good && automatic->ring == NULL) good = weir__resident_make(automatic->device, &automatic->ring) == WEIR_OK;
  if (good) return m;
  free_linked(automatic->device, m);
  return NULL;
}

static void *thread_main(void *argument) {
  weir__resident_automatic *automatic = argument;
  weir__unpin(); // the device's thread has a core to itself, and goes on meanwhile
  if (!weir__cuda_begin_thread(automatic->device, &automatic->thread_state)) return NULL;
  pthread_mutex_lock(&automatic->mutex);
  for (;;) {
    while (automatic->asked == automatic->served && !automatic->stopping)
      pthread_cond_wait(&automatic->changed, &automatic->mutex);
    if (automatic->stopping) break;
    uint32_t count = automatic->asked;
    pthread_mutex_unlock(&automatic->mutex);
    linked_module *m = make(automatic, count);
    pthread_mutex_lock(&automatic->mutex);
    if (m != NULL) {
      free_linked(automatic->device, automatic->linked); // it was not taken over yet
      automatic->linked = m;
      atomic_store_explicit(&automatic->has_linked, true, memory_order_release);
    }
    automatic->served = count;
    pthread_cond_broadcast(&automatic->changed);
  }
  pthread_mutex_unlock(&automatic->mutex);
  return NULL;
}

static bool start(weir__resident_automatic *automatic) {
  if (!weir__allocate_permit() || weir__thread_create(&automatic->thread, thread_main, automatic) != 0) return false;
  automatic->has_thread = weir__cuda_await_thread(&automatic->thread_state, automatic->thread) == WEIR_OK;
  return automatic->has_thread;
}

// Has the thread make what is requested.
static void ask(weir__resident_automatic *automatic) {
  automatic->missed = 0;
  if (!automatic->has_thread && !start(automatic)) {
    weir__resident_disable(automatic->device); // no thread is to be had
    return;
  }
  pthread_mutex_lock(&automatic->mutex);
  automatic->asked = automatic->count;
  pthread_cond_broadcast(&automatic->changed);
  while (automatic->awaits && automatic->served != automatic->asked)
    pthread_cond_wait(&automatic->changed, &automatic->mutex);
  pthread_mutex_unlock(&automatic->mutex);
}

// ---------------------------------------------------------------------------------------------------------------
// The device's thread

enum { FITS, NOT_ASKED_FOR, NEVER };

// Whether the code of a task that fits is there, or may be.
static int find_code(const weir__cuda_device *device, const weir__task *task) {
  const weir__cuda_kernel *kernel = task->code;
  int found = FITS;
  for (uint32_t i = 0; i < kernel->count; i++) {
    uint32_t number = kernel->launches[i].resident[device->base.device.index];
    bool linked = device->resident != NULL && number <= device->resident->linked;
    if (linked && device->resident->functions[number - 1] != 0) continue;
    if (linked || number <= device->automatic->asked) return NEVER; // or soon
    found = NOT_ASKED_FOR;
  }
  return found;
}

// Whether the tasks are such that the resident kernel would be the best place for all of them, and if so, whether their code is there.
static bool suit(weir__cuda_device *device, weir__task *const *tasks, uint32_t count, bool *out_linked) {
  const weir__resident_automatic *automatic = device->automatic;
  uint64_t groups = 0, most = (uint64_t)GROUPS_PER_PROCESSOR * automatic->processors * count;
  *out_linked = device->resident != NULL;
  if (atomic_load_explicit(&automatic->disabled, memory_order_relaxed)) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!weir__resident_fits(device, tasks[i], &groups) || groups > most) return false;
    int found = find_code(device, tasks[i]);
    if (found == NEVER) return false;
    *out_linked = *out_linked && found == FITS;
  }
  return true;
}

bool weir__resident_wants(weir__cuda_device *device, weir__task *const *tasks, uint32_t count) {
  bool linked;
  return !device->resident->given_up && suit(device, tasks, count, &linked) && linked;
}

void weir__resident_missed(weir__cuda_device *device, weir__task *const *tasks, uint32_t count) {
  weir__resident_automatic *automatic = device->automatic;
  bool linked;
  if (!suit(device, tasks, count, &linked) || linked) return;
  automatic->missed += count;
  if (automatic->missed > automatic->enough) ask(automatic);
}

// Takes over what the thread has made, if nothing is in the ring.
static void begin_round(weir__cuda_device *device, bool any) {
  (void)any;
  weir__resident_automatic *automatic = device->automatic;
  if (!atomic_load_explicit(&automatic->has_linked, memory_order_acquire)) return;
  if (device->resident != NULL && weir__resident_is_busy(device)) return;
  pthread_mutex_lock(&automatic->mutex);
  linked_module *m = automatic->linked;
  automatic->linked = NULL;
  atomic_store_explicit(&automatic->has_linked, false, memory_order_relaxed);
  pthread_mutex_unlock(&automatic->mutex);
  if (device->resident != NULL) weir__resident_stop(device); // its code goes
  if (device->resident == NULL) weir__cuda_add_path(device, &weir__cuda_resident_path);
  device->resident = automatic->ring;
  weir__resident_exchange(device, &m->module, m->functions, m->count);
  weir__free(m);
}

// The caller cannot know which tasks are there.
static bool bars_streams(const weir__cuda_device *device) {
  return device->resident != NULL && weir__resident_is_busy(device);
}

const weir__cuda_path weir__cuda_automatic_path = {.begin_round = begin_round, .bars_streams = bars_streams};

// ---------------------------------------------------------------------------------------------------------------

void weir__resident_disable(weir__cuda_device *device) {
  if (device->automatic != NULL) atomic_store_explicit(&device->automatic->disabled, true, memory_order_relaxed);
}

// A seed, for tests, has it ask soon, and wait for the answer.
static void set_patience(weir__resident_automatic *automatic, uint64_t seed) {
  automatic->enough = seed == 0 ? ENOUGH_MISSED : (uint32_t)(seed >> 16) % 8;
  automatic->awaits = seed % 3 != 0 && seed != 0;
}

weir_status weir__resident_automatic_create(weir__cuda_device *device) {
  const weir__host *host = device->base.device.host;
  bool chooses = host->issue == WEIR_ISSUE_AUTO && host->trace == NULL && device->launcher_count > 0;
  if (!chooses || device->batches == NULL) return WEIR_OK;
  weir__resident_automatic *automatic = weir__allocate_zeroed(sizeof *automatic);
  if (automatic == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for resident issue");
  automatic->device = device;
  set_patience(automatic, host->seed);
  pthread_mutex_init(&automatic->mutex, NULL);
  pthread_cond_init(&automatic->changed, NULL);
  device->automatic = automatic;
  weir__cuda_add_path(device, &weir__cuda_automatic_path);
  return weir__resident_processors(device, &automatic->processors);
}

void weir__resident_automatic_destroy(weir__cuda_device *device) {
  weir__resident_automatic *automatic = device->automatic;
  if (automatic == NULL) return;
  pthread_mutex_lock(&automatic->mutex);
  automatic->stopping = true;
  pthread_cond_broadcast(&automatic->changed);
  pthread_mutex_unlock(&automatic->mutex);
  if (automatic->has_thread) pthread_join(automatic->thread, NULL);
  bool entered = weir__cuda_enter(device) == CUDA_SUCCESS;
  free_linked(device, automatic->linked);
  if (entered) weir__cuda_leave(device);
  if (device->resident == NULL) device->resident = automatic->ring; // to be destroyed with it
  for (uint32_t i = 0; i < automatic->count; i++) {
    forget_code(&automatic->requests[i]);
    weir__resident_part_release(automatic->requests[i].part);
  }
  weir__free(automatic->requests);
  pthread_cond_destroy(&automatic->changed);
  pthread_mutex_destroy(&automatic->mutex);
  weir__free(automatic);
  device->automatic = NULL;
}
