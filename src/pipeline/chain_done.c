// SPDX-License-Identifier: Apache-2.0
//
// What follows when a stage of an item is done: times, failures, the end of the item.
#include <stdio.h>

#include "engine/watch.h"
#include "pipeline/chain.h"

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

// Time of [from, to) before `until`.
static uint64_t part_until(uint64_t from, uint64_t to, uint64_t until) {
  uint64_t end = to < until ? to : until;
  return end > from ? end - from : 0;
}

// When the stage began; what it waited for before. Until it had input and room, and from the end of its item before.
static uint64_t note_start(weir_chain *chain, weir__chain_stage *stage, const weir__chain_item *item, uint32_t index,
                           const weir_event *event) {
  weir_chain_stage_statistics *statistics = &stage->statistics;
  uint64_t input_ns = index == 0 ? item->submit_ns : item->ready_ns;
  uint64_t room_ns = index + 1 < chain->stage_count ? stage[1].ends[item->number % chain->depth] : 0;
  uint64_t free_ns = statistics->end_ns;
  uint64_t start_ns = event->start_ns;
  if (start_ns == 0) start_ns = later(later(input_ns, room_ns), free_ns);
  if (start_ns > event->end_ns) start_ns = event->end_ns; // clocks of several devices
  if (free_ns != 0 && start_ns > free_ns) {
    uint64_t waited_ns = part_until(free_ns, start_ns, input_ns);
    statistics->input_ns += waited_ns;
    statistics->room_ns += part_until(free_ns + waited_ns, start_ns, room_ns);
  }
  if (statistics->start_ns == 0) statistics->start_ns = start_ns;
  return start_ns;
}

static void note_times(weir__chain_item *item, uint32_t index, weir_status status, const weir_event *event) {
  weir_chain *chain = item->chain;
  weir__chain_stage *stage = &chain->stages[index];
  bool ran = status == WEIR_OK || status == WEIR_ERROR_TASK_FAILED;
  uint64_t end_ns = event->end_ns;
  if (ran) {
    uint64_t start_ns = note_start(chain, stage, item, index, event);
    stage->statistics.busy_ns += end_ns - start_ns;
    stage->statistics.end_ns = later(stage->statistics.end_ns, end_ns);
  }
  stage->ends[item->number % chain->depth] = end_ns;
  item->ready_ns = end_ns;
}

void weir__chain_part_done(void *user, weir_status status) {
  const weir__chain_part *part = user;
  weir__chain_item *item = part->item;
  weir_chain_stage_statistics *statistics = &item->chain->stages[part->stage].statistics;
  note_times(item, part->stage, status, part->event);
  if (item->event->sync != NULL) weir__watch_pass(part->event->sync, &item->event->sync->end);
  if (status == WEIR_OK)
    statistics->done++;
  else if (status == WEIR_ERROR_UPSTREAM_FAILED || status == WEIR_ERROR_CANCELLED)
    statistics->skipped++;
  else
    statistics->failed++;
  if (status != WEIR_OK && (item->status == WEIR_OK || part->stage < item->failed_stage)) {
    const weir__chain_stage *stage = &item->chain->stages[part->stage];
    item->status = status;
    item->failed_stage = part->stage;
    snprintf(item->message, sizeof item->message, "item %llu of the chain, stage %u '%.47s': %.160s",
             (unsigned long long)item->number, part->stage, stage->label_text, part->event->message);
  }
  weir__chain_item_progress(item, 1);
}

static void unlink_item(weir_chain *chain, const weir__chain_item *item) {
  weir__chain_item *before = NULL;
  for (weir__chain_item *other = chain->first; other != item; other = other->next) before = other;
  if (before == NULL)
    chain->first = item->next;
  else
    before->next = item->next;
  if (chain->last == item) chain->last = before;
}

void weir__chain_item_progress(weir__chain_item *item, uint32_t parts) {
  weir_chain *chain = item->chain;
  item->left -= parts;
  if (item->left > 0) return;
  unlink_item(chain, item);
  chain->statistics.in_flight--;
  chain->statistics.done++;
  if (item->status != WEIR_OK) chain->statistics.failed++;
  weir__event_finish(item->event, item->status, item->message);
  item->next = chain->free_items;
  chain->free_items = item;
  if (chain->closed && chain->first == NULL) weir__chain_close(chain);
}
