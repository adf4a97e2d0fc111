// SPDX-License-Identifier: Apache-2.0
#include "check/card.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "check/table.h"
#include "engine/buffer.h"
#include "engine/copy.h"
#include "engine/submit.h"
#include "window/window.h"

enum { GROUP_BYTES = 256 * 8 * 4, MOST_GROUPS = 1024, MOST_LAUNCHES = 256, WORD_BYTES = 256 };

typedef enum outcome {
  ALL_IS_WELL, // or the task failed
  SUSPICIOUS,
} outcome;

// Tasks of the checker's own that are in flight, in order.
typedef struct launches {
  weir__checker *checker;
  weir__check_job *job;
  weir__check_bench *bench;
  weir_event *events[MOST_LAUNCHES];
  uint32_t count;
  weir_status refused; // the first one that was not submitted
  char why[WEIR__MESSAGE_BYTES];
} launches;

// Waits for all. The job has the status of the first one that failed.
static weir_status finish(launches *all) {
  weir__check_job *job = all->job;
  weir_status status = WEIR_OK;
  char message[WEIR__MESSAGE_BYTES] = "";
  if (all->count > 0) weir__event_await(all->events[all->count - 1], WEIR_FOREVER); // one sleep, not one for each
  for (uint32_t i = 0; i < all->count; i++) {
    weir_status ended = weir__check_await(job, WEIR_OK, all->events[i]);
    if (ended == WEIR_OK || status != WEIR_OK) continue;
    status = ended;
    memcpy(message, job->message, sizeof message);
  }
  if (status == WEIR_OK && all->refused != WEIR_OK) {
    status = all->refused;
    memcpy(message, all->why, sizeof message);
  }
  if (status != WEIR_OK) {
    all->bench->spoiled = true;
    job->status = status;
    memcpy(job->message, message, sizeof message);
  }
  all->count = 0;
  return status;
}

static void refuse(launches *all, weir_status status, const char *why) {
  if (all->refused != WEIR_OK) return;
  all->refused = status;
  snprintf(all->why, sizeof all->why, "%s", why);
}

static void add(launches *all, weir_status status, weir_event *event) {
  if (status != WEIR_OK) {
    refuse(all, status, weir_last_error());
    return;
  }
  all->events[all->count++] = event;
  if (all->count == MOST_LAUNCHES) {
    status = finish(all);
    if (status != WEIR_OK) refuse(all, status, all->job->message);
  }
}

static void run(launches *all, uint32_t kernel, weir_arg *args, uint32_t count, const weir__card_table *table) {
  if (all->refused != WEIR_OK) return;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < table->count; i++) bytes += table->regions[i].bytes;
  uint64_t groups = bytes / GROUP_BYTES + 1;
  args[count] = (weir_arg){.mode = WEIR_VALUE, .value = table, .bytes = sizeof *table};
  const weir_task task = {.kernel = all->checker->kernels[kernel],
                          .args = args,
                          .arg_count = count + 1,
                          .groups = {groups < MOST_GROUPS ? (uint32_t)groups : MOST_GROUPS, 1, 1},
                          .device = all->job->device,
                          .label = "check"};
  weir__submission by = weir__check_aside(all->job);
  weir_event *event = NULL;
  by.task = &task;
  weir__context_lock(all->job->context);
  weir_status status = weir__submit(all->job->context, &by, &event);
  weir__context_unlock(all->job->context);
  add(all, status, event);
}

static weir_arg range(weir_mode mode, weir_buffer *buffer, uint64_t bytes) {
  return (weir_arg){.mode = mode, .buffer = buffer, .offset = 0, .bytes = bytes};
}

static weir_arg junk_of(const launches *all) {
  return range(WEIR_READ, all->bench->junk, 2 * (uint64_t)WEIR__JUNK_BYTES);
}

// The regions from `*next` on, as many as a launch takes. False: there are none.
static bool next_table(const launches *all, uint32_t *next, weir__card_table *table) {
  const weir__check_job *job = all->job;
  table->count = 0;
  while (*next < job->region_count && table->count < WEIR__CARD_REGIONS) {
    const weir__region *region = &job->regions[(*next)++];
    table->regions[table->count++] =
        (weir__card_region){.at = weir__region_at(job, region),
                            .bytes = (uint64_t)(region->hi - region->lo),
                            .contents = (uint64_t)(uintptr_t)job->slots[region->slot].memory + (uint64_t)region->lo,
                            .kind = (weir__region_is_junk(region) ? WEIR__CARD_JUNK : 0U) |
                                    (weir__region_is_output(region) ? WEIR__CARD_OUTPUT : 0U)};
  }
  return table->count > 0;
}

static void prepare(launches *all, weir_buffer *arena, weir__card_table *table, uint32_t variant) {
  table->variant = variant;
  for (uint32_t next = 0; next_table(all, &next, table);) {
    // The first launch overwrites what a run that failed left there.
    bool first = next <= WEIR__CARD_REGIONS;
    weir_arg args[3] = {range(first ? WEIR_WRITE : WEIR_READ_WRITE, arena, all->job->arena_bytes), junk_of(all)};
    run(all, WEIR__CARD_PREPARE, args, 2, table);
  }
}

static void run_in(launches *all, weir_buffer *arena) {
  weir_event *event = NULL;
  if (all->refused == WEIR_OK) {
    weir_status status = weir__check_submit(all->job, arena, &event);
    add(all, status, event);
  }
}

static void compare(launches *all, weir_buffer *second, weir__card_table *table) {
  uint64_t bytes = all->job->arena_bytes;
  for (uint32_t next = 0; next_table(all, &next, table);) {
    weir_arg args[5] = {range(WEIR_READ, all->bench->buffer, bytes),
                        second == NULL ? junk_of(all) : range(WEIR_READ, second, bytes), junk_of(all),
                        range(WEIR_READ_WRITE, all->bench->word, WORD_BYTES)};
    run(all, WEIR__CARD_COMPARE, args, 4, table);
  }
}

static void commit(launches *all, weir__card_table *table) {
  for (uint32_t next = 0; next_table(all, &next, table);) {
    weir_arg args[3] = {range(WEIR_READ, all->bench->buffer, all->job->arena_bytes),
                        range(WEIR_READ_WRITE, all->bench->word, WORD_BYTES)};
    run(all, WEIR__CARD_COMMIT, args, 2, table);
  }
}

static weir_status make(weir__check_job *job, weir_buffer **buffer, uint64_t *bytes, uint64_t wanted) {
  if (*buffer != NULL && *bytes >= wanted) return WEIR_OK;
  if (*buffer != NULL) weir__buffer_release(*buffer);
  *buffer = NULL;
  *bytes = wanted;
  return weir__buffer_make(job->context, "check", NULL, 0, wanted, false, buffer);
}

static weir_status no_memory(weir__check_job *job) {
  job->status = WEIR_ERROR_OUT_OF_MEMORY;
  snprintf(job->message, sizeof job->message, "check mode: no memory for copies of the task's buffers");
  return job->status;
}

// Uploads the junk, and writes something to the word.
static weir_status begin(launches *all) {
  weir__check_bench *bench = all->bench;
  weir__check_job *job = all->job;
  uint64_t ignored = 0;
  if (bench->word != NULL) return WEIR_OK;
  weir_status status = make(job, &bench->junk, &ignored, 2 * (uint64_t)WEIR__JUNK_BYTES);
  if (status == WEIR_OK) status = make(job, &bench->word, &ignored, WORD_BYTES);
  if (status == WEIR_OK && bench->pinned == NULL)
    bench->pinned = weir__check_host_memory(job->device, 2 * (uint64_t)WEIR__JUNK_BYTES);
  if (status != WEIR_OK || bench->pinned == NULL) {
    bench->spoiled = true;
    return no_memory(job);
  }
  memcpy(bench->pinned, all->checker->junk.bytes, 2 * (size_t)WEIR__JUNK_BYTES);
  weir__submission by = weir__check_aside(job);
  weir_event *event = NULL;
  status = weir__copy_in(&by, bench->junk, 0, 2 * (uint64_t)WEIR__JUNK_BYTES, bench->pinned, &event);
  add(all, status, event);
  status = weir__copy_in(&by, bench->word, 0, WORD_BYTES, bench->pinned, &event);
  add(all, status, event);
  return finish(all);
}

static uint64_t room_for(const weir__check_job *job) {
  return job->arena_bytes + job->arena_bytes / 4;
}

static weir_status make_arena(weir__check_job *job, weir_buffer **buffer, uint64_t *bytes) {
  if (make(job, buffer, bytes, *bytes >= job->arena_bytes ? job->arena_bytes : room_for(job)) == WEIR_OK)
    return WEIR_OK;
  *bytes = 0;
  return no_memory(job);
}

// All on the card. Where it has no memory for the second arena, as if something was suspicious: the other way needs one.
static outcome run_on_card(launches *all, bool twice, weir__card_table *table) {
  weir__check_job *job = all->job;
  weir__check_bench *bench = all->bench;
  if (twice && make_arena(job, &bench->second, &bench->second_bytes) != WEIR_OK) return ALL_IS_WELL;
  table->runs = twice ? 2 : 1;
  table->token = ++all->checker->token;
  prepare(all, bench->buffer, table, 0);
  run_in(all, bench->buffer);
  if (twice) {
    prepare(all, bench->second, table, 1);
    run_in(all, bench->second);
  }
  compare(all, twice ? bench->second : NULL, table);
  commit(all, table);
  uint32_t word = 0;
  if (all->refused == WEIR_OK) {
    weir__submission by = weir__check_aside(job);
    weir_event *event = NULL;
    weir_status status = weir__copy_out(&by, bench->word, 0, sizeof word, bench->pinned, &event);
    add(all, status, event);
  }
  bool short_of_memory = twice && all->refused == WEIR_ERROR_OUT_OF_MEMORY;
  if (finish(all) == WEIR_OK) {
    memcpy(&word, bench->pinned, sizeof word);
    return word == table->token ? SUSPICIOUS : ALL_IS_WELL;
  }
  if (!short_of_memory) return ALL_IS_WELL;
  job->status = WEIR_OK;
  job->message[0] = '\0';
  all->refused = WEIR_OK;
  return SUSPICIOUS;
}

// Brings the contents of all buffers to the host.
static weir_status fetch(launches *all, unsigned char *memory, weir__card_table *table) {
  weir__check_job *job = all->job;
  weir_event *event = NULL;
  for (uint32_t first = 0; first < job->slot_count;) {
    table->count = 0;
    bool overwrites = first == 0;
    for (; first < job->slot_count && table->count < WEIR__CARD_REGIONS; first++) {
      const weir__check_slot *slot = &job->slots[first];
      table->regions[table->count++] = (weir__card_region){
          .at = slot->at, .bytes = slot->buffer->bytes, .contents = (uint64_t)(uintptr_t)slot->memory};
    }
    weir_arg args[3] = {range(overwrites ? WEIR_WRITE : WEIR_READ_WRITE, all->bench->buffer, job->arena_bytes),
                        junk_of(all)};
    run(all, WEIR__CARD_PREPARE, args, 2, table);
  }
  if (all->refused == WEIR_OK) {
    weir__submission by = weir__check_aside(job);
    weir_status status = weir__copy_out(&by, all->bench->buffer, 0, job->arena_bytes, memory, &event);
    add(all, status, event);
  }
  return finish(all);
}

// Takes the results from the host's copies to the buffers.
static void deliver(launches *all, const unsigned char *memory, weir__card_table *table) {
  weir__check_job *job = all->job;
  weir_event *event = NULL;
  weir__submission by = weir__check_aside(job);
  weir_status before = job->status, status;
  char message[WEIR__MESSAGE_BYTES];
  memcpy(message, job->message, sizeof message);
  status = weir__copy_in(&by, all->bench->buffer, 0, job->arena_bytes, memory, &event);
  add(all, status, event);
  table->token = ++all->checker->token; // so the word is another one
  commit(all, table);
  if (finish(all) != WEIR_OK || before == WEIR_OK) return;
  job->status = before;
  memcpy(job->message, message, sizeof message);
}

// As for any other device, on the host.
static void look_closely(launches *all, weir__card_table *table) {
  weir__check_job *job = all->job;
  const weir__check_arena *staging = weir__check_arena_of(all->checker, job, WEIR__CHECK_ARENAS - 1);
  if (staging == NULL) return;
  unsigned char *memory = staging->memory;
  if (begin(all) == WEIR_OK && fetch(all, memory, table) == WEIR_OK) {
    void *card[WEIR_MAX_ARGS];
    for (uint32_t i = 0; i < job->slot_count; i++) {
      card[i] = job->slots[i].memory;
      job->slots[i].memory = memory + job->slots[i].at;
    }
    bool done = weir__check_run_and_look(all->checker, job);
    for (uint32_t i = 0; i < job->slot_count; i++) job->slots[i].memory = card[i];
    if (done) deliver(all, memory, table);
  }
}

void weir__check_on_card(weir__checker *checker, weir__check_job *job) {
  weir__card_table table = {.shift = 0};
  launches all = {.checker = checker, .job = job, .bench = &checker->benches[job->device->index]};
  // Two of prepare and one each of compare and commit for so many regions, and few others.
  bool fits = job->region_count / WEIR__CARD_REGIONS < MOST_LAUNCHES / 8;
  if (all.bench->spoiled) weir__check_free_bench(job->device, all.bench);
  if (make_arena(job, &all.bench->buffer, &all.bench->bytes) != WEIR_OK || begin(&all) != WEIR_OK) return;
  weir__check_written(job);
  checker->junk.shift += 8 * 1021;
  table.shift = checker->junk.shift % WEIR__JUNK_BYTES;
  if (!weir__check_has_room(job)) return;
  weir_status found = job->status;
  job->status = WEIR_OK;
  char message[WEIR__MESSAGE_BYTES];
  memcpy(message, job->message, sizeof message);
  outcome ended = fits ? run_on_card(&all, weir__check_has_junk(job), &table) : SUSPICIOUS;
  if (found != WEIR_OK) { // a finding that came first stays the task's
    job->status = found;
    memcpy(job->message, message, sizeof message);
  }
  if (ended == SUSPICIOUS) look_closely(&all, &table);
}

void weir__check_free_card(weir_device *device, weir__check_bench *bench) {
  weir__check_free_host_memory(device, bench->pinned);
  if (bench->second != NULL) weir__buffer_release(bench->second);
  if (bench->junk != NULL) weir__buffer_release(bench->junk);
  if (bench->word != NULL) weir__buffer_release(bench->word);
}

void weir__check_use_cards(weir_device *device, weir_kernel *const kernels[WEIR__CARD_KERNELS]) {
  static const char *const names[WEIR__CARD_KERNELS] = {"weir__check_prepare", "weir__check_compare",
                                                        "weir__check_commit"};
  weir__checker *checker = (weir__checker *)device;
  weir_context *context = weir__context_of(device->host);
  weir_status (*code)(weir_kernel *, const char *) = NULL;
  for (uint32_t i = 0; i < device->host->device_count; i++) {
    const weir_device *card = device->host->devices[i];
    if (card->ops->check_code == NULL) continue;
    for (int k = 0; code == NULL && k < WEIR__CARD_KERNELS; k++) {
      if (card->ops->check_code(kernels[k], names[k]) == WEIR_OK) continue;
      fprintf(stderr, "weir: check mode: on %s the host fills and compares copies, which takes long: %s\n", card->name,
              weir_last_error());
      return;
    }
    code = card->ops->check_code;
    context->devices.checked_on_card |= (uint64_t)1 << i;
  }
  for (int k = 0; k < WEIR__CARD_KERNELS; k++) checker->kernels[k] = kernels[k];
}
