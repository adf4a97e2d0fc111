// SPDX-License-Identifier: Apache-2.0
#include "check/card_close.h"

#include "check/card_launch.h"

// Brings the contents of all buffers to the host.
static weir_status fetch(weir__card_launches *all, const weir__check_job *job, unsigned char *memory) {
  weir__card_clear(all, job->arena_bytes);
  for (uint32_t i = 0; i < job->slot_count; i++) {
    const weir__check_slot *slot = &job->slots[i];
    weir__card_add(all, &(weir__card_region){.at = slot->at,
                                             .second = slot->at,
                                             .bytes = slot->buffer->bytes,
                                             .contents = (uint64_t)(uintptr_t)slot->memory});
  }
  weir__card_upload(all);
  weir__card_prepare(all, job->arena_bytes);
  weir__card_copy_out(all, job->arena_bytes, memory);
  return weir__card_finish(all);
}

static void add_output(weir__card_launches *all, const weir__check_job *job, const weir__region *region) {
  uint64_t at = weir__region_at(job, region);
  weir__card_add(
      all, &(weir__card_region){.at = at,
                                .second = at,
                                .bytes = (uint64_t)(region->hi - region->lo),
                                .contents = (uint64_t)(uintptr_t)job->slots[region->slot].memory + (uint64_t)region->lo,
                                .kind = WEIR__CARD_OUTPUT});
}

// Takes the results from the host's copies to the buffers.
static void deliver(weir__card_launches *all, const weir__check_job *job, const unsigned char *memory) {
  weir__card_copy_in(all, job->arena_bytes, memory);
  for (uint32_t next = 0; next < job->region_count && weir__card_finish(all) == WEIR_OK;) {
    weir__card_clear(all, job->arena_bytes); // its token is another one, so nothing is suspicious
    for (; next < job->region_count && weir__card_has_room(all); next++)
      if (weir__region_is_output(&job->regions[next])) add_output(all, job, &job->regions[next]);
    weir__card_upload(all);
    weir__card_commit(all, job->arena_bytes);
  }
  weir__card_finish(all);
}

void weir__card_look_closely(weir__checker *checker, weir__check_job *job) {
  weir__card_launches all;
  const weir__check_arena *staging = weir__check_arena_of(checker, job, WEIR__CHECK_ARENAS - 1);
  if (staging == NULL) return;
  unsigned char *memory = staging->memory;
  weir__card_begin(&all, checker, job);
  if (weir__card_make_bench(&all) == WEIR_OK && fetch(&all, job, memory) == WEIR_OK) {
    void *card[WEIR_MAX_ARGS];
    for (uint32_t i = 0; i < job->slot_count; i++) {
      card[i] = job->slots[i].memory;
      job->slots[i].memory = memory + job->slots[i].at;
    }
    bool done = weir__check_run_and_look(checker, job);
    for (uint32_t i = 0; i < job->slot_count; i++) job->slots[i].memory = card[i];
    if (done) deliver(&all, job, memory);
  }
  weir__card_fail(&all, job);
}
