// SPDX-License-Identifier: Apache-2.0
//
// Every rank writes its timeline, and what they wrote becomes one. Errors are said on stderr, for a subcommand.
#ifndef WEIR_TOOLS_WEIR_RUN_TIMELINE_H
#define WEIR_TOOLS_WEIR_RUN_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

// Whether a name is one of a timeline, and those of so many ranks can be joined; else says so.
bool weir__run_timeline_valid(const char *command, const char *timeline, uint64_t ranks);

// Sets WEIR_TRACE for the ranks, and removes timelines that an earlier run left under their names. False: no memory.
bool weir__run_timeline_prepare(const char *command, const char *timeline, uint64_t ranks);

// Removes the timelines of the ranks; of a rank that is alone, the whole. False: no memory.
bool weir__run_timeline_remove(const char *command, const char *timeline, uint64_t ranks);

// Makes the timeline of those of the ranks. Returns an exit code.
int weir__run_timeline_join(const char *command, const char *timeline, uint64_t ranks);

#endif // WEIR_TOOLS_WEIR_RUN_TIMELINE_H
