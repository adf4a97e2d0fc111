// SPDX-License-Identifier: Apache-2.0
//
// The ring: its memory, and how tasks get into it and out of it.
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/resident/resident.h"

// The number of the first task, and so all numbers and positions, may be any: a context's seed, for tests, has them wrap soon.
static uint32_t first_number(const weir__host *host) {
  return host->seed == 0 ? 1 : 0 - (uint32_t)(host->seed % (3 * WEIR__R_SLOTS));
}

// As if every task before the first number had been published, done and reported.
static void set_numbers(weir__r_host *host, weir__r_card *card, uint32_t first) {
  uint32_t before = first - 1;
  for (uint32_t i = 0; i < WEIR__R_SLOTS; i++) {
    card->done[(before - i) % WEIR__R_SLOTS].word = weir__r_done_word(before - i);
    host->done[(before - i - 1) % WEIR__R_SLOTS] = (uint64_t)(before - i) << 32;
  }
  host->tail = card->fetched = card->finished = before;
  card->claimed = card->verified = before;
  for (uint32_t i = 0; i < WEIR__R_COPIES; i++) card->handed[i].both = (uint64_t)before << 32 | before;
  for (uint32_t i = 0; i < WEIR__R_SEGMENTS; i++) {
    card->segments[i] = (uint64_t)before << 32;
    card->numbers[i] = before;
  }
}

static CUresult allocate(weir__resident *resident) {
  const weir__cuda_driver *driver = resident->device->driver;
  void *host = NULL;
  if (!weir__allocate_permit()) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result =
      driver->cuMemHostAlloc(&host, sizeof *resident->host, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (result == CUDA_SUCCESS) resident->host = host;
  if (result == CUDA_SUCCESS) result = driver->cuMemAlloc(&resident->card, sizeof(weir__r_card));
  if (result == CUDA_SUCCESS) result = driver->cuStreamCreateWithPriority(&resident->stream, CU_STREAM_NON_BLOCKING, 0);
  return result;
}

static CUresult initialize(weir__resident *resident, weir__r_card *card) {
  const weir__cuda_driver *driver = resident->device->driver;
  uint32_t first = first_number(resident->device->base.device.host);
  memset(resident->host, 0, sizeof *resident->host);
  set_numbers(resident->host, card, first);
  resident->written = resident->published = resident->reported = first - 1;
  CUresult result = driver->cuMemcpyAsync(resident->card, (CUdeviceptr)(uintptr_t)card, sizeof *card, resident->stream);
  return result == CUDA_SUCCESS ? driver->cuStreamSynchronize(resident->stream) : result;
}

weir_status weir__resident_ring_create(weir__resident *resident) {
  weir__cuda_device *device = resident->device;
  weir__r_card *card = weir__allocate_zeroed(sizeof *card);
  if (card == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for resident issue");
  CUresult result = weir__cuda_enter(device);
  if (result == CUDA_SUCCESS) {
    result = allocate(resident);
    if (result == CUDA_SUCCESS) result = initialize(resident, card);
    weir__cuda_leave(device);
  }
  weir__free(card);
  return weir__cuda_error(device->driver, result, "device cuda: memory for resident issue");
}

void weir__resident_ring_destroy(weir__resident *resident) {
  const weir__cuda_driver *driver = resident->device->driver;
  if (resident->stream != NULL) driver->cuStreamDestroy(resident->stream);
  if (resident->card != 0) driver->cuMemFree(resident->card);
  if (resident->host != NULL) driver->cuMemFreeHost(resident->host);
}

// How many tasks of the ring a task with so many predecessors takes: one, and those that join what does not fit into it.
static uint32_t tasks_for(uint32_t edges) {
  uint32_t count = 1;
  for (; edges > WEIR__R_EDGES; edges -= WEIR__R_EDGES - 1) count++;
  return count;
}

static bool has_room(const weir__resident *resident, uint32_t count) {
  for (uint32_t i = 1; i <= count; i++) {
    if (resident->flight[(resident->written + i) % WEIR__R_SLOTS].used) return false;
  }
  return count <= WEIR__R_SLOTS;
}

// The next task of the ring, which runs nothing yet.
static weir__r_task *begin(weir__resident *resident) {
  uint32_t number = ++resident->written;
  weir__r_task *entry = &resident->host->ring[number % WEIR__R_SLOTS];
  entry->function = 0;
  entry->number = number;
  entry->units = 1;
  for (int i = 0; i < 3; i++) entry->groups[i] = 1;
  entry->timed = 0;
  entry->per_entry = 1;
  entry->edge_count = 0;
  resident->flight[number % WEIR__R_SLOTS] = (weir__resident_flight){.number = number, .used = true};
  resident->in_flight++;
  return entry;
}

// The published ones among a task's predecessors.
static uint32_t find_edges(weir__cuda_device *device, const weir__task *task, uint32_t numbers[WEIR__R_SLOTS]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    const weir__resident_slot *slot = weir__resident_slot_of(device, task->predecessors[i]);
    if (slot->id == task->predecessors[i] && slot->state == WEIR__RESIDENT_PUBLISHED) numbers[count++] = slot->number;
  }
  return count;
}

// Lets tasks that run nothing wait for the first ones, and the last few for them.
static uint32_t join(weir__resident *resident, uint32_t *numbers, uint32_t count) {
  uint32_t first = 0, last = count;
  while (last - first > WEIR__R_EDGES) {
    weir__r_task *entry = begin(resident);
    entry->edge_count = WEIR__R_EDGES;
    memcpy(entry->edges, numbers + first, sizeof entry->edges);
    first += WEIR__R_EDGES;
    numbers[last++] = entry->number;
  }
  memmove(numbers, numbers + first, (last - first) * sizeof *numbers);
  return last - first;
}

// Each argument begins a new word.
static void write_args(weir__r_task *entry, const weir__task *task, const weir__cuda_launch *launch) {
  uint64_t word = 0;
  if (launch->value != NULL) {
    memcpy(entry->args, launch->value, launch->value_bytes);
    return;
  }
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (!weir__task_is_value(task, i)) {
      entry->args[word++] = (uintptr_t)task->args[i];
      continue;
    }
    uint64_t bytes = weir__task_value_bytes(task, i);
    memcpy(&entry->args[word], task->args[i], bytes);
    word += weir__resident_words(bytes);
  }
}

// The next task of the ring: a launch, behind the one before it.
static weir__r_task *write_launch(weir__cuda_device *device, const weir__task *task, const weir__cuda_launch *launch) {
  weir__resident *resident = device->resident;
  const uint32_t *groups = weir__resident_groups(task, launch);
  weir__r_task *entry = begin(resident);
  entry->function = resident->functions[launch->resident[device->base.device.index] - 1];
  entry->units = groups[0] * groups[1] * groups[2];
  for (int i = 0; i < 3; i++) entry->groups[i] = groups[i];
  entry->timed = resident->timed;
  uint32_t workers = weir__resident_blocks(resident) - 1;
  entry->per_entry = entry->units < workers ? 1 : entry->units / workers; // a few are left over
  entry->edge_count = 1;
  entry->edges[0] = entry->number - 1;
  write_args(entry, task, launch);
  return entry;
}

// A task's first place in the ring: its first launch, or what it copies or fills, or nothing.
static weir__r_task *write_first(weir__cuda_device *device, const weir__task *task) {
  const weir__cuda_kernel *kernel = task->code;
  if (task->move == NULL && !kernel->empty) return write_launch(device, task, &kernel->launches[0]);
  weir__r_task *entry = begin(device->resident);
  if (task->move != NULL) weir__resident_write_move(entry, task->move);
  return entry;
}

static uint32_t count_launches(const weir__task *task) {
  const weir__cuda_kernel *kernel = task->code;
  return task->move != NULL || kernel->empty ? 1 : kernel->count;
}

bool weir__resident_write(weir__cuda_device *device, weir__task *task) {
  weir__resident *resident = device->resident;
  const weir__cuda_kernel *kernel = task->code;
  uint32_t numbers[2 * WEIR__R_SLOTS];
  uint32_t edges = find_edges(device, task, numbers), launches = count_launches(task);
  if (!has_room(resident, tasks_for(edges) + launches - 1)) return false;
  if (edges > WEIR__R_EDGES) edges = join(resident, numbers, edges);
  uint32_t first = resident->written + 1;
  weir__r_task *entry = write_first(device, task);
  entry->timed = resident->timed;
  entry->edge_count = edges;
  memcpy(entry->edges, numbers, edges * sizeof *numbers);
  resident->flight[first % WEIR__R_SLOTS].first = task->id;
  for (uint32_t i = 1; i < launches; i++) (void)write_launch(device, task, &kernel->launches[i]);
  weir__resident_flight *last = &resident->flight[resident->written % WEIR__R_SLOTS];
  last->task = task;
  last->first_number = first;
  weir__resident_slot *slot = weir__resident_slot_of(device, task->id);
  slot->number = resident->written;
  slot->state = WEIR__RESIDENT_PUBLISHED;
  return true;
}

void weir__resident_publish(weir__resident *resident) {
  if (resident->published == resident->written) return;
  resident->published = resident->written;
  weir__r_publish(resident->host, resident->written);
}

static bool next_report(const weir__resident *resident, uint32_t *out_number) {
  return resident->in_flight > 0 && weir__r_is_reported(resident->host, resident->reported + 1, out_number);
}

bool weir__resident_has_report(const weir__resident *resident) {
  uint32_t number;
  return next_report(resident, &number);
}

uint32_t weir__resident_fetch(weir__resident *resident, uint32_t numbers[WEIR__RESIDENT_REPORTS]) {
  uint32_t count = 0;
  while (count < WEIR__RESIDENT_REPORTS && next_report(resident, &numbers[count])) {
    resident->reported++;
    resident->in_flight--;
    count++;
  }
  return count;
}
