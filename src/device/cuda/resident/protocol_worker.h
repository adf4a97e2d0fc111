// SPDX-License-Identifier: Apache-2.0
//
// Part of protocol.h, which includes it: a worker, and how blocks begin and leave.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_WORKER_H
#define WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_WORKER_H

// One thread of a block that begins: whether it is the launch's first. That block is the scheduler, whichever it is; the others
// are workers.
WEIR__R_FUNCTION uint32_t weir__r_arrive(weir__r_card *card) {
  return weir__r_add(&card->arrived, 1) == 0;
}

// A worker: a block, one thread of it for what follows unless it says otherwise.

// Claims a position.
WEIR__R_FUNCTION uint32_t weir__r_claim(weir__r_card *card) {
  return weir__r_add_relaxed(&card->claimed, 1);
}

// What a worker has taken.
typedef struct weir__r_entry {
  uint32_t taken; // 0: nothing
  uint32_t slot;  // of the task, and WEIR__R_READY
  uint32_t index; // among the task's entries
} weir__r_entry;

// Looks up a position that was handed out: the last segment that does not begin behind it. Its task is not done; so that segment is
// there, and those behind it are. Those before it may have been written again since `handed` was read: they begin where nothing had
// been handed out then.
WEIR__R_FUNCTION weir__r_entry weir__r_find(const weir__r_card *card, uint32_t position, uint64_t handed) {
  const uint32_t count = (uint32_t)handed, end = (uint32_t)(handed >> 32);
  uint32_t behind = count, low = count - 1, step = 1;
  uint64_t segment;
  for (;;) {
    uint64_t seen = weir__r_load_long(&card->segments[low % WEIR__R_SEGMENTS]);
    if ((uint32_t)(seen >> 32) - position - 1 < end - position - 1) {
      behind = low;
      low -= step;
      step *= 2;
      if (count - low > WEIR__R_SEGMENTS) low = count - WEIR__R_SEGMENTS;
    } else {
      segment = seen;
      break;
    }
  }
  while (behind - low > 1) {
    uint32_t middle = low + (behind - low) / 2;
    uint64_t seen = weir__r_load_long(&card->segments[middle % WEIR__R_SEGMENTS]);
    if ((uint32_t)(seen >> 32) - position - 1 < end - position - 1) {
      behind = middle;
    } else {
      low = middle;
      segment = seen;
    }
  }
  weir__r_entry entry = {1, (uint32_t)segment, position - (uint32_t)(segment >> 32)};
  return entry;
}

// Waits until a position was handed out. Nothing is taken where the launch `epoch` leaves. `worker`: any number, its own.
WEIR__R_FUNCTION weir__r_entry weir__r_take(const weir__r_card *card, uint32_t worker, uint32_t position,
                                            uint32_t epoch) {
  const weir__r_entry nothing = {0, 0, 0};
  const uint64_t *handed = &card->handed[worker % WEIR__R_COPIES].both;
  uint64_t seen = weir__r_load_long_acquire(handed);
  while ((int32_t)((uint32_t)(seen >> 32) - position) <= 0) {
    if (weir__r_load(&card->leaving) == epoch) return nothing;
    weir__r_pause();
    seen = weir__r_load_long_acquire(handed);
  }
  return weir__r_find(card, position, seen);
}

WEIR__R_FUNCTION const weir__r_task *weir__r_task_of(const weir__r_card *card, weir__r_entry entry) {
  return &card->tasks[entry.slot & ~WEIR__R_READY];
}

// How many predecessors of its task a worker has to await.
WEIR__R_FUNCTION uint32_t weir__r_edges_of(const weir__r_task *task, weir__r_entry entry) {
  return entry.slot & WEIR__R_READY ? 0 : task->edge_count;
}

// The units that an entry stands for: from `first` to before `end`.
typedef struct weir__r_units {
  uint32_t first, end;
} weir__r_units;

WEIR__R_FUNCTION weir__r_units weir__r_units_of(const weir__r_task *task, weir__r_entry entry) {
  uint32_t per_entry = weir__r_per_entry(task), first = entry.index * per_entry;
  weir__r_units units = {first, task->units - first > per_entry ? first + per_entry : task->units};
  return units;
}

// How many bytes a unit of a move has, which begin at unit * WEIR__R_MOVE_BYTES.
WEIR__R_FUNCTION uint32_t weir__r_move_bytes(const uint64_t *args, uint32_t unit) {
  uint64_t left = args[WEIR__R_MOVE_COUNT] - (uint64_t)unit * WEIR__R_MOVE_BYTES;
  return left < WEIR__R_MOVE_BYTES ? (uint32_t)left : WEIR__R_MOVE_BYTES;
}

// Waits until an earlier task is done. Any thread of the block; those behind a barrier of the block see what the task wrote.
WEIR__R_FUNCTION void weir__r_await(const weir__r_card *card, uint32_t number) {
  const uint64_t *done = &card->done[number % WEIR__R_SLOTS].word;
  while (!weir__r_is_done(weir__r_load_long_acquire(done), number)) weir__r_pause();
}

// Units of the task begin with this one. All that it comes after was awaited. The host has the time before the task counts as done:
// where a task has several launches, it looks at the first one's when the last one is reported.
WEIR__R_FUNCTION void weir__r_begin(weir__r_host *host, const weir__r_task *task, uint32_t unit) {
  if (task->timed && unit == 0) host->times[task->number % WEIR__R_SLOTS].start_ns = weir__r_now_ns();
}

// The units of an entry are finished: all threads of the block have passed a barrier behind them. Returns whether they were the
// task's last. Then it is done; the worker claims its next position, and reports the task before it waits there.
WEIR__R_FUNCTION uint32_t weir__r_finish(weir__r_card *card, weir__r_host *host, const weir__r_task *task) {
  uint32_t number = task->number, slot = number % WEIR__R_SLOTS;
  uint64_t done = weir__r_done_word(number);
  // Before the task counts as done: none that comes after it begins earlier. Clocks go on, so what is there is no later.
  if (task->timed) weir__r_max_long(&card->ended_ns[slot], weir__r_now_ns());
  if (task->units <= weir__r_per_entry(task))
    weir__r_store_long_release(&card->done[slot].word, done);
  else if (weir__r_add_long(&card->done[slot].word, 1) + 1 != done)
    return 0;
  if (task->timed) host->times[slot].end_ns = weir__r_load_long(&card->ended_ns[slot]);
  return 1;
}

WEIR__R_FUNCTION void weir__r_report(weir__r_card *card, weir__r_host *host, uint32_t number) {
  uint32_t position = weir__r_add_relaxed(&card->finished, 1);
  weir__r_host_store_done(&host->done[position % WEIR__R_SLOTS], (uint64_t)(position + 1) << 32 | number);
}

// A block of the launch leaves; the last of them leaves all in order for the next launch, and tells the host.
WEIR__R_FUNCTION void weir__r_leave(weir__r_card *card, weir__r_host *host, uint32_t epoch, uint32_t blocks) {
  if (weir__r_add(&card->left, 1) != blocks - 1) return;
  card->left = 0;
  card->arrived = 0;
  card->claimed = (uint32_t)(card->handed[0].both >> 32);
  weir__r_host_store_release(&host->gone, epoch);
}

#endif // WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_WORKER_H
