// SPDX-License-Identifier: Apache-2.0
//
// Which way is faster for a program that waits often: decided by trial. It knows when tasks came and when somebody waited, and
// nothing of launching.
//
// DESIGN. What a program submits between two waits is a stretch. Where stretches are short, what counts is the time from a
// submission until its result is seen, and no rule tells which way makes that shorter: it depends on the tasks, the driver and the
// card. So both ways have turns of some stretches each, and then the one in which a task took less time stays for long: for twice
// as long whenever the same way wins again.
#ifndef WEIR_ISSUE_WAIT_HISTORY_H
#define WEIR_ISSUE_WAIT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum {
  WEIR__SHORT_STRETCH = 128, // tasks, in the mean of a turn
  WEIR__TURN_STRETCHES = 32,
  WEIR__TRIAL_TURNS = 6,     // of the two ways by turns; the first turn of each does not count
  WEIR__SHORTEST_REIGN = 32, // turns from a trial to the next one
  WEIR__LONGEST_REIGN = 1024,
};

typedef struct weir__wait_history {
  bool often;  // stretches of the last turn were short
  bool direct; // the way of this turn
  bool winner; // of the last trial, as `direct`
  // This turn.
  uint32_t turn_stretches, short_stretch; // WEIR__TURN_STRETCHES, ...
  uint32_t stretches;                     // that have ended
  uint32_t stretch;                       // tasks of the one that goes on
  uint64_t tasks, since_ns;
  // The trial: turns that have ended, and what each way took, by `direct`.
  uint32_t turns;
  uint64_t took_tasks[2], took_ns[2];
  // Turns that the winner has in all, and that are left of them; 0: a trial goes on.
  uint32_t reign, left;
} weir__wait_history;

// A seed, for tests, has all come about in small programs; 0: none.
void weir__wait_history_initialize(weir__wait_history *history, uint64_t seed);

static inline void weir__wait_history_note_task(weir__wait_history *history) {
  history->stretch++;
}

// Somebody waits. `has_direct`: the direct way is there. `now_ns`: of any clock that goes steadily.
void weir__wait_history_note_wait(weir__wait_history *history, bool has_direct, uint64_t now_ns);

// Whether the program waits often, so that the direct way is worth having.
static inline bool weir__wait_history_is_often(const weir__wait_history *history) {
  return history->often;
}

// Whether tasks go the direct way in this turn.
static inline bool weir__wait_history_is_direct(const weir__wait_history *history) {
  return history->direct;
}

#endif // WEIR_ISSUE_WAIT_HISTORY_H
