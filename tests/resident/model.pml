// SPDX-License-Identifier: Apache-2.0
//
// A model of src/device/cuda/resident/protocol.h for spin: a host, and blocks of which the first to begin is the scheduler, with its
// fetcher, and the others are workers. Each step is one access to what is shared; spin tries all orders of steps (sequential consistency:
// memory orders are not modelled). test_model.py builds it in several sizes, and with planted mistakes (MISTAKE_...), each of
// which must be found.
//
// Time is a choice: the scheduler may leave whenever the protocol lets it, at once or never, and may hand out the oldest task that
// it holds at any time or never, however many workers are idle. A worker looks its position up by reading segments in any order that
// leads to it; bisection is one. The host stops the last launch, and all must be at rest behind it.
//
// A host that aborts is not in it: the launch ends by a fault in the middle of any step, and no step of anybody's follows.

#ifndef CONTEXTS
#define CONTEXTS 1 // on one card
#endif
#ifndef PLACES
#define PLACES 9 // of the card, for blocks
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef SEGMENTS
#define SEGMENTS 2 // 1 to 4, and at least BATCH
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LANES
#define LANES 1 // 1 or 2
#endif
#ifndef BATCH
#define BATCH 2 // tasks that are copied at once, and handed out at once
#endif
#ifndef HELD
#define HELD 3 // tasks that there is room for
#endif
#ifndef TASKS
#define TASKS 3
#endif
#ifndef ALONE
#define ALONE 9 // launches that leave because no worker has come, though there is a place for one; 9: any number
#endif
#ifndef PER_ENTRY
#define PER_ENTRY 1 // units that an entry stands for
#endif
#ifndef VERIFIES
#define VERIFIES 0 // 1: the scheduler looks ahead for segments that are free
#endif
#ifndef LOOKS_AT_ONCE
#define LOOKS_AT_ONCE 0 // 1: what the fetcher sees the scheduler sees in the same step, which makes fewer states
#endif
#ifndef ASKS
#define ASKS 0 // 1: the host asks for the time, once
#endif

// Task n has UNITS(n) units and comes after FIRST(n) and SECOND(n), 0: none.
#ifndef DAG
#define DAG 0
#endif
#ifdef ONE_UNIT
#define UNITS(n) 1
#else
#define UNITS(n) (PER_ENTRY + (n) % 2)
#endif
#define ALL_ENTRIES(n) ((UNITS(n) + PER_ENTRY - 1) / PER_ENTRY)
#if DAG == 0 // a chain
#define FIRST(n) ((n) - 1)
#define SECOND(n) 0
#elif DAG == 1 // nothing comes after anything
#define FIRST(n) 0
#define SECOND(n) 0
#elif DAG == 2 // 2 and 3 come after 1, 4 after both
#define FIRST(n) ((n) == 1 -> 0 : ((n) == 4 -> 3 : 1))
#define SECOND(n) ((n) == 4 -> 2 : 0)
#else // 2 comes after 1, and what is behind them after nothing
#define FIRST(n) ((n) == 2 -> 1 : 0)
#define SECOND(n) 0
#endif
#define ALL(n) ((1 << UNITS(n)) - 1)

typedef context {
  // The host's memory.
  byte tail;
  bool ask;
  byte stop;
  byte gone;
  bool answer;
  byte ring[SLOTS]; // the task's number stands for all of the task
  byte place_count[SLOTS];
  byte place_number[SLOTS];
  // The card's.
  byte claimed;
  byte handed_positions; // one word
  byte handed_segments;
  byte finished;
  byte arrived;
  byte leaving;
  byte left;
  byte done[SLOTS];
  byte entries_left[SLOTS];
  byte tasks[SLOTS];
  byte segment_first[SEGMENTS]; // one word
  byte segment_slot[SEGMENTS];
  bit segment_ready[SEGMENTS];
  // The block's of the scheduler and the fetcher.
  byte phase;
  byte copied; // one word
  byte looked;
  bool desk_ask;
  bool fetching; // the fetcher is at work
  // The scheduler's alone.
  byte fetched;
  byte positions;
  byte segments;
  byte verified;
  byte numbers[SEGMENTS];
  // Not in the protocol: what has happened.
  byte begins[TASKS + 1]; // the task's first position + 1
  byte ran[TASKS + 1];    // a bit for each unit
  byte reports[TASKS + 1];
  byte launched;
  byte consumed;
  byte published;
  byte alone;
  bool over;
};
context c[CONTEXTS];
byte room = PLACES;

#define SLOT(number) ((number) % SLOTS)
#define NEXT(epoch) ((epoch) % 3 + 1)
#define IS_DONE(number) (c[x].done[SLOT(number)] >= (number))
#define IS_READY(number) ((FIRST(number) == 0 || IS_DONE(FIRST(number))) && (SECOND(number) == 0 || IS_DONE(SECOND(number))))

// ---------------------------------------------------------------------------------------------------------------
// A worker.

inline claim() {
  atomic { position = c[x].claimed; c[x].claimed = c[x].claimed + 1 }
}

// The segment this far back from the last one that was written.
#define AT(back) ((total + SEGMENTS - (back)) % SEGMENTS)
#ifdef MISTAKE_OVERWRITTEN_ARE_BEHIND
#define IS_BEHIND(back) (c[x].segment_first[AT(back)] > position)
#else
#define IS_BEHIND(back) (c[x].segment_first[AT(back)] > position && c[x].segment_first[AT(back)] < end)
#endif

inline look_at(back) {
  d_step {
    if
    :: IS_BEHIND(back) -> behind = back
    :: else ->
      before = back;
      unit = position - c[x].segment_first[AT(back)];
      slot = c[x].segment_slot[AT(back)];
      ready = c[x].segment_ready[AT(back)]
    fi
  }
}

// All that are no further back than `behind` begin behind the position; the one that is `before` back does not.
inline find() {
  do
  :: behind + 1 < before -> if
    :: behind < 1 && 1 < before -> look_at(1)
#if SEGMENTS > 1
    :: behind < 2 && 2 < before -> look_at(2)
#endif
#if SEGMENTS > 2
    :: behind < 3 && 3 < before -> look_at(3)
#endif
#if SEGMENTS > 3
    :: behind < 4 && 4 < before -> look_at(4)
#endif
    fi
  :: else -> break
  od;
  atomic {
    assert(before <= SEGMENTS);
    number = c[x].tasks[slot]; // the worker copies the task
    assert(number != 0 && SLOT(number) == slot);
    assert(c[x].begins[number] == position - unit + 1 && unit < ALL_ENTRIES(number));
    behind = 0;
    before = 0;
    end = 0;
    total = 0
  }
}

// number 0 behind it: the launch leaves.
inline take() {
  do
#if defined(MISTAKE_SEGMENTS_ARE_READ_LATER)
  :: atomic { c[x].handed_positions > position -> end = c[x].handed_positions }
    atomic { total = c[x].handed_segments; before = SEGMENTS + 1 }
#elif defined(MISTAKE_POSITIONS_ARE_READ_LATER)
  :: atomic { c[x].handed_positions > position -> total = c[x].handed_segments }
    atomic { end = c[x].handed_positions; before = SEGMENTS + 1 }
#else
  :: atomic { // what it saw when it looked before does not matter
      c[x].handed_positions > position -> end = c[x].handed_positions;
      total = c[x].handed_segments;
      before = SEGMENTS + 1
    }
#endif
    find();
    break
  :: c[x].handed_positions <= position ->
    // It looks again and again, which is left out while it would see the same.
    c[x].handed_positions > position || c[x].leaving == epoch;
    if
    :: c[x].leaving == epoch -> break
    :: else
    fi
  od;
  position = 0
}

inline await_edges() {
  if
  :: !ready && FIRST(number) != 0 -> IS_DONE(FIRST(number))
  :: else
  fi;
  if
  :: !ready && SECOND(number) != 0 -> IS_DONE(SECOND(number))
  :: else
  fi
}

inline run_unit() {
  d_step {
    assert(c[x].tasks[slot] == number);
    assert(FIRST(number) == 0 || c[x].ran[FIRST(number)] == ALL(FIRST(number)));
    assert(SECOND(number) == 0 || c[x].ran[SECOND(number)] == ALL(SECOND(number)));
    assert((c[x].ran[number] & (1 << unit)) == 0);
    c[x].ran[number] = c[x].ran[number] | (1 << unit);
    unit = unit + 1
  }
}

inline run_units() {
  unit = unit * PER_ENTRY;
  do
  :: true ->
    run_unit();
    if
    :: unit == UNITS(number) || unit % PER_ENTRY == 0 -> break
    :: else
    fi
  od
}

inline finish_entry() {
  last = true;
  if
  :: UNITS(number) > PER_ENTRY ->
    atomic {
      assert(c[x].tasks[slot] == number && c[x].entries_left[slot] > 0);
#ifdef MISTAKE_DONE_EARLY
      last = c[x].entries_left[slot] == ALL_ENTRIES(number);
#else
      last = c[x].entries_left[slot] == 1;
#endif
      c[x].entries_left[slot] = c[x].entries_left[slot] - 1;
#ifndef MISTAKE_REPORT_FIRST
      if // one word in the protocol: nothing is left, so it is done
      :: last -> c[x].done[slot] = number
      :: else
      fi
#endif
    }
  :: else ->
#ifndef MISTAKE_REPORT_FIRST
    c[x].done[slot] = number
#else
    skip
#endif
  fi
}

inline report() {
  if
  :: last ->
    atomic { assert(c[x].tasks[slot] == number); place = c[x].finished; c[x].finished = c[x].finished + 1 }
    d_step {
      // The report that stood there was read.
      assert(c[x].place_count[place % SLOTS] <= c[x].consumed);
      c[x].place_count[place % SLOTS] = place + 1;
      c[x].place_number[place % SLOTS] = number;
      place = 0
    }
#ifdef MISTAKE_REPORT_FIRST
    c[x].done[slot] = number;
#endif
  :: else
  fi
}

inline work() {
  claim();
  do
  :: true ->
    take();
    if
    :: number == 0 -> break
    :: else
    fi;
    await_edges();
    run_units();
    finish_entry();
    claim();
    report();
    d_step { slot = 0; unit = 0; number = 0; last = false; ready = false }
  od
}

// ---------------------------------------------------------------------------------------------------------------
// The scheduler. `number`, `slot` and `ready` are its own here; `held`, `chosen` and `unwritten` have a bit for each task.

#define HAS(tasks, number) (((tasks) >> (number)) & 1)
#define COUNT(tasks) (HAS(tasks, 1) + HAS(tasks, 2) + HAS(tasks, 3) + HAS(tasks, 4))
#define IS_HELD_READY(number) (HAS(held, number) && IS_READY(number))

#ifdef MISTAKE_FETCHES_WITHOUT_ROOM
#define HAS_ROOM true
#else
#define HAS_ROOM (COUNT(held) + BATCH <= HELD)
#endif

// Up to `count` tasks of those that were copied, a batch at most.
inline take_in() {
  atomic {
    if
    :: count > BATCH -> count = BATCH
    :: else
    fi;
    do
    :: count > 0 ->
      c[x].fetched = c[x].fetched + 1;
      c[x].entries_left[SLOT(c[x].fetched)] = ALL_ENTRIES(c[x].fetched);
      held = held | (1 << c[x].fetched);
      assert(COUNT(held) <= HELD);
      count = count - 1
    :: else -> break
    od
  }
}

#ifdef MISTAKE_VERIFIES_TOO_FAR
#define MOST_VERIFIED (SEGMENTS + 1)
#else
#define MOST_VERIFIED SEGMENTS
#endif
#define CAN_VERIFY (c[x].verified - c[x].segments < MOST_VERIFIED && IS_DONE(c[x].numbers[c[x].verified % SEGMENTS]))

// Looks ahead at any number of the segments that are written next, one at a time; the protocol looks at several, and takes all or none.
inline verify() {
#if VERIFIES
  do
  :: atomic { CAN_VERIFY -> c[x].verified = c[x].verified + 1 }
  :: true -> break
  od
#else
  skip
#endif
}

// What is handed out: `chosen`, with positions and segments in the order of numbers.
#define BELOW(number) (chosen & ((1 << (number)) - 1))
#define ENTRIES_IF(tasks, number) (HAS(tasks, number) * ALL_ENTRIES(number))
#define ENTRIES(tasks) (ENTRIES_IF(tasks, 1) + ENTRIES_IF(tasks, 2) + ENTRIES_IF(tasks, 3) + ENTRIES_IF(tasks, 4))
// Written by one lane in the order of numbers, by two in any order.
#define IS_NEXT(number) (HAS(unwritten, number) && (LANES == 2 || (unwritten & ((1 << (number)) - 1)) == 0))
#define OWNER c[x].numbers[slot % SEGMENTS]

inline write_segment() {
  atomic {
    unwritten != 0;
    if
    :: IS_NEXT(1) -> number = 1
    :: IS_NEXT(2) -> number = 2
    :: IS_NEXT(3) -> number = 3
    :: IS_NEXT(4) -> number = 4
    fi;
    slot = c[x].segments + COUNT(BELOW(number));
    assert(IS_DONE(OWNER)); // nobody looks for its task
    OWNER = number;
    c[x].segment_first[slot % SEGMENTS] = c[x].positions + ENTRIES(BELOW(number));
    c[x].segment_slot[slot % SEGMENTS] = SLOT(number);
    c[x].segment_ready[slot % SEGMENTS] = ready;
    c[x].begins[number] = c[x].positions + ENTRIES(BELOW(number)) + 1;
    unwritten = unwritten & ~(1 << number);
    slot = 0;
    number = 0
  }
}

inline hand_out() {
#ifndef MISTAKE_WRITES_WITHOUT_LOOKING
  do
  :: atomic { c[x].verified - c[x].segments < COUNT(chosen) && CAN_VERIFY -> c[x].verified = c[x].verified + 1 }
  :: c[x].verified - c[x].segments >= COUNT(chosen) -> break
  od;
#endif
#ifdef MISTAKE_HANDED_FIRST
  atomic {
    c[x].handed_positions = c[x].positions + ENTRIES(chosen);
    c[x].handed_segments = c[x].segments + COUNT(chosen)
  }
#endif
  do
  :: write_segment()
  :: unwritten == 0 -> break
  od;
#ifdef MISTAKE_HANDED_IN_TWO_STORES
  c[x].handed_positions = c[x].positions + ENTRIES(chosen);
#endif
  atomic {
    c[x].positions = c[x].positions + ENTRIES(chosen);
    c[x].segments = c[x].segments + COUNT(chosen);
    c[x].handed_positions = c[x].positions;
    c[x].handed_segments = c[x].segments;
    chosen = 0;
    ready = false
  }
}

inline choose(number) {
  chosen = chosen | (1 << number);
  unwritten = chosen;
  held = held & ~(1 << number)
}

#ifdef MISTAKE_HANDS_OUT_ANY
#define IS_OLDEST(number) HAS(held, number)
#else
#define IS_OLDEST(number) (HAS(held, number) && (held & ((1 << (number)) - 1)) == 0)
#endif

// The oldest that is held, or several, in the order of numbers.
inline choose_oldest() {
  atomic {
    do
    :: COUNT(chosen) < BATCH && IS_OLDEST(1) -> choose(1)
    :: COUNT(chosen) < BATCH && IS_OLDEST(2) -> choose(2)
    :: COUNT(chosen) < BATCH && IS_OLDEST(3) -> choose(3)
    :: COUNT(chosen) < BATCH && IS_OLDEST(4) -> choose(4)
    :: chosen != 0 -> break
    od;
#ifdef MISTAKE_OLDEST_ARE_CALLED_READY
    ready = true
#endif
  }
}

// Some whose predecessors are done. `done` only grows, so it does not matter that all of it is read in one step.
inline choose_ready() {
  atomic {
    do
    :: COUNT(chosen) < BATCH && IS_HELD_READY(1) -> choose(1)
    :: COUNT(chosen) < BATCH && IS_HELD_READY(2) -> choose(2)
    :: COUNT(chosen) < BATCH && IS_HELD_READY(3) -> choose(3)
    :: COUNT(chosen) < BATCH && IS_HELD_READY(4) -> choose(4)
    :: chosen != 0 -> ready = true; break
    od
  }
}

#define CAN_TAKE_IN (!ends && HAS_ROOM && c[x].copied != c[x].fetched)
#ifdef MISTAKE_READY_ARE_NOT_LOOKED_FOR
#define FINDS_READY false
#else
#define FINDS_READY (IS_HELD_READY(1) || IS_HELD_READY(2) || IS_HELD_READY(3) || IS_HELD_READY(4))
#endif

#define LOOKS_ONLY 1
#define FETCHES 2
#define ENDS 3
#ifdef MISTAKE_NO_FIRST_FETCH
#define HAS_LOOKED true
#else
#define HAS_LOOKED (c[x].looked == c[x].phase)
#endif

// The launch has lasted long enough, and has taken in what it saw first.
inline may_end(may) {
  if
  :: true
  :: may -> ends = true
  fi
}

inline schedule() {
  ends = false;
#ifdef MISTAKE_FETCH_ALONE
  c[x].arrived > 0;
#else
  if
  :: c[x].claimed != c[x].handed_positions
  :: c[x].claimed == c[x].handed_positions && (room == 0 || ALONE == 9) -> ends = true
  :: c[x].claimed == c[x].handed_positions && ALONE < 9 && c[x].alone < ALONE -> c[x].alone = c[x].alone + 1; ends = true
  fi;
#endif
  if
  :: ends
  :: else -> c[x].phase = FETCHES
  fi;
  do
  :: held != 0 ->
    verify();
    if
    :: true -> choose_oldest(); hand_out()
    :: true -> // or not yet: it looks until it sees something
      if
      :: FINDS_READY -> choose_ready(); hand_out()
      :: atomic { CAN_TAKE_IN -> count = c[x].copied - c[x].fetched }; take_in()
      fi
#ifdef MISTAKE_LEAVES_WITH_TASKS_HELD
    :: c[x].finished == c[x].fetched - COUNT(held) -> break
#endif
    fi;
    may_end(true)
  :: held == 0 ->
    verify();
    atomic { looked = HAS_LOOKED; count = (ends -> 0 : c[x].copied - c[x].fetched) }
    if
    :: count > 0 -> take_in()
    :: count == 0 ->
      if
#ifdef MISTAKE_LEAVES_WITH_TASKS_IN_FLIGHT
      :: looked ->
#else
      :: looked && c[x].finished == c[x].fetched ->
#endif
#if ASKS && !defined(MISTAKE_ANSWER_AFTER_LEAVING)
        c[x].answer = c[x].desk_ask;
#endif
        if
        :: true -> break // its time is over, the host asks for it, or it was idle for long enough
        :: !ends && c[x].stop != epoch -> // or not yet: it looks until it sees something
          c[x].copied != c[x].fetched || c[x].stop == epoch || c[x].desk_ask != c[x].answer
        fi;
#ifdef MISTAKE_ANSWER_AFTER_LEAVING
        c[x].answer = c[x].desk_ask
#endif
      :: !looked || c[x].finished != c[x].fetched ->
        (HAS_LOOKED && c[x].finished == c[x].fetched) || (!ends && c[x].copied != c[x].fetched)
      fi
    fi;
    atomic { may_end(looked); looked = false }
  od;
  atomic { ends = false; looked = false; count = 0; held = 0 }
  c[x].leaving = epoch;
  c[x].phase = ENDS;
#ifndef MISTAKE_LEAVES_BEFORE_THE_FETCHER
  !c[x].fetching
#endif
}

// ---------------------------------------------------------------------------------------------------------------
// The fetcher.

// It looks again and again, which is left out while it would see the same.
#define IS_NEWS                                                                                                        \
  (c[x].phase == ENDS || c[x].phase != c[x].looked || (c[x].phase == FETCHES && c[x].tail != c[x].copied) ||           \
   c[x].ask != c[x].desk_ask)

// It copies what it has seen in the same step: later, more tasks were reported, and fewer slots in use. What it copies stays on the card
// from launch to launch, so it may copy what the launch before has copied and not taken in.
inline look_and_copy() {
  d_step {
    phase = c[x].phase;
    asked = c[x].ask;
    do
    :: phase == FETCHES && number < c[x].tail ->
      number = number + 1;
      slot = SLOT(number);
      // The host's slot has this task; the card's slot is no longer needed.
      assert(c[x].ring[slot] == number);
      assert(c[x].tasks[slot] == 0 || c[x].tasks[slot] == number || c[x].reports[c[x].tasks[slot]] == 1);
      c[x].tasks[slot] = number
    :: else -> break
    od;
    slot = 0
  }
}

inline publish() {
  d_step { c[x].desk_ask = asked; c[x].copied = number; c[x].looked = phase }
}

proctype fetcher(byte x) {
  byte phase, number, slot;
  bool asked;
end_of_launches:
  do
  :: atomic { c[x].fetching -> number = c[x].copied }
    do
    :: atomic {
        IS_NEWS -> look_and_copy();
#if LOOKS_AT_ONCE
        publish()
#endif
      }
      if
      :: phase == ENDS -> break
      :: else
      fi;
#if !LOOKS_AT_ONCE
      publish()
#endif
    od;
    atomic {
      phase = 0;
      number = 0;
      asked = false;
      c[x].phase = 0;
      c[x].copied = 0;
      c[x].looked = 0;
      c[x].desk_ask = false;
      c[x].fetching = false
    }
  od
}

// ---------------------------------------------------------------------------------------------------------------

inline leave() {
  atomic { position = c[x].left; c[x].left = c[x].left + 1 }
  if
  :: position == WORKERS ->
    d_step {
      assert(c[x].fetched == c[x].finished); // nothing is in flight
      c[x].left = 0;
      c[x].arrived = 0;
#ifndef MISTAKE_CLAIMS_ARE_KEPT
      c[x].claimed = c[x].handed_positions
#endif
    }
    c[x].gone = epoch
  :: else
  fi;
  position = 0
}

#ifdef MISTAKE_BLOCK_0_SCHEDULES
#define BEGINS_NEXT(index) true
#define IS_SCHEDULER(index) ((index) == 0)
#else
#define BEGINS_NEXT(index) (c[x].arrived == (index)) // all are alike, so they may as well begin in the order of their indices
#define IS_SCHEDULER(index) (c[x].arrived == 0)
#endif

proctype block(byte x; byte index) {
  byte epoch, slot, unit, number, position, place;            // a worker's
  byte end, total, behind, before;                            // while it looks its position up
  byte count, held, chosen, unwritten;                        // the scheduler's
  bool last, ready, ends, looked, first;
end_of_launches:
  do
  :: atomic {
      c[x].launched != epoch && room > 0 && BEGINS_NEXT(index) ->
      room = room - 1;
      epoch = c[x].launched;
      first = IS_SCHEDULER(index);
      c[x].arrived = c[x].arrived + 1
    }
    if
    :: first ->
      atomic {
        c[x].phase = LOOKS_ONLY;
        c[x].copied = c[x].fetched;
        c[x].looked = 0;
        c[x].desk_ask = false;
        c[x].fetching = true
      }
      schedule()
    :: else -> work()
    fi;
    first = false;
    leave();
    room = room + 1
  od
}

#if defined(MISTAKE_PUBLISHES_WITHOUT_LOOKING)
#define FREE(number) true
#elif defined(MISTAKE_COUNTS_TASKS_IN_FLIGHT)
#define FREE(number) (c[x].published - c[x].consumed < SLOTS)
#else
#define FREE(number) ((number) <= SLOTS || c[x].reports[(number) - SLOTS] == 1)
#endif

inline consume() {
  d_step {
    number = c[x].place_number[c[x].consumed % SLOTS];
    c[x].consumed = c[x].consumed + 1;
    assert(number >= 1 && number <= c[x].published);
    assert(c[x].reports[number] == 0);
    assert(c[x].ran[number] == ALL(number));
    c[x].reports[number] = 1;
    number = 0
  }
}

#define REPORTED (c[x].place_count[c[x].consumed % SLOTS] == c[x].consumed + 1)
#define WANTS (c[x].tail != c[x].consumed || c[x].answer != c[x].ask)

#define ALL_TASKS ((2 << TASKS) - 2)

proctype host(byte x) {
  byte epoch, number;
  bool resident;
  do
  :: c[x].published < TASKS && FREE(c[x].published + 1) ->
    c[x].ring[SLOT(c[x].published + 1)] = c[x].published + 1;
    c[x].published = c[x].published + 1;
    if // alone, or with the next one
    :: c[x].tail = c[x].published
    :: c[x].published < TASKS && FREE(c[x].published + 1)
    fi
  :: REPORTED -> consume()
#if ASKS
  :: !c[x].ask -> c[x].ask = true
#endif
  :: resident && c[x].gone == epoch ->
#ifdef MISTAKE_GONE_IS_NOT_LOOKED_AT
    c[x].tail == c[x].consumed;
#endif
    d_step { // all that was done in the launch was reported
      resident = false;
      number = c[x].consumed;
      do
      :: number < c[x].finished -> number = number + 1; assert(c[x].place_count[(number - 1) % SLOTS] == number)
      :: else -> break
      od;
      number = 0
    }
  :: !resident && !REPORTED && WANTS -> d_step {
      epoch = NEXT(epoch);
      c[x].launched = epoch;
      resident = true
    }
  :: c[x].consumed == TASKS && !WANTS -> break
  od;
  if
  :: resident ->
    c[x].stop = epoch;
    c[x].gone == epoch
  :: else
  fi;
  d_step {
    assert(c[x].left == 0 && c[x].arrived == 0 && c[x].claimed == c[x].handed_positions);
    assert(c[x].fetched == TASKS && c[x].finished == TASKS);
    assert(c[x].handed_segments == TASKS && c[x].handed_positions == ENTRIES(ALL_TASKS));
    for (number : 1 .. TASKS) {
      assert(c[x].ran[number] == ALL(number));
      assert(number + SLOTS <= TASKS || c[x].done[SLOT(number)] == number)
    }
    c[x].over = true
  }
}

init {
  byte i, j;
  atomic {
    i = 0;
    do
    :: i < CONTEXTS ->
      run host(i);
      run fetcher(i);
      j = 0;
      do
      :: j <= WORKERS -> run block(i, j); j = j + 1
      :: else -> break
      od;
      i = i + 1
    :: else -> break
    od
  }
}

#ifdef LIVENESS
ltl ends { <> c[0].over }
#endif
