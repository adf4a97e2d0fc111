// SPDX-License-Identifier: Apache-2.0
//
// Part of protocol.h, which includes it: the scheduler.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_SCHEDULER_H
#define WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_SCHEDULER_H

// The scheduler: all lanes of one warp.

// A task that a lane holds.
typedef struct weir__r_pending {
  uint32_t is, number, entries;
  uint32_t edges, seen, awaited; // of so many edges so many were seen to be done, and this is the next one
} weir__r_pending;

// What a lane of the scheduler keeps during a launch. But for what it holds, all lanes have the same. Each holds tasks whose number's
// remainder by the number of lanes is its own.
typedef struct weir__r_scheduler {
  uint32_t fetched, verified;   // as in weir__r_card
  uint32_t positions, segments; // that were handed out, that were written
  uint32_t pending;             // tasks, of all lanes
  uint32_t oldest;              // all tasks before it were handed out
  weir__r_pending tasks[WEIR__R_PENDING];
} weir__r_scheduler;

#define WEIR__R_ALL_LANES (WEIR__R_LANES == 32 ? 0xffffffffu : (1u << WEIR__R_LANES % 32) - 1)

WEIR__R_FUNCTION void weir__r_open(weir__r_scheduler *s, const weir__r_card *card) {
  s->fetched = card->fetched;
  s->verified = card->verified;
  s->positions = (uint32_t)(card->handed[0].both >> 32);
  s->segments = (uint32_t)card->handed[0].both;
  s->pending = 0;
  s->oldest = s->fetched + 1;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) s->tasks[k].is = 0;
  weir__r_meet();
}

// Nothing is pending.
WEIR__R_FUNCTION void weir__r_close(const weir__r_scheduler *s, weir__r_card *card) {
  if (weir__r_lane() != 0) return;
  card->fetched = s->fetched;
  card->verified = s->verified;
}

// Whether every lane could hold one more.
WEIR__R_FUNCTION uint32_t weir__r_has_room(const weir__r_scheduler *s) {
  uint32_t has = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) has = has || !s->tasks[k].is;
  return weir__r_mask(has) == WEIR__R_ALL_LANES;
}

// The lane holds a task that was copied.
WEIR__R_FUNCTION void weir__r_hold(weir__r_scheduler *s, weir__r_card *card, uint32_t number) {
  const weir__r_task *task = &card->tasks[number % WEIR__R_SLOTS];
  weir__r_pending pending = {1, number,        (task->units - 1) / weir__r_per_entry(task) + 1, task->edge_count,
                             0, task->edges[0]};
  card->entries_left[number % WEIR__R_SLOTS] = pending.entries;
  uint32_t put = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    if (put || s->tasks[k].is) continue;
    s->tasks[k] = pending;
    put = 1;
  }
}

// From the host's ring to the card's: `count` tasks behind `before`. A lane loads several chunks before it stores the first: the way over
// the bus is long.
WEIR__R_FUNCTION void weir__r_copy_batch(weir__r_card *card, const weir__r_host *host, uint32_t before,
                                         uint32_t count) {
  enum { AT_ONCE = 6 };
  const uint32_t chunks = sizeof(weir__r_task) / 16, end = count * chunks;
  for (uint32_t first = weir__r_lane(); first < end; first += AT_ONCE * WEIR__R_LANES) {
    weir__r_chunk loaded[AT_ONCE];
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = first + j * WEIR__R_LANES;
      if (i < end) loaded[j] = weir__r_load_chunk(&host->ring[(before + 1 + i / chunks) % WEIR__R_SLOTS], i % chunks);
    }
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = first + j * WEIR__R_LANES;
      uint64_t *words = (uint64_t *)&card->tasks[(before + 1 + i / chunks) % WEIR__R_SLOTS] + 2 * (i % chunks);
      if (i >= end) continue;
      words[0] = loaded[j].low;
      words[1] = loaded[j].high;
    }
  }
  weir__r_meet();
}

// Copies what is published up to `tail`, one task for each lane at most, and holds it. Returns how many tasks that were. There is room.
// What the first lane acquired when it looked holds for all.
WEIR__R_FUNCTION uint32_t weir__r_fetch(weir__r_scheduler *s, weir__r_card *card, const weir__r_host *host,
                                        uint32_t tail) {
  uint32_t count = tail - s->fetched;
  if (count > WEIR__R_LANES) count = WEIR__R_LANES;
  if (count == 0) return 0;
  weir__r_copy_batch(card, host, s->fetched, count);
  uint32_t after = (weir__r_lane() - s->fetched - 1) % WEIR__R_LANES; // the lane's task behind the first
  if (after < count) weir__r_hold(s, card, s->fetched + 1 + after);
  s->fetched += count;
  s->pending += count;
  return count;
}

// Looks whether some more of the segments that will be written next are free, ahead of need: the task that had one is done, so
// nobody looks for it there. Returns whether they were, and there may be more.
WEIR__R_FUNCTION uint32_t weir__r_verify(weir__r_scheduler *s, const weir__r_card *card) {
  const uint32_t looks = WEIR__R_LANES * WEIR__R_LOOKS;
  if (s->verified - s->segments > WEIR__R_SEGMENTS - looks) return 0;
  uint32_t first = s->verified + weir__r_lane(), numbers[WEIR__R_LOOKS], done[WEIR__R_LOOKS], all = 1;
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WEIR__R_LOOKS; i++)
    numbers[i] = card->numbers[(first + i * WEIR__R_LANES) % WEIR__R_SEGMENTS];
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WEIR__R_LOOKS; i++) done[i] = weir__r_load(&card->done[numbers[i] % WEIR__R_SLOTS]);
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WEIR__R_LOOKS; i++) all = all && (int32_t)(done[i] - numbers[i]) >= 0;
  if (weir__r_mask(all) != WEIR__R_ALL_LANES) return 0;
  weir__r_meet(); // what this lane has read another one may write
  s->verified += looks;
  return 1;
}

// What the host asks for. The first lane, which is the one that looks, faults here if that is to abort; the others have nothing.
WEIR__R_FUNCTION weir__r_signals weir__r_signals_of(const weir__r_host *host) {
  weir__r_signals signals = {0, 0, 0, 0};
  if (weir__r_lane() != 0) return signals;
  signals = weir__r_look(host);
  if (signals.abort != 0) weir__r_trap();
  return signals;
}

// Hands out `tasks` tasks with so many entries in all: those of the lanes with `is`, each of which says what it has, and how many
// tasks and entries are before it. They may have to wait for segments: for tasks that were handed out long ago, and wait for nothing
// that was not. If one of those never ends, neither does this, unless the host wants to abort.
WEIR__R_FUNCTION void weir__r_hand(weir__r_scheduler *s, weir__r_card *card, const weir__r_host *host, uint32_t is,
                                   uint32_t number, uint32_t flag, uint32_t tasks_before, uint32_t entries_before,
                                   uint32_t tasks, uint32_t entries) {
  for (uint32_t rounds = 1; s->verified - s->segments < tasks; rounds++) {
    if (weir__r_verify(s, card)) continue;
    if (rounds % WEIR__R_ROUNDS_PER_LATE_LOOK == 0) (void)weir__r_signals_of(host);
    weir__r_pause();
  }
  if (is) {
    uint32_t segment = (s->segments + tasks_before) % WEIR__R_SEGMENTS;
    card->numbers[segment] = number;
    weir__r_store_long(&card->segments[segment],
                       (uint64_t)(s->positions + entries_before) << 32 | flag | number % WEIR__R_SLOTS);
  }
  weir__r_meet();
  s->positions += entries;
  s->segments += tasks;
  s->pending -= tasks;
  for (uint32_t i = weir__r_lane(); i < WEIR__R_COPIES; i += WEIR__R_LANES)
    weir__r_store_long_release(&card->handed[i].both, (uint64_t)s->positions << 32 | s->segments);
}

// Hands out the oldest tasks that are pending, in their order, as long as they have no more entries than `spare` in all. What they wait for
// is done, or was handed out before them.
WEIR__R_FUNCTION uint32_t weir__r_hand_out_oldest(weir__r_scheduler *s, weir__r_card *card, const weir__r_host *host,
                                                  uint32_t spare) {
  const uint32_t lanes = WEIR__R_LANES, start = s->oldest % lanes, after = (weir__r_lane() - s->oldest) % lanes;
  const uint32_t number = s->oldest + after;
  uint32_t entries = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    if (s->tasks[k].is && s->tasks[k].number == number) entries = s->tasks[k].entries;
  }
  if (entries > spare) entries = spare + 1; // does not fit, nor does what is behind it
  uint32_t all, before = weir__r_sum_before(entries, &all), first = weir__r_from(before, start);
  before = weir__r_lane() >= start ? before - first : before + all - first;
  // From here on in the order of numbers: a bit for each behind the oldest.
  uint32_t pending = weir__r_mask(entries > 0), left = weir__r_mask(entries > 0 && before + entries > spare);
  pending = (pending >> start | pending << (lanes - start) % 32) & WEIR__R_ALL_LANES;
  left = (left >> start | left << (lanes - start) % 32) & WEIR__R_ALL_LANES;
  uint32_t count = left == 0 ? lanes : weir__r_lowest(left), fetched = s->fetched + 1 - s->oldest;
  uint32_t end = weir__r_from(before, (start + count) % lanes); // not asked for where all are handed out
  uint32_t taken = pending & (count == 32 ? 0xffffffffu : (1u << count) - 1), tasks = weir__r_count(taken);
  s->oldest += count < fetched ? count : fetched; // no further than what was fetched
  if (tasks == 0) return 0;
  uint32_t is = after < count && entries > 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++)
    s->tasks[k].is = s->tasks[k].is && !(is && s->tasks[k].number == number);
  weir__r_hand(s, card, host, is, number, 0, weir__r_count(taken & ((1u << after) - 1)), before, tasks,
               count == lanes ? all : end);
  return tasks;
}

// Hands out tasks whose predecessors are done, one of each lane at most. `done`: of what each awaited task's slot was seen to have.
WEIR__R_FUNCTION uint32_t weir__r_hand_out_ready(weir__r_scheduler *s, weir__r_card *card, const weir__r_host *host,
                                                 const uint32_t done[WEIR__R_PENDING]) {
  weir__r_pending ready = {0, 0, 0, 0, 0, 0};
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    weir__r_pending *pending = &s->tasks[k];
    if (!pending->is || ready.is) continue;
    if (pending->seen < pending->edges && (int32_t)(done[k] - pending->awaited) < 0) continue;
    while (pending->seen < pending->edges) { // again, now to acquire
      if ((int32_t)(weir__r_load_acquire(&card->done[pending->awaited % WEIR__R_SLOTS]) - pending->awaited) < 0) break;
      pending->seen++;
      if (pending->seen < pending->edges)
        pending->awaited = card->tasks[pending->number % WEIR__R_SLOTS].edges[pending->seen];
    }
    if (pending->seen < pending->edges) continue;
    ready = *pending;
    pending->is = 0;
  }
  uint32_t mask = weir__r_mask(ready.is), all;
  if (mask == 0) return 0;
  uint32_t before = weir__r_sum_before(ready.is ? ready.entries : 0, &all);
  uint32_t rank = weir__r_count(mask & ((1u << weir__r_lane()) - 1));
  weir__r_hand(s, card, host, ready.is, ready.number, WEIR__R_READY, rank, before, weir__r_count(mask), all);
  return weir__r_count(mask);
}

// Hands out what may be: tasks whose predecessors are done; and the oldest, while more workers are idle than are kept, which
// then wait for the predecessors themselves and so begin sooner.
WEIR__R_FUNCTION uint32_t weir__r_hand_out(weir__r_scheduler *s, weir__r_card *card, const weir__r_host *host,
                                           uint32_t workers) {
  uint32_t claimed = weir__r_load(&card->claimed), done[WEIR__R_PENDING];
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    uint32_t awaits = s->tasks[k].is && s->tasks[k].seen < s->tasks[k].edges;
    done[k] = awaits ? weir__r_load(&card->done[s->tasks[k].awaited % WEIR__R_SLOTS]) : 0;
  }
  int32_t spare = (int32_t)(weir__r_from(claimed, 0) - s->positions) - (int32_t)(workers / WEIR__R_KEPT);
  if (spare < 0) spare = 0;
  uint32_t tasks = weir__r_hand_out_oldest(s, card, host, (uint32_t)spare < 1u << 20 ? (uint32_t)spare : 1u << 20);
  return s->pending == 0 ? tasks : tasks + weir__r_hand_out_ready(s, card, host, done);
}

// Tells the host what time it is on the card. `answered` is the last one that was answered; returns what is now.
WEIR__R_FUNCTION uint32_t weir__r_answer(weir__r_host *host, uint32_t ask, uint32_t answered) {
  if (ask == answered || weir__r_lane() != 0) return ask;
  host->answer_ns = weir__r_now_ns();
  weir__r_host_store_release(&host->answer, ask);
  return ask;
}

// Waits for the first worker. 0: none has come for WEIR__R_ALONE_NS. Then others have the card, among them perhaps a launch that
// waits for the room that this one has: so it must not take in tasks, which it could not leave with.
WEIR__R_FUNCTION uint32_t weir__r_await_worker(const weir__r_card *card) {
  uint64_t start = weir__r_now_ns();
  while (weir__r_from(weir__r_load(&card->claimed) == (uint32_t)(card->handed[0].both >> 32), 0)) {
    if (weir__r_from(weir__r_now_ns() - start >= WEIR__R_ALONE_NS, 0)) return 0;
    weir__r_pause();
  }
  return 1;
}

// The scheduler's whole work in the launch `epoch`, which has so many workers. It lets all leave when nothing was published for
// `idle_ns`, when the host asks for it, and when the launch has lasted `most_ns`; always with nothing in flight. However short these
// times are, a launch answers what was asked before it and, unless no worker comes, takes in a batch of what was published before it.
// A host that wants to abort is seen from wherever it is: in a look that it does anyway, or in one of the late ones.
WEIR__R_FUNCTION void weir__r_schedule(weir__r_card *card, weir__r_host *host, uint32_t epoch, uint32_t workers,
                                       uint64_t idle_ns, uint64_t most_ns) {
  weir__r_scheduler s;
  uint32_t ends = !weir__r_await_worker(card), answered = weir__r_from(host->answer, 0);
  uint64_t start = weir__r_now_ns(), busy = start;
  weir__r_open(&s, card);
  for (uint32_t rounds = 0;; rounds++) {
    // What the first lane reads of the time, and of what others write, decides for all.
    uint64_t now = weir__r_now_ns();
    uint32_t takes = !ends && (s.pending == 0 ||
                               (rounds % WEIR__R_ROUNDS_PER_LOOK == 0 && weir__r_has_room(&s))); // what is published
    uint32_t looks = takes || s.pending == 0 || rounds % WEIR__R_ROUNDS_PER_LATE_LOOK == 0, done = 0;
    weir__r_signals signals = {0, 0, 0, 0};
    if (looks) {
      signals = weir__r_signals_of(host);
      uint32_t tail = weir__r_from(signals.tail, 0);
      weir__r_meet();
      if (takes) done = weir__r_fetch(&s, card, host, tail);
    }
    if (s.pending > 0) done += weir__r_hand_out(&s, card, host, workers);
    uint32_t idle = done == 0 && s.pending == 0 && weir__r_from(weir__r_load_acquire(&card->finished) == s.fetched, 0);
    if (idle) {
      answered = weir__r_answer(host, signals.ask, answered);
      uint32_t leaves = ends || now - busy >= idle_ns || signals.stop == epoch;
      if (weir__r_from(leaves, 0)) break;
    } else {
      busy = now;
    }
    ends = weir__r_from(ends || now - start >= most_ns, 0);
    if (done == 0 && (s.pending > 0 || !weir__r_verify(&s, card))) weir__r_pause();
  }
  weir__r_close(&s, card);
  if (weir__r_lane() == 0) weir__r_store_release(&card->leaving, epoch);
}

#endif // WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_SCHEDULER_H
