// SPDX-License-Identifier: Apache-2.0
#include "issue/wait_history.h"

enum { TURN_IN_TESTS = 2, SHORT_IN_TESTS = 32 };

void weir__wait_history_initialize(weir__wait_history *history, uint64_t seed) {
  *history = (weir__wait_history){.turn_stretches = seed == 0 ? WEIR__TURN_STRETCHES : TURN_IN_TESTS,
                                  .short_stretch = seed == 0 ? WEIR__SHORT_STRETCH : SHORT_IN_TESTS,
                                  .reign = WEIR__SHORTEST_REIGN};
}

static void begin_trial(weir__wait_history *history) {
  history->turns = 0;
  history->direct = false;
  for (int way = 0; way < 2; way++) history->took_tasks[way] = history->took_ns[way] = 0;
}

static void end_trial(weir__wait_history *history) {
  double apart = (double)history->took_ns[0] * (double)history->took_tasks[1];
  double direct = (double)history->took_ns[1] * (double)history->took_tasks[0];
  bool winner = direct < apart;
  history->reign = winner != history->winner              ? WEIR__SHORTEST_REIGN
                   : history->reign < WEIR__LONGEST_REIGN ? 2 * history->reign
                                                          : WEIR__LONGEST_REIGN;
  history->left = history->reign;
  history->direct = history->winner = winner;
}

static void end_turn_of_trial(weir__wait_history *history, uint64_t took_ns) {
  if (history->turns >= 2) { // what is new to either way is over
    history->took_tasks[history->direct] += history->tasks;
    history->took_ns[history->direct] += took_ns;
  }
  history->turns++;
  history->direct = history->turns % 2 != 0;
  if (history->turns == WEIR__TRIAL_TURNS) end_trial(history);
}

static void end_turn(weir__wait_history *history, bool has_direct, uint64_t took_ns) {
  history->often = history->tasks <= (uint64_t)history->short_stretch * history->stretches;
  if (!history->often || !has_direct) {
    begin_trial(history);
    history->winner = false;
    history->reign = WEIR__SHORTEST_REIGN;
    history->left = 0;
  } else if (history->left == 0) {
    end_turn_of_trial(history, took_ns);
  } else if (--history->left == 0) {
    begin_trial(history);
  }
}

void weir__wait_history_note_wait(weir__wait_history *history, bool has_direct, uint64_t now_ns) {
  if (history->stretch == 0) return;
  history->tasks += history->stretch;
  history->stretch = 0;
  if (++history->stretches < history->turn_stretches) return;
  end_turn(history, has_direct, now_ns - history->since_ns);
  history->stretches = 0;
  history->tasks = 0;
  history->since_ns = now_ns;
}
