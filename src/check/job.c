// SPDX-License-Identifier: Apache-2.0
//
// The check of one task.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "check/checker.h"
#include "engine/written.h"

// Frees the arrays, whose room grows to that of the job with the most arguments.
void weir__check_free_job(weir__check_job *job) {
  weir__free(job->args);
  weir__free(job->slots);
  weir__free(job->inner);
  weir__free(job->pointers);
  weir__free(job->regions);
  *job = (weir__check_job){.args = NULL};
}

static bool make_room(weir__check_job *job, uint64_t room) {
  if (job->room >= room) return true;
  weir__check_free_job(job);
  job->args = weir__allocate(room * sizeof *job->args);
  job->slots = weir__allocate(room * sizeof *job->slots);
  job->inner = weir__allocate(room * sizeof *job->inner);
  job->pointers = weir__allocate(room * sizeof *job->pointers);
  if (job->args == NULL || job->slots == NULL || job->inner == NULL || job->pointers == NULL) {
    weir__check_free_job(job);
    return false;
  }
  job->room = room;
  return true;
}

bool weir__check_begin(weir__checker *checker, weir__check_job *job, const weir__task *task, uint32_t arg_count) {
  bool has_room = make_room(job, (uint64_t)arg_count + 1);
  job->context = weir__context_of(checker->base.host);
  job->task = task;
  job->node = NULL;
  job->number = task->id;
  job->arg_count = has_room ? arg_count : 0;
  job->findings = 0;
  job->status = WEIR_OK;
  job->message[0] = '\0';
  return has_room;
}

void weir__check_name_job(const weir__check_job *job, char text[WEIR__CHECK_NAME_BYTES]) {
  weir__context_lock(job->context);
  weir__context_describe(job->context, job->task, text);
  weir__context_unlock(job->context);
  size_t length = strlen(text);
  if (job->node != NULL)
    snprintf(text + length, WEIR__CHECK_NAME_BYTES - length, ", node %u '%s'", job->node_index,
             weir__graph_node_name(job->node));
}

void weir__check_set_buffer(weir__check_job *job, uint32_t index, weir_mode mode, weir_buffer *buffer, uint64_t lo,
                            uint64_t hi, const weir_box *box, void *pointer) {
  if (mode == WEIR_COMMUTE) mode = WEIR_READ_WRITE; // what it declares of the bytes is the same
  job->args[index] = (weir__check_arg){.mode = mode, .slot = index, .lo = lo, .hi = hi, .box = box, .pointer = pointer};
  job->slots[index].buffer = buffer; // until the slots are made
}

void weir__check_no_memory(weir__check_job *job) {
  job->status = WEIR_ERROR_OUT_OF_MEMORY;
  snprintf(job->message, sizeof job->message, "check mode: no memory");
}

void weir__check_written(weir__check_job *job) {
  weir__range gaps[16];
  uint32_t args[16], count = 0;
  weir__context_lock(job->context);
  for (uint32_t i = 0; i < job->arg_count && count < 16; i++) {
    const weir__check_arg *arg = &job->args[i];
    if (arg->mode != WEIR_READ) continue;
    uint64_t lo, hi;
    if (!weir__written_box_gap(job->slots[arg->slot].buffer, arg->lo, arg->hi, arg->box, &lo, &hi)) continue;
    gaps[count] = (weir__range){.lo = lo, .hi = hi};
    args[count++] = i;
  }
  for (uint32_t i = 0; i < job->arg_count; i++) {
    const weir__check_arg *arg = &job->args[i];
    if (arg->mode == WEIR_WRITE || arg->mode == WEIR_READ_WRITE)
      weir__written_add_box(job->slots[arg->slot].buffer, arg->lo, arg->hi, arg->box);
  }
  weir__context_unlock(job->context);
  for (uint32_t i = 0; i < count; i++) {
    weir__region region = {.slot = job->args[args[i]].slot, .arg = args[i]};
    weir__check_report(job, &region, "bytes [%llu, %llu) are read, and no task wrote them: write them first",
                       (unsigned long long)gaps[i].lo, (unsigned long long)gaps[i].hi);
  }
}

bool weir__check_has_junk(const weir__check_job *job) {
  for (uint32_t i = 0; i < job->region_count; i++) {
    if (weir__region_is_junk(&job->regions[i]) && job->regions[i].kind != WEIR__REGION_GUARD) return true;
  }
  return false;
}

static void take_results(const weir__check_job *job, const weir__check_arena *arena) {
  for (uint32_t i = 0; i < job->region_count; i++) {
    const weir__region *region = &job->regions[i];
    const weir__check_slot *slot = &job->slots[region->slot];
    if (weir__region_is_output(region) && !slot->in_place)
      memcpy(slot->memory + region->lo, arena->memory + slot->at + region->lo, (uint64_t)(region->hi - region->lo));
  }
}

bool weir__check_run_and_look(weir__checker *checker, weir__check_job *job) {
  static const weir__junk_choice one = {.variant = 0}, other = {.variant = 1};
  weir__check_arena *first = weir__check_arena_of(checker, job, 0), *second = NULL;
  if (first == NULL || weir__check_run(checker, job, first, one) != WEIR_OK) return false;
  uint32_t before = job->findings;
  weir__check_changed(checker, job, first, one);
  if (job->kernel == NULL) {
    weir__check_left_over(checker, job, first, one);
  } else if (weir__check_has_junk(job)) {
    second = weir__check_arena_of(checker, job, 1);
    if (second == NULL || weir__check_run(checker, job, second, other) != WEIR_OK) return false;
    if (job->findings == before) weir__check_changed(checker, job, second, other);
    weir__check_compare(checker, job, first, second);
  }
  take_results(job, first);
  return true;
}

void weir__check_job_run(weir__checker *checker, weir__check_job *job) {
  if (weir__check_arena_of(checker, job, 0) == NULL) return;
  weir__check_written(job);
  checker->junk.shift += 8 * 1021;
  weir__check_run_and_look(checker, job);
}
