// SPDX-License-Identifier: Apache-2.0
//
// What the parts of `weir split` share: what to run, and what was measured.
#ifndef WEIR_TOOLS_WEIR_SPLITTING_H
#define WEIR_TOOLS_WEIR_SPLITTING_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/split.h"

enum { WEIR__SPLITTING_MOST_POLICIES = 6, WEIR__SPLITTING_MOST_ROUNDS = 1000 };

#define WEIR__SPLITTING_POLICIES "static|history|queue|guided|frames|auto|all"
#define WEIR__SPLITTING_KERNELS "compute|memory"

typedef enum weir__splitting_kernel { WEIR__SPLITTING_COMPUTE = 0, WEIR__SPLITTING_MEMORY = 1 } weir__splitting_kernel;

typedef struct weir__splitting {
  const char *devices;
  const char *policies[WEIR__SPLITTING_MOST_POLICIES];
  uint32_t policy_count;
  int kernel; // weir__splitting_kernel
  uint32_t groups, work, rounds;
  double shares[WEIR_SPLIT_MOST_DEVICES];
  uint32_t share_count; // 0: none were given
  const char *history;  // NULL: none
} weir__splitting;

// A launch on all devices.
typedef struct weir__splitting_round {
  double ms;
  weir_split_round round;
} weir__splitting_round;

typedef struct weir__splitting_result {
  uint32_t device_count;
  char names[WEIR_SPLIT_MOST_DEVICES][64];
  bool simulated;                            // times are virtual
  double best_ms[WEIR_SPLIT_MOST_DEVICES];   // the least time in which the device did a launch alone
  double median_ms[WEIR_SPLIT_MOST_DEVICES]; // the median of these times
  weir__splitting_round *rounds;             // by policy, then by number
} weir__splitting_result;

// Runs the rounds. In each round every policy has a launch on all devices, and every device one that it does alone, in turn. All
// results are compared with those of plain loops. Says on stderr what is wrong. Returns an exit code.
int weir__splitting_run(const weir__splitting *options, weir__splitting_result *out_result);
void weir__splitting_free(weir__splitting_result *result);

static inline const weir__splitting_round *weir__splitting_at(const weir__splitting *options,
                                                              const weir__splitting_result *result, uint32_t policy,
                                                              uint32_t round) {
  return &result->rounds[(uint64_t)policy * options->rounds + round];
}

// The time that all devices would need together at their best rates.
double weir__splitting_together_ms(const weir__splitting_result *result);

// The part of a round in which a device was of use, at its best rate. The mean of all devices', weighted with their best rates, is
// the efficiency of the whole.
double weir__splitting_use(const weir__splitting_result *result, const weir__splitting_round *round, uint32_t device);

// Show what was measured. Return an exit code.
int weir__splitting_print(const weir__splitting *options, const weir__splitting_result *result);
int weir__splitting_print_json(const weir__splitting *options, const weir__splitting_result *result);
// Whether the plots can be written, as far as can be seen before the run; what is wrong is said on stderr.
bool weir__splitting_can_plot(const weir__splitting *options, const char *path);

// One plot for each policy: of several, each in a file with "-POLICY" before the ending.
int weir__splitting_plot(const weir__splitting *options, const weir__splitting_result *result, const char *path);

// ---------------------------------------------------------------------------------------------------------------
// Kernels

enum { WEIR__SPLITTING_ITEMS = 256 }; // work-items of a group

// Numbers of 32 bits that a work-group reads, and writes.
uint32_t weir__splitting_words(const weir__splitting *options);

// The kernel, with code for every device of the context.
weir_status weir__splitting_kernel_create(const weir__splitting *options, weir_context *context,
                                          weir_kernel **out_kernel);

// What it makes of `count` numbers, by plain loops.
void weir__splitting_serial(const weir__splitting *options, const uint32_t *in, uint32_t *out, uint64_t count);

#endif // WEIR_TOOLS_WEIR_SPLITTING_H
