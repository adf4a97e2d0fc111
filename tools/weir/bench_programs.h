// SPDX-License-Identifier: Apache-2.0
//
// Programs of the measured runtimes (weir-bench-NAME, next to the weir tool), run as subprocesses.
#ifndef WEIR_TOOLS_WEIR_BENCH_PROGRAMS_H
#define WEIR_TOOLS_WEIR_BENCH_PROGRAMS_H

#include "bench.h"

// One way to run one program: what is measured, and by whom.
typedef struct weir__bench_program {
  const char *name;    // of the program: "weir-bench-tbb"
  const char *runtime; // for people: "oneTBB"
  const char *package; // Debian package that it is built with; NULL: it is a part of Weir
  const char *suffix;  // added to the runtime's name in results (", no renaming"); "" for none
  const char *variant; // for --variant; NULL: none
} weir__bench_program;

extern const weir__bench_program weir__bench_weir, weir__bench_weir_plain, weir__bench_pipelines;
extern const weir__bench_program weir__bench_peers[];
extern const size_t weir__bench_peer_count;

// Programs and arguments that are measured together: every run starts each of them once, in this order, so that what
// disturbs the machine for a while hits all alike.
typedef struct weir__bench_launch {
  const weir__bench_program *program;
  const char *arguments[12]; // after the program's name, ended by NULL
} weir__bench_launch;

// Runs all launches `runs` times, interleaved, and adds what they print as results of `bench`. A program that is
// missing, or lacks the case, is noted once with the reason. Returns FAILED if one fails otherwise.
int weir__bench_run_programs(const char *bench, const weir__bench_launch *launches, size_t count, uint32_t runs,
                             weir__bench_report *report);

#endif // WEIR_TOOLS_WEIR_BENCH_PROGRAMS_H
