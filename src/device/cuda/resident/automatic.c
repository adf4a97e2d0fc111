// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resident/automatic.h"

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/resident/maker.h"
#include "device/cuda/resident/resident.h"

enum {
  // Of tasks that were launched one by one: at some 3 us each, what it takes to link and to load some kernels.
  ENOUGH_MISSED = 1024,
  // A round is what the workers do at once. Tasks of more rounds in the mean are faster on queues, which have twice the threads for
  // them, and more registers. The mean is that of about so many tasks, of which none counts for more than MOST_ROUNDS.
  ROUND = 256,
  MEAN_OF = 64,
  MOST_ROUNDS = 4,
  WORKERS_THREADS = 1024, // on a multiprocessor, of all workers
};

struct weir__resident_automatic {
  weir__resident_maker *maker;
  uint32_t processors, most_workers; // multiprocessors, and blocks on each at most
  _Atomic bool disabled;
  // Of the device's thread.
  uint32_t missed, enough;
  uint32_t mean_rounds; // of the last tasks, in MEAN_OF parts of a ROUND
  bool awaits;          // the maker is waited for
};

uint32_t weir__resident_request_code(weir__cuda_device *device, const weir_cuda_code *code,
                                     const weir_cuda_launch *launch) {
  return weir__resident_maker_wish(device->automatic->maker, code, launch);
}

// Has what is wished for made.
static void ask(weir__cuda_device *device) {
  weir__resident_automatic *automatic = device->automatic;
  automatic->missed = 0;
  if (!weir__resident_maker_ask(automatic->maker, automatic->awaits)) weir__resident_disable(device);
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
    if (linked || number <= weir__resident_maker_asked(device->automatic->maker)) return NEVER; // or soon
    found = NOT_ASKED_FOR;
  }
  return found;
}

// How many work-groups the workers run at once: those of the ring, or, before it is there, of one for this launch alone.
static uint64_t workers_for(const weir__cuda_device *device, const weir__cuda_launch *launch) {
  const weir__resident *resident = device->resident;
  uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
  uint32_t blocks = threads < WORKERS_THREADS ? WORKERS_THREADS / threads : 1;
  if (resident != NULL && resident->module.blocks_per_sm > 0) blocks = resident->module.blocks_per_sm;
  if (device->automatic->most_workers < blocks) blocks = device->automatic->most_workers;
  return (uint64_t)blocks * device->automatic->processors;
}

// Parts of a ROUND that a task takes, if it fits.
static bool rounds_of(const weir__cuda_device *device, const weir__task *task, uint64_t *out_rounds) {
  uint64_t groups = 0;
  *out_rounds = 0;
  if (!weir__resident_fits(device, task, &groups)) return false;
  const weir__cuda_kernel *kernel = task->code;
  if (groups > 0 && kernel != NULL && kernel->count > 0)
    *out_rounds = groups * ROUND / workers_for(device, &kernel->launches[0]);
  return true;
}

void weir__resident_note(weir__cuda_device *device, const weir__task *task) {
  weir__resident_automatic *automatic = device->automatic;
  uint64_t rounds;
  if (task->move != NULL || !rounds_of(device, task, &rounds)) return; // copies have no work-groups
  automatic->mean_rounds -= automatic->mean_rounds / MEAN_OF;
  automatic->mean_rounds += (uint32_t)(rounds < MOST_ROUNDS * ROUND ? rounds : MOST_ROUNDS * ROUND);
}

// Whether the tasks are such that the resident kernel would be the best place for all of them, and if so, whether their code is there.
static bool suit(weir__cuda_device *device, weir__task *const *tasks, uint32_t count, bool *out_linked) {
  const weir__resident_automatic *automatic = device->automatic;
  uint64_t all = 0, most = (uint64_t)ROUND * count;
  *out_linked = device->resident != NULL;
  if (atomic_load_explicit(&automatic->disabled, memory_order_relaxed)) return false;
  if (automatic->mean_rounds / MEAN_OF > ROUND) return false;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t rounds;
    if (!rounds_of(device, tasks[i], &rounds) || (all += rounds) > most) return false;
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
  if (automatic->missed > automatic->enough) ask(device);
}

// Takes over what was made, if nothing is in the ring.
static void begin_round(weir__cuda_device *device, bool any) {
  (void)any;
  weir__resident_maker *maker = device->automatic->maker;
  if (!weir__resident_maker_has_linked(maker)) return;
  if (device->resident != NULL && weir__resident_is_busy(device)) return;
  weir__resident_linked *linked = weir__resident_maker_take(maker);
  if (linked == NULL) return;
  if (device->resident != NULL) weir__resident_stop(device); // its code goes
  if (device->resident == NULL) weir__cuda_add_path(device, &weir__cuda_resident_path);
  device->resident = weir__resident_maker_ring(maker);
  weir__resident_exchange(device, &linked->module, linked->functions, linked->count);
  weir__free(linked);
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
  set_patience(automatic, host->seed);
  automatic->most_workers = weir__resident_most_workers();
  automatic->maker = weir__resident_maker_create(device, weir__resident_make);
  device->automatic = automatic;
  if (automatic->maker == NULL)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for resident issue");
  weir__cuda_add_path(device, &weir__cuda_automatic_path);
  return weir__resident_processors(device, &automatic->processors);
}

void weir__resident_automatic_destroy(weir__cuda_device *device) {
  weir__resident_automatic *automatic = device->automatic;
  if (automatic == NULL) return;
  if (automatic->maker != NULL) {
    weir__resident_maker_stop(automatic->maker);
    if (device->resident == NULL)
      device->resident = weir__resident_maker_ring(automatic->maker); // to be destroyed with it
    bool entered = weir__cuda_enter(device) == CUDA_SUCCESS;
    weir__resident_maker_destroy(automatic->maker);
    if (entered) weir__cuda_leave(device);
  }
  weir__free(automatic);
  device->automatic = NULL;
}
