// SPDX-License-Identifier: Apache-2.0
#include "check/card_launch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/buffer.h"
#include "engine/copy.h"
#include "engine/submit.h"

enum { JUNK_BYTES = 2 * WEIR__JUNK_BYTES, MORE_BYTES = WEIR__CARD_MOST_REGIONS * sizeof(weir__card_region) };
enum { SHORTEST = 8192, MOST_GROUPS = 1024 }; // stretches of so many bytes at least, but for what regions leave

static weir_arg range(weir_mode mode, weir_buffer *buffer, uint64_t bytes) {
  return (weir_arg){.mode = mode, .buffer = buffer, .offset = 0, .bytes = bytes};
}

// ---------------------------------------------------------------------------------------------------------------
// The bench

void weir__card_begin(weir__card_launches *all, weir__checker *checker, const weir__check_job *job) {
  all->checker = checker;
  all->device = job->device;
  all->bench = &checker->benches[job->device->index];
  all->count = 0;
  all->own.context = job->context;
  all->own.device = job->device;
  all->own.status = WEIR_OK;
  all->own.message[0] = '\0';
  all->refused = false;
  all->commit = UINT32_MAX;
  all->commit_ends = WEIR_ERROR_UPSTREAM_FAILED;
}

static weir_status make(const weir__check_job *job, weir_buffer **buffer, uint64_t bytes) {
  return *buffer != NULL ? WEIR_OK : weir__buffer_make(job->context, "check", bytes, buffer);
}

// The card reads and writes the record, and copies from it.
static weir_status make_buffers(weir__card_launches *all) {
  weir__check_bench *bench = all->bench;
  weir_status status = make(&all->own, &bench->junk, JUNK_BYTES);
  if (status == WEIR_OK) status = make(&all->own, &bench->more, MORE_BYTES);
  if (status == WEIR_OK && bench->pinned == NULL)
    bench->pinned = weir__check_host_memory(all->device, sizeof(weir__card_record));
  if (status == WEIR_OK && bench->pinned == NULL) status = WEIR_ERROR_OUT_OF_MEMORY;
  return status == WEIR_OK ? make(&all->own, &bench->suspicious, WEIR__CARD_WORDS_BYTES) : status;
}

static void copy_in(weir__card_launches *all, weir_buffer *to, uint64_t bytes, const void *memory);

static void no_memory(weir__check_job *job) {
  job->status = WEIR_ERROR_OUT_OF_MEMORY;
  snprintf(job->message, sizeof job->message, "check mode: no memory for copies of the task's buffers");
}

weir_status weir__card_make_bench(weir__card_launches *all) {
  weir__check_bench *bench = all->bench;
  if (bench->suspicious == NULL) {
    if (make_buffers(all) != WEIR_OK) {
      bench->spoiled = true;
      no_memory(&all->own);
      return all->own.status;
    }
    weir__card_record *record = (weir__card_record *)(void *)bench->pinned;
    memcpy(record->junk, all->checker->junk.bytes, sizeof record->junk);
    memset(record->marks, 0, sizeof record->marks);
    copy_in(all, bench->junk, sizeof record->junk, record->junk);
    copy_in(all, bench->suspicious, sizeof record->marks, record->marks);
    weir__card_finish(all);
  }
  all->regions.record = (weir__card_record *)(void *)bench->pinned;
  return all->own.status;
}

bool weir__card_make_arenas(weir__check_bench *bench, weir__check_job *job, uint64_t bytes) {
  if (bench->buffer != NULL && bench->bytes >= bytes) return true;
  uint64_t room = bytes + bytes / 4;
  if (bench->buffer != NULL) weir__buffer_release(bench->buffer);
  bench->buffer = NULL;
  bench->bytes = 0;
  if (weir__buffer_make(job->context, "check", room, &bench->buffer) != WEIR_OK) {
    no_memory(job);
    return false;
  }
  bench->bytes = room;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Regions

void weir__card_clear(weir__card_launches *all, uint64_t bytes) {
  weir__card_regions *to = &all->regions;
  uint64_t longest = bytes / MOST_GROUPS / SHORTEST * SHORTEST;
  memset(&to->table, 0, sizeof to->table); // an address that is not used may be that of memory that is none any more
  to->table.shift = all->checker->junk.shift % WEIR__JUNK_BYTES;
  to->table.marks = (uint64_t)(uintptr_t)to->record->marks;
  to->table.token = ++all->checker->token;
  to->longest = longest < SHORTEST ? SHORTEST : longest;
  to->full = false;
}

static void add(weir__card_regions *to, const weir__card_region *region) {
  uint32_t index = to->table.count;
  if (index == WEIR__CARD_MOST_REGIONS) {
    to->full = true;
    return;
  }
  if (index < WEIR__CARD_INLINE) to->table.regions[index] = *region;
  to->record->more[index] = *region;
  to->table.count++;
}

void weir__card_add(weir__card_launches *all, const weir__card_region *region) {
  uint64_t longest = all->regions.longest, end = region->at + region->bytes;
  for (uint64_t at = region->at, next; at < end; at = next) {
    weir__card_region part = *region;
    uint64_t done = at - region->at;
    next = at / longest * longest + longest;
    if (next > end) next = end;
    part.at = at;
    part.second += done;
    part.contents += done;
    part.bytes = next - at;
    add(&all->regions, &part);
  }
}

// One that is longer is cut into little more than MOST_GROUPS.
bool weir__card_has_room(const weir__card_launches *all) {
  return all->regions.table.count + MOST_GROUPS + 2 <= WEIR__CARD_MOST_REGIONS;
}

// ---------------------------------------------------------------------------------------------------------------
// Launches

// Takes over how a submission ended.
static void note(weir__card_launches *all, weir_status status, weir_event *event) {
  if (status == WEIR_OK) {
    all->events[all->count++] = event;
    return;
  }
  all->refused = true;
  all->own.status = status;
  snprintf(all->own.message, sizeof all->own.message, "%s", weir_last_error());
}

static void launch(weir__card_launches *all, uint32_t kernel, weir_arg *args, uint32_t count) {
  if (all->refused) return;
  const weir__card_table *table = &all->regions.table;
  args[count] = (weir_arg){.mode = WEIR_VALUE, .value = table, .bytes = sizeof *table};
  uint32_t groups = table->count < MOST_GROUPS ? table->count : MOST_GROUPS;
  const weir_task task = {.kernel = all->checker->kernels[kernel],
                          .args = args,
                          .arg_count = count + 1,
                          .groups = {groups > 0 ? groups : 1, 1, 1},
                          .device = all->device,
                          .label = "check"};
  weir__submission by = weir__check_aside(&all->own);
  weir_event *event = NULL;
  by.task = &task;
  weir__context_lock(all->own.context);
  weir_status status = weir__submit(all->own.context, &by, &event);
  weir__context_unlock(all->own.context);
  note(all, status, event);
}

// Regions beyond the table's, or, where there are none, anything.
static weir_arg more_of(const weir__card_launches *all) {
  uint64_t bytes = all->regions.table.count * sizeof(weir__card_region);
  return all->regions.table.count > WEIR__CARD_INLINE ? range(WEIR_READ, all->bench->more, bytes)
                                                      : range(WEIR_READ, all->bench->junk, WEIR__JUNK_BYTES);
}

static weir_arg junk_of(const weir__card_launches *all) {
  return range(WEIR_READ, all->bench->junk, 2 * (uint64_t)WEIR__JUNK_BYTES);
}

static weir_arg suspicious_of(const weir__card_launches *all, weir_mode mode) {
  return range(mode, all->bench->suspicious, WEIR__CARD_WORDS_BYTES);
}

void weir__card_upload(weir__card_launches *all) {
  uint32_t count = all->regions.table.count;
  if (count > WEIR__CARD_INLINE)
    copy_in(all, all->bench->more, count * sizeof(weir__card_region), all->regions.record->more);
}

void weir__card_prepare(weir__card_launches *all, uint64_t bytes) {
  // What a run that failed left there is overwritten.
  weir_arg args[4] = {range(WEIR_WRITE, all->bench->buffer, bytes), junk_of(all), more_of(all)};
  launch(all, WEIR__CARD_PREPARE, args, 3);
}

void weir__card_compare(weir__card_launches *all, uint64_t bytes) {
  weir_arg args[5] = {range(WEIR_READ, all->bench->buffer, bytes), junk_of(all), suspicious_of(all, WEIR_READ_WRITE),
                      more_of(all)};
  launch(all, WEIR__CARD_COMPARE, args, 4);
}

void weir__card_commit(weir__card_launches *all, uint64_t bytes) {
  weir_arg args[4] = {range(WEIR_READ, all->bench->buffer, bytes), suspicious_of(all, WEIR_READ), more_of(all)};
  uint32_t before = all->count;
  launch(all, WEIR__CARD_COMMIT, args, 3);
  if (all->count > before) all->commit = before;
}

void weir__card_run(weir__card_launches *all, weir__check_job *job, uint64_t base) {
  if (all->refused) return;
  weir_event *event = NULL;
  weir_status status = weir__check_submit(job, all->bench->buffer, base, &event);
  note(all, status, event);
}

static void copy_in(weir__card_launches *all, weir_buffer *to, uint64_t bytes, const void *memory) {
  if (all->refused) return;
  weir__submission by = weir__check_aside(&all->own);
  weir_event *event = NULL;
  weir_status status = weir__copy_in(&by, to, 0, bytes, memory, &event);
  note(all, status, event);
}

void weir__card_copy_in(weir__card_launches *all, uint64_t bytes, const void *memory) {
  copy_in(all, all->bench->buffer, bytes, memory);
}

void weir__card_copy_out(weir__card_launches *all, uint64_t bytes, void *memory) {
  if (all->refused) return;
  weir__submission by = weir__check_aside(&all->own);
  weir_event *event = NULL;
  weir_status status = weir__copy_out(&by, all->bench->buffer, 0, bytes, memory, &event);
  note(all, status, event);
}

// ---------------------------------------------------------------------------------------------------------------
// The end

static void take_ends(weir__card_launches *all) {
  weir__check_job ended = {.context = all->own.context};
  bool failed = false;
  weir__context_lock(all->own.context);
  for (uint32_t i = 0; i < all->count; i++) {
    weir_status status = weir__check_take_end(&ended, all->events[i]);
    if (i == all->commit) all->commit_ends = status;
    if (status == WEIR_OK || failed) continue;
    failed = true; // before one that was refused
    all->own.status = status;
    memcpy(all->own.message, ended.message, sizeof ended.message);
  }
  weir__context_unlock(all->own.context);
}

weir_status weir__card_finish(weir__card_launches *all) {
  for (uint32_t i = all->count; i > 0; i--) weir__event_await(all->events[i - 1], WEIR_FOREVER); // one sleep, mostly
  take_ends(all);
  all->count = 0;
  if (all->own.status != WEIR_OK) all->bench->spoiled = true;
  return all->own.status;
}

void weir__card_fail(const weir__card_launches *all, weir__check_job *job) {
  if (job->status != WEIR_OK || all->own.status == WEIR_OK) return;
  job->status = all->own.status;
  memcpy(job->message, all->own.message, sizeof job->message);
}
