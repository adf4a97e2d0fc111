// SPDX-License-Identifier: Apache-2.0
//
// A model of src/device/cuda/resident/protocol.h for spin: a host, and blocks of which the first to begin is the scheduler and
// the others are workers. Each step is one access to what is shared; spin tries all orders of steps (sequential consistency:
// memory orders are not modelled). test_model.py builds it in several sizes, and with planted mistakes (MISTAKE_...), each of
// which must be found.
//
// Time is a choice: the scheduler may leave whenever the protocol lets it, at once or never. The host stops the last launch, and
// all must be at rest behind it.

#ifndef CONTEXTS
#define CONTEXTS 1 // on one card
#endif
#ifndef PLACES
#define PLACES 9 // of the card, for blocks
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef ENTRIES
#define ENTRIES 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LANES
#define LANES 1 // 1 or 2
#endif
#ifndef BATCH
#define BATCH 2
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
#define VERIFIES 0 // 1: the scheduler looks ahead for empty entries
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
#else // 2 and 3 come after 1, 4 after both
#define FIRST(n) ((n) == 1 -> 0 : ((n) == 4 -> 3 : 1))
#define SECOND(n) ((n) == 4 -> 2 : 0)
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
  byte filled;
  byte verified; // from `filled` on
  byte fetched;
  byte finished;
  byte arrived;
  byte leaving;
  byte left;
  byte done[SLOTS];
  byte entries_left[SLOTS];
  byte tasks[SLOTS];
  byte entry_slot[ENTRIES]; // slot + 1; 0: empty
  byte entry_index[ENTRIES];
  byte entry_number[ENTRIES]; // not in the protocol: whose units were meant
  // Not in the protocol: what has happened.
  byte ran[TASKS + 1]; // a bit for each unit
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

// ---------------------------------------------------------------------------------------------------------------
// A worker.

inline await_edges() {
  // Reading the task: it is still the one that was meant.
  assert(c[x].tasks[slot] == number);
  if
  :: FIRST(number) != 0 -> c[x].done[SLOT(FIRST(number))] >= FIRST(number);
  :: else
  fi;
  if
  :: SECOND(number) != 0 -> c[x].done[SLOT(SECOND(number))] >= SECOND(number);
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
  assert(c[x].tasks[slot] == number);
  last = true;
  if
  :: UNITS(number) > PER_ENTRY ->
    atomic {
      assert(c[x].entries_left[slot] > 0);
#ifdef MISTAKE_DONE_EARLY
      last = c[x].entries_left[slot] == ALL_ENTRIES(number);
#else
      last = c[x].entries_left[slot] == 1;
#endif
      c[x].entries_left[slot] = c[x].entries_left[slot] - 1
    }
  :: else
  fi;
  if
  :: last ->
#ifndef MISTAKE_REPORT_FIRST
    c[x].done[slot] = number;
#endif
    atomic { position = c[x].finished; c[x].finished = c[x].finished + 1 }
    d_step {
      // The report that stood there was read.
      assert(c[x].place_count[position % SLOTS] <= c[x].consumed);
      c[x].place_count[position % SLOTS] = position + 1;
      c[x].place_number[position % SLOTS] = number;
      position = 0
    }
#ifdef MISTAKE_REPORT_FIRST
    c[x].done[slot] = number;
#endif
  :: else
  fi
}

inline read_entry() {
  slot = c[x].entry_slot[position % ENTRIES];
  unit = c[x].entry_index[position % ENTRIES];
  number = c[x].entry_number[position % ENTRIES]
}

inline empty_entry() {
  c[x].entry_slot[position % ENTRIES] = 0;
  c[x].entry_index[position % ENTRIES] = 0;
  c[x].entry_number[position % ENTRIES] = 0
}

// slot 0 behind it: the launch leaves.
inline take() {
  slot = 0;
  do
  :: c[x].entry_slot[position % ENTRIES] != 0 ->
#if defined(MISTAKE_TAKE_IN_TWO_STEPS)
    d_step { read_entry() }
    d_step { empty_entry() }
#elif defined(MISTAKE_EMPTIED_FIRST)
    d_step { empty_entry() }
    d_step { read_entry() }
#else
    d_step { read_entry(); empty_entry() }
#endif
    if
    :: slot != 0 -> break
    :: else
    fi
  :: c[x].entry_slot[position % ENTRIES] == 0 ->
    // It looks again and again, which is left out while it would see the same.
    c[x].entry_slot[position % ENTRIES] != 0 || c[x].leaving == epoch;
    if
    :: c[x].leaving == epoch -> break // the entry, at which it looked before, may have been filled since
    :: else
    fi
  od
}

inline work() {
  do
  :: true ->
    atomic { position = c[x].claimed; c[x].claimed = c[x].claimed + 1 }
    take();
    position = 0;
    if
    :: slot == 0 -> break
    :: else -> slot = slot - 1
    fi;
    await_edges();
    run_units();
    finish_entry();
    d_step { slot = 0; unit = 0; number = 0; last = false }
  od
}

// ---------------------------------------------------------------------------------------------------------------
// The scheduler. `unit` (an index among the entries of a task), `number`, `slot` and `position` are its own here.

inline copy_batch() {
  number = 0;
  do
  :: number < count ->
    slot = SLOT(c[x].fetched + 1 + number);
    d_step {
      // The host's slot has this task; the card's slot is no longer needed.
      assert(c[x].ring[slot] == c[x].fetched + 1 + number);
      assert(c[x].tasks[slot] == 0 || c[x].reports[c[x].tasks[slot]] == 1);
      c[x].tasks[slot] = c[x].ring[slot];
      c[x].entries_left[slot] = ALL_ENTRIES(c[x].tasks[slot]);
      batch_entries = batch_entries + ALL_ENTRIES(c[x].tasks[slot])
    }
    number = number + 1
  :: else -> break
  od;
  atomic { number = 0; slot = 0 }
}

// Entry `which` of the batch can be filled: it is empty, or was found to be so.
#ifdef MISTAKE_FILL_WITHOUT_LOOKING
#define CAN_FILL(which) true
#else
#define CAN_FILL(which) ((which) < c[x].verified || c[x].entry_slot[(c[x].filled + (which)) % ENTRIES] == 0)
#endif

inline fill(which) {
  d_step {
    number = c[x].fetched + 1;
    unit = which;
    do
    :: unit >= ALL_ENTRIES(number) -> unit = unit - ALL_ENTRIES(number); number = number + 1
    :: else -> break
    od;
    assert(c[x].entry_slot[(c[x].filled + which) % ENTRIES] == 0);
    c[x].entry_index[(c[x].filled + which) % ENTRIES] = unit;
    c[x].entry_number[(c[x].filled + which) % ENTRIES] = number;
    c[x].entry_slot[(c[x].filled + which) % ENTRIES] = SLOT(number) + 1;
    which = which + LANES;
    number = 0;
    unit = 0
  }
}

inline fetch() {
  count = c[x].tail - c[x].fetched;
  if
  :: count > BATCH -> count = BATCH
  :: else
  fi;
  if
  :: count > 0 ->
    copy_batch();
    d_step { lane0 = 0; lane1 = 1 }
#if LANES == 2
    do // each lane in its own order, and when it can
    :: lane0 < batch_entries && CAN_FILL(lane0) -> fill(lane0)
    :: lane1 < batch_entries && CAN_FILL(lane1) -> fill(lane1)
    :: lane0 >= batch_entries && lane1 >= batch_entries -> break
    od;
#else
    do
    :: lane0 < batch_entries && CAN_FILL(lane0) -> fill(lane0)
    :: lane0 >= batch_entries -> break
    od;
#endif
    atomic {
      c[x].verified = (c[x].verified > batch_entries -> c[x].verified - batch_entries : 0);
      c[x].filled = c[x].filled + batch_entries;
      c[x].fetched = c[x].fetched + count;
      batch_entries = 0;
      lane0 = 0;
      lane1 = 0
    }
  :: else
  fi
}

#ifdef MISTAKE_VERIFIES_TOO_FAR
#define MOST_VERIFIED (ENTRIES + 1)
#else
#define MOST_VERIFIED ENTRIES
#endif

// Any number of the entries that are filled next. One at a time; what a lane sees holds for the others, too.
inline verify() {
#if VERIFIES
  do
  :: c[x].verified < MOST_VERIFIED && c[x].entry_slot[(c[x].filled + c[x].verified) % ENTRIES] == 0 ->
    c[x].verified = c[x].verified + 1
  :: true -> break
  od
#else
  skip
#endif
}

inline schedule() {
  ends = false;
#ifdef MISTAKE_FETCH_ALONE
  c[x].arrived > 0;
#else
  if
  :: c[x].claimed != c[x].filled
  :: c[x].claimed == c[x].filled && (room == 0 || ALONE == 9) -> ends = true
  :: c[x].claimed == c[x].filled && ALONE < 9 && c[x].alone < ALONE -> c[x].alone = c[x].alone + 1; ends = true
  fi;
#endif
#ifdef MISTAKE_NO_FIRST_FETCH
  if
  :: true
  :: true -> ends = true
  fi;
#endif
  do
  :: true ->
    count = 0;
    if
    :: !ends -> fetch()
    :: else
    fi;
    if
    :: count > 0
    :: count == 0 ->
      verify();
      if
#ifdef MISTAKE_LEAVES_WITH_TASKS_IN_FLIGHT
      :: true ->
#else
      :: c[x].finished == c[x].fetched ->
#endif
#ifndef MISTAKE_ANSWER_AFTER_LEAVING
        c[x].answer = c[x].ask;
#endif
        if
        :: ends -> break
        :: c[x].stop == epoch -> break
        :: c[x].stop != epoch -> break // idle for long enough
        :: !ends && c[x].stop != epoch -> // or not yet: it looks until it sees something
          c[x].tail != c[x].fetched || c[x].stop == epoch || c[x].ask != c[x].answer
        fi;
#ifdef MISTAKE_ANSWER_AFTER_LEAVING
        c[x].answer = c[x].ask
#endif
      :: c[x].finished != c[x].fetched ->
        c[x].finished == c[x].fetched || (!ends && c[x].tail != c[x].fetched)
      fi
    fi;
    if
    :: true
    :: ends = true // the launch has lasted long enough
    fi
  od;
  atomic { ends = false; count = 0 }
  c[x].leaving = epoch
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
      c[x].claimed = c[x].filled
#endif
    }
    c[x].gone = epoch
  :: else
  fi;
  position = 0
}

proctype block(byte x; byte index) {
  byte epoch, slot, unit, number, position, count, lane0, lane1, batch_entries;
  bool last, ends, first;
end_of_launches:
  do
  :: c[x].launched != epoch ->
    atomic { room > 0 -> room = room - 1 }
    epoch = c[x].launched;
#ifdef MISTAKE_BLOCK_0_SCHEDULES
    first = index == 0;
    c[x].arrived = c[x].arrived + 1;
#else
    atomic { first = c[x].arrived == 0; c[x].arrived = c[x].arrived + 1 }
#endif
    if
    :: first -> schedule()
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
    assert(c[x].left == 0 && c[x].arrived == 0 && c[x].claimed == c[x].filled);
    assert(c[x].fetched == TASKS && c[x].finished == TASKS);
    for (number : 0 .. ENTRIES - 1) { assert(c[x].entry_slot[number] == 0) }
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
