// SPDX-License-Identifier: Apache-2.0
//
// `weir run --timeline`: every rank writes its timeline, and what they wrote becomes one.
#ifndef WEIR_TOOLS_WEIR_RUN_TIMELINE_H
#define WEIR_TOOLS_WEIR_RUN_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

// Whether a name is one of a timeline; else says so on stderr.
bool weir__run_timeline_valid(const char *timeline);

// Sets WEIR_TRACE for the ranks, and removes timelines that an earlier run left under their names. False: no memory, as
// said on stderr.
bool weir__run_timeline_prepare(const char *timeline, uint64_t ranks);

// Makes the timeline of those of the ranks. Returns an exit code.
int weir__run_timeline_join(const char *timeline, uint64_t ranks);

#endif // WEIR_TOOLS_WEIR_RUN_TIMELINE_H
