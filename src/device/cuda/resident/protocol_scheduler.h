// SPDX-License-Identifier: Apache-2.0
//
// Part of protocol.h, which includes it: the scheduler.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_SCHEDULER_H
#define WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_SCHEDULER_H

// The scheduler: all lanes of one warp.

// A task that a lane holds.
typedef struct weir__r_pending {
  uint32_t number;
  uint32_t entries; // 0: no task
  uint32_t edges;   // how many
  uint32_t awaited; // one of them that was not seen to be done
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
  const weir__r_pending none = {0, 0, 0, 0};
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) s->tasks[k] = none;
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
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) has = has || s->tasks[k].entries == 0;
  return weir__r_mask(has) == WEIR__R_ALL_LANES;
}

// The latest of the tasks that a task comes after: it is likely to be done last.
WEIR__R_FUNCTION uint32_t weir__r_latest_edge(const weir__r_task *task, uint32_t number) {
  uint32_t least = 0xffffffffu;
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WEIR__R_EDGES; i++) {
    uint32_t before = number - task->edges[i];
    if (i < task->edge_count && before < least) least = before;
  }
  return number - least;
}

// The lane holds a task that was copied.
WEIR__R_FUNCTION void weir__r_hold(weir__r_scheduler *s, weir__r_card *card, uint32_t number) {
  const weir__r_task *task = &card->tasks[number % WEIR__R_SLOTS];
  weir__r_pending pending = {number, (task->units - 1) / weir__r_per_entry(task) + 1, task->edge_count,
                             weir__r_latest_edge(task, number)};
  weir__r_store_long(&card->done[number % WEIR__R_SLOTS].word, weir__r_done_word(number) - pending.entries);
  uint32_t put = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    if (put || s->tasks[k].entries > 0) continue;
    s->tasks[k] = pending;
    put = 1;
  }
}

// Holds what the fetcher has copied up to `fetched`, one task for each lane at most. Returns how many tasks that were. There is room.
// What the first lane acquired when it looked holds for all.
WEIR__R_FUNCTION uint32_t weir__r_take_in(weir__r_scheduler *s, weir__r_card *card, uint32_t fetched) {
  uint32_t count = fetched - s->fetched;
  if (count > WEIR__R_LANES) count = WEIR__R_LANES;
  uint32_t after = (weir__r_lane() - s->fetched - 1) % WEIR__R_LANES; // the lane's task behind the first
  if (after < count) weir__r_hold(s, card, s->fetched + 1 + after);
  s->fetched += count;
  s->pending += count;
  return count;
}

// Whether the segments from `first` on are free, of which the lane looks at a few.
WEIR__R_APART uint32_t weir__r_are_free(const weir__r_card *card, uint32_t first) {
  uint32_t numbers[WEIR__R_LOOKS], all = 1;
  uint64_t done[WEIR__R_LOOKS];
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WEIR__R_LOOKS; i++)
    numbers[i] = card->numbers[(first + i * WEIR__R_LANES) % WEIR__R_SEGMENTS];
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WEIR__R_LOOKS; i++)
    done[i] = weir__r_load_long(&card->done[numbers[i] % WEIR__R_SLOTS].word);
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WEIR__R_LOOKS; i++) all = all && weir__r_is_done(done[i], numbers[i]);
  return all;
}

// Looks whether some more of the segments that will be written next are free, ahead of need: the task that had one is done, so
// nobody looks for it there. Returns whether they were, and there may be more.
WEIR__R_FUNCTION uint32_t weir__r_verify(weir__r_scheduler *s, const weir__r_card *card) {
  const uint32_t looks = WEIR__R_LANES * WEIR__R_LOOKS;
  if (s->verified - s->segments > WEIR__R_SEGMENTS - looks) return 0;
  if (weir__r_mask(weir__r_are_free(card, s->verified + weir__r_lane())) != WEIR__R_ALL_LANES) return 0;
  weir__r_meet(); // what this lane has read another one may write
  s->verified += looks;
  return 1;
}

// Hands out `tasks` tasks with so many entries in all: those of the lanes with `is`, each of which says what it has, and how many
// tasks and entries are before it. They may have to wait for segments: for tasks that were handed out long ago, and wait for nothing
// that was not.
WEIR__R_FUNCTION void weir__r_hand(weir__r_scheduler *s, weir__r_card *card, uint32_t is, uint32_t number,
                                   uint32_t flag, uint32_t tasks_before, uint32_t entries_before, uint32_t tasks,
                                   uint32_t entries) {
  while (s->verified - s->segments < tasks)
    if (!weir__r_verify(s, card)) weir__r_pause();
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

// Hands out the oldest tasks that are pending, in their order, as long as they have no more entries than `spare` in all; of one that has
// more than `most`, which no number of idle workers has, so many count. What they wait for is done, or was handed out before them.
WEIR__R_FUNCTION uint32_t weir__r_hand_out_oldest(weir__r_scheduler *s, weir__r_card *card, uint32_t spare,
                                                  uint32_t most) {
  const uint32_t lanes = WEIR__R_LANES, start = s->oldest % lanes, after = (weir__r_lane() - s->oldest) % lanes;
  const uint32_t number = s->oldest + after;
  uint32_t entries = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    if (s->tasks[k].entries > 0 && s->tasks[k].number == number) entries = s->tasks[k].entries;
  }
  uint32_t needs = entries < most ? entries : most;
  if (weir__r_from(needs > spare, start)) return 0; // as mostly: nothing of what follows is needed
  uint32_t all, before = weir__r_sum_before(entries, &all), first = weir__r_from(before, start);
  before = weir__r_lane() >= start ? before - first : before + all - first;
  // From here on in the order of numbers: a bit for each behind the oldest.
  uint32_t pending = weir__r_mask(entries > 0), left = weir__r_mask(entries > 0 && before + needs > spare);
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
    if (is && s->tasks[k].number == number) s->tasks[k].entries = 0;
  weir__r_hand(s, card, is, number, 0, weir__r_count(taken & ((1u << after) - 1)), before, tasks,
               count == lanes ? all : end);
  return tasks;
}

// Whether all that a task comes after is done; if so, this lane has acquired it. Otherwise `awaited` becomes what is not. All lanes
// call it, those with nothing to look at without entries.
WEIR__R_FUNCTION uint32_t weir__r_edges_are_done(const weir__r_card *card, weir__r_pending *pending) {
  const uint32_t *edges = card->tasks[pending->number % WEIR__R_SLOTS].edges;
  const uint32_t count = pending->entries > 0 ? pending->edges : 0;
  uint32_t are = pending->entries > 0, next = count > 0 ? edges[0] : 0;
  for (uint32_t i = 0; weir__r_mask(are && i < count); i++) {
    if (!are || i >= count) continue;
    uint32_t edge = next;
    next = i + 1 < count ? edges[i + 1] : 0; // on its way while this one is looked at
    are = weir__r_is_done(weir__r_load_long_acquire(&card->done[edge % WEIR__R_SLOTS].word), edge);
    if (!are) pending->awaited = edge;
  }
  return are;
}

// Hands out tasks whose predecessors are done, one of each lane at most. `done`: what each awaited task's slot was seen to have.
WEIR__R_FUNCTION uint32_t weir__r_hand_out_ready(weir__r_scheduler *s, weir__r_card *card,
                                                 const uint64_t done[WEIR__R_PENDING]) {
  weir__r_pending one = {0, 0, 0, 0};
  uint32_t place = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    const weir__r_pending *pending = &s->tasks[k];
    if (pending->entries == 0 || one.entries > 0 || (pending->edges > 0 && !weir__r_is_done(done[k], pending->awaited)))
      continue;
    one = *pending;
    place = k;
  }
  if (weir__r_mask(one.entries) == 0) return 0;
  uint32_t ready = weir__r_edges_are_done(card, &one);
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    if (one.entries == 0 || place != k) continue;
    if (ready) s->tasks[k].entries = 0;
    s->tasks[k].awaited = one.awaited;
  }
  uint32_t mask = weir__r_mask(ready), all;
  if (mask == 0) return 0;
  uint32_t before = weir__r_sum_before(ready ? one.entries : 0, &all);
  uint32_t rank = weir__r_count(mask & ((1u << weir__r_lane()) - 1));
  weir__r_hand(s, card, ready, one.number, WEIR__R_READY, rank, before, weir__r_count(mask), all);
  return weir__r_count(mask);
}

// Hands out what may be: tasks whose predecessors are done; and the oldest, while more workers are idle than are kept, which
// then wait for the predecessors themselves and so begin sooner.
WEIR__R_FUNCTION uint32_t weir__r_hand_out(weir__r_scheduler *s, weir__r_card *card, uint32_t workers) {
  uint32_t claimed = weir__r_load(&card->claimed), kept = workers / WEIR__R_KEPT;
  uint64_t done[WEIR__R_PENDING];
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__R_PENDING; k++) {
    uint32_t awaits = s->tasks[k].entries > 0 && s->tasks[k].edges > 0;
    done[k] = awaits ? weir__r_load_long(&card->done[s->tasks[k].awaited % WEIR__R_SLOTS].word) : 0;
  }
  int32_t spare = (int32_t)(weir__r_from(claimed, 0) - s->positions - kept);
  uint32_t tasks = weir__r_hand_out_oldest(s, card, spare < 0 ? 0 : (uint32_t)spare, workers - kept);
  return s->pending == 0 ? tasks : tasks + weir__r_hand_out_ready(s, card, done);
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

// The fetcher's news, the same for all lanes.
typedef struct weir__r_news {
  uint32_t fetched, phase;
} weir__r_news;

WEIR__R_FUNCTION weir__r_news weir__r_news_of(const weir__r_desk *desk) {
  uint64_t seen = weir__r_lane() == 0 ? weir__r_block_load_long_acquire(&desk->fetched) : 0;
  weir__r_news news = {weir__r_from((uint32_t)(seen >> 32), 0), weir__r_from((uint32_t)seen, 0)};
  weir__r_meet();
  return news;
}

WEIR__R_FUNCTION void weir__r_tell(weir__r_desk *desk, uint32_t phase) {
  if (weir__r_lane() == 0) weir__r_block_store_release(&desk->phase, phase);
}

// The scheduler's whole work in the launch `epoch`, which has so many workers. It lets all leave when nothing was published for
// `idle_ns`, when the host asks for it, and when the launch has lasted `most_ns`; always with nothing in flight. However short these
// times are, a launch answers what was asked before it and, unless no worker comes, takes in a batch of what was published before it.
WEIR__R_FUNCTION void weir__r_schedule(weir__r_desk *desk, weir__r_card *card, weir__r_host *host, uint32_t epoch,
                                       uint32_t workers, uint64_t idle_ns, uint64_t most_ns) {
  weir__r_scheduler s;
  uint32_t ends = !weir__r_await_worker(card), answered = weir__r_from(host->answer, 0);
  const uint32_t phase = ends ? WEIR__R_LOOKS_ONLY : WEIR__R_FETCHES;
  weir__r_tell(desk, phase);
  uint64_t start = weir__r_now_ns(), now = start, busy = start;
  uint32_t worked = 1; // since `busy`
  weir__r_open(&s, card);
  for (uint32_t rounds = 0;; rounds++) {
    // What the first lane reads of the time, and of what others write, decides for all.
    weir__r_news news = weir__r_news_of(desk);
    uint32_t done = 0, looked = news.phase == phase, more = !ends && news.fetched != s.fetched;
    if (more && weir__r_has_room(&s)) done = weir__r_take_in(&s, card, news.fetched);
    if (s.pending > 0) done += weir__r_hand_out(&s, card, workers);
    if (s.pending == 0 || rounds % WEIR__R_ROUNDS_PER_CLOCK == 0) now = weir__r_now_ns();
    uint32_t idle =
        looked && !more && s.pending == 0 && done == 0 && weir__r_from(weir__r_load(&card->finished) == s.fetched, 0);
    if (idle) {
      if (worked) busy = now;
      worked = 0;
      answered = weir__r_answer(host, weir__r_block_load_acquire(&desk->ask), answered);
      uint32_t leaves = ends || now - busy >= idle_ns || weir__r_block_load_acquire(&desk->stop) == epoch;
      if (weir__r_from(leaves, 0)) break;
    } else {
      worked = 1;
    }
    if (looked) ends = weir__r_from(ends || now - start >= most_ns, 0);
    if (done == 0 && (s.pending > 0 || !weir__r_verify(&s, card))) weir__r_pause();
  }
  weir__r_close(&s, card);
  if (weir__r_lane() == 0) weir__r_store_release(&card->leaving, epoch);
  weir__r_tell(desk, WEIR__R_ENDS);
}

#endif // WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_SCHEDULER_H
