// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct rig_block {
  test_rig *rig;
  pthread_t thread;
  uint32_t index;
} rig_block;

void rig_fail(const test_rig *rig, const char *text, uint64_t what) {
  fprintf(stderr, "seed %llu: not so: %s (%llu)\n", (unsigned long long)rig->options.seed, text,
          (unsigned long long)what);
  _exit(1);
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks.

// What weir__r_work of kernel.cu does.
static void work(test_rig *rig, uint32_t worker, uint32_t epoch) {
  weir__r_entry entry = weir__r_take(rig->card, worker, weir__r_claim(rig->card), epoch);
  while (entry.taken) {
    const weir__r_task *task = weir__r_task_of(rig->card, entry);
    for (uint32_t i = 0; i < weir__r_edges_of(task, entry); i++) weir__r_await(rig->card, task->edges[i]);
    weir__r_units units = weir__r_units_of(task, entry);
    weir__r_group group = {.args = task->args, .count = {task->units, 1, 1}};
    weir__r_begin(rig->host, task, units.first);
    for (group.id[0] = units.first; group.id[0] < units.end; group.id[0]++)
      if (task->function != 0) ((rig_function)(uintptr_t)task->function)(&group);
    uint32_t number = task->number, is_last = weir__r_finish(rig->card, rig->host, task);
    uint32_t position = weir__r_claim(rig->card);
    if (is_last) weir__r_report(rig->card, rig->host, number);
    entry = weir__r_take(rig->card, worker, position, epoch);
  }
}

// This thread is a lane: of the scheduler, or behind those of the fetcher.
static void be_lane(test_rig *rig, uint32_t index) {
#if RESIDENT_LANES > 1
  lane_self = (warp_lane){.warp = &rig->warps[index / RESIDENT_LANES], .index = index % RESIDENT_LANES};
#else
  (void)rig;
  (void)index;
#endif
}

static void schedule(test_rig *rig, uint32_t epoch) {
  weir__r_schedule(&rig->desk, rig->card, rig->host, epoch, rig->options.workers, rig->options.idle_ns,
                   rig->options.most_ns);
}

// Waits for a launch behind that of `epoch`. 0: there is none, the rig is destroyed.
static uint32_t await_launch(test_rig *rig, uint32_t epoch) {
  pthread_mutex_lock(&rig->lock);
  while (rig->lanes_epoch == epoch && !rig->quits) pthread_cond_wait(&rig->changed, &rig->lock);
  uint32_t launched = rig->lanes_epoch == epoch ? 0 : rig->lanes_epoch;
  pthread_mutex_unlock(&rig->lock);
  return launched;
}

static void *run_lane(void *argument) {
  rig_block *self = argument;
  test_rig *rig = self->rig;
  uint32_t index = self->index, epoch = 0;
  free(self);
  be_lane(rig, index);
  point_yields_on_card(rig->options.seed + 1000 + index, rig->options.yields_of_1000, &rig->faulted);
  while ((epoch = await_launch(rig, epoch)) != 0) {
    if (index < RESIDENT_LANES)
      schedule(rig, epoch);
    else
      weir__r_fetch(&rig->desk, rig->card, rig->host);
    __atomic_fetch_add(&rig->lanes_ended, 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

static void create_lanes(test_rig *rig) {
  for (uint32_t i = 1; i < 2 * RESIDENT_LANES; i++) {
    rig_block *lane = malloc(sizeof *lane);
    *lane = (rig_block){.rig = rig, .index = i};
    pthread_create(&rig->lanes[i - 1], NULL, run_lane, lane);
  }
}

static void end_lanes(test_rig *rig) {
  for (uint32_t i = 1; i < 2 * RESIDENT_LANES; i++) pthread_join(rig->lanes[i - 1], NULL);
}

// The block's own thread is lane 0, whatever block it is in this launch. It ends behind all others, as a block does.
static void schedule_with_lanes(test_rig *rig, uint32_t epoch) {
  be_lane(rig, 0);
  weir__r_open_desk(&rig->desk, rig->card);
  pthread_mutex_lock(&rig->lock);
  __atomic_store_n(&rig->lanes_ended, 0, __ATOMIC_RELAXED);
  rig->lanes_epoch = epoch;
  pthread_cond_broadcast(&rig->changed);
  pthread_mutex_unlock(&rig->lock);
  schedule(rig, epoch);
  while (__atomic_load_n(&rig->lanes_ended, __ATOMIC_ACQUIRE) < 2 * RESIDENT_LANES - 1) {
    point_end_if_faulted();
    sched_yield();
  }
}

static void run_block(rig_block *block, uint32_t epoch) {
  test_rig *rig = block->rig;
  while (block->index > rig->options.workers - rig->options.late && weir__r_load(&rig->card->leaving) != epoch)
    sched_yield();
  if (rig->options.places != NULL) sem_wait(rig->options.places);
  if (weir__r_arrive(rig->card))
    schedule_with_lanes(rig, epoch);
  else
    work(rig, block->index, epoch);
  weir__r_leave(rig->card, rig->host, epoch, rig->options.workers + 1);
  if (rig->options.places != NULL) sem_post(rig->options.places);
}

// The lock stands for the stream: a launch begins when the one before it has ended.
static void *block_main(void *argument) {
  rig_block *block = argument;
  test_rig *rig = block->rig;
  uint32_t epoch = 0;
  point_yields_on_card(rig->options.seed + block->index, rig->options.yields_of_1000, &rig->faulted);
  for (;;) {
    pthread_mutex_lock(&rig->lock);
    while (rig->launched == epoch && !rig->quits) pthread_cond_wait(&rig->changed, &rig->lock);
    bool quits = rig->quits;
    epoch = rig->launched;
    pthread_mutex_unlock(&rig->lock);
    if (quits) return NULL;
    run_block(block, epoch);
  }
}

void rig_create(test_rig *rig, const rig_options *options) {
  *rig = (struct test_rig){.options = *options, .published = options->base};
  pthread_mutex_init(&rig->lock, NULL);
  pthread_cond_init(&rig->changed, NULL);
  rig->card = aligned_alloc(128, (sizeof *rig->card + 127) / 128 * 128);
  rig->host = aligned_alloc(128, (sizeof *rig->host + 127) / 128 * 128);
  memset(rig->card, 0, sizeof *rig->card);
  memset(rig->host, 0, sizeof *rig->host);
  // As if `base` tasks had been.
  rig->card->fetched = rig->card->finished = rig->host->tail = options->base;
  rig->card->claimed = rig->card->verified = options->base;
  for (uint32_t i = 0; i < WEIR__R_COPIES; i++)
    rig->card->handed[i].both = (uint64_t)options->base << 32 | options->base;
  for (uint32_t i = 0; i < WEIR__R_SEGMENTS; i++) {
    rig->card->segments[i] = (uint64_t)options->base << 32;
    rig->card->numbers[i] = options->base;
  }
  for (uint32_t i = 0; i < WEIR__R_SLOTS; i++) {
    uint32_t number = options->base - i;
    if (options->base != 0) rig->card->done[number % WEIR__R_SLOTS].word = weir__r_done_word(number);
    if (options->base != 0) rig->host->done[(number - 1) % WEIR__R_SLOTS] = (uint64_t)number << 32;
  }
  point_yields(options->seed, options->yields_of_1000);
  create_lanes(rig);
  rig->blocks = calloc(options->workers + 1, sizeof *rig->blocks);
  for (uint32_t i = 0; i <= options->workers; i++) {
    rig->blocks[i] = (rig_block){.rig = rig, .index = i};
    pthread_create(&rig->blocks[i].thread, NULL, block_main, &rig->blocks[i]);
  }
}

void rig_destroy(test_rig *rig) {
  pthread_mutex_lock(&rig->lock);
  rig->quits = true;
  pthread_cond_broadcast(&rig->changed);
  pthread_mutex_unlock(&rig->lock);
  for (uint32_t i = 0; i <= rig->options.workers; i++) pthread_join(rig->blocks[i].thread, NULL);
  end_lanes(rig);
  point_yields(0, 0);
  pthread_cond_destroy(&rig->changed);
  pthread_mutex_destroy(&rig->lock);
  free(rig->blocks);
  free(rig->card);
  free(rig->host);
}

// ---------------------------------------------------------------------------------------------------------------
// The host.

weir__r_task *rig_next_slot(test_rig *rig) {
  uint32_t slot = (rig->published + 1) % WEIR__R_SLOTS;
  return rig->slot_used[slot] ? NULL : &rig->host->ring[slot];
}

void rig_wrote(test_rig *rig) {
  rig->published++;
  rig->slot_used[rig->published % WEIR__R_SLOTS] = true;
}

void rig_publish(test_rig *rig) {
  weir__r_publish(rig->host, rig->published);
}

void rig_launch(test_rig *rig) {
  pthread_mutex_lock(&rig->lock);
  rig->launched = ++rig->epoch;
  pthread_cond_broadcast(&rig->changed);
  pthread_mutex_unlock(&rig->lock);
  rig->resident = true;
}

bool rig_reported(test_rig *rig, uint32_t *out_number) {
  if (!weir__r_is_reported(rig->host, rig->options.base + rig->reported + 1, out_number)) return false;
  rig->reported++;
  RIG_CHECK(rig, rig->slot_used[*out_number % WEIR__R_SLOTS], *out_number);
  RIG_CHECK(rig, *out_number - rig->options.base - 1 < rig->published - rig->options.base, *out_number);
  rig->slot_used[*out_number % WEIR__R_SLOTS] = false;
  return true;
}

bool rig_is_resident(test_rig *rig) {
  if (rig->resident && weir__r_host_load_acquire(&rig->host->gone) == rig->epoch) rig->resident = false;
  return rig->resident;
}

void rig_stop(test_rig *rig) {
  if (rig->resident) weir__r_host_store_release(&rig->host->stop, rig->epoch);
  while (rig_is_resident(rig)) sched_yield();
}

bool rig_has_faulted(const test_rig *rig) {
  return __atomic_load_n(&rig->faulted, __ATOMIC_ACQUIRE);
}

void rig_abort(test_rig *rig) {
  weir__r_host_store_release(&rig->host->abort, 1);
  while (!rig_has_faulted(rig)) {
    if (!rig_is_resident(rig)) rig_launch(rig);
    sched_yield();
  }
}

void rig_check_at_rest(const test_rig *rig) {
  const weir__r_card *card = rig->card;
  const uint64_t handed = card->handed[0].both;
  for (uint32_t i = 1; i < WEIR__R_COPIES; i++) RIG_CHECK(rig, card->handed[i].both == handed, i);
  RIG_CHECK(rig, card->claimed == (uint32_t)(handed >> 32), card->claimed);
  RIG_CHECK(rig, (uint32_t)handed == card->fetched, handed);
  RIG_CHECK(rig, card->verified - (uint32_t)handed <= WEIR__R_SEGMENTS, card->verified);
  RIG_CHECK(rig, card->left == 0, card->left);
  RIG_CHECK(rig, card->arrived == 0, card->arrived);
  RIG_CHECK(rig, card->fetched == card->finished, card->fetched);
  RIG_CHECK(rig, rig->options.base + rig->reported == card->finished, rig->reported);
  for (uint32_t i = 0; i < WEIR__R_SLOTS; i++) {
    uint32_t number = card->fetched - i;
    if (card->fetched >= WEIR__R_SLOTS)
      RIG_CHECK(rig, card->done[number % WEIR__R_SLOTS].word == weir__r_done_word(number), number);
  }
}
