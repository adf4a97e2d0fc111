// SPDX-License-Identifier: Apache-2.0
//
// Joined timelines, for those subcommands that make them.
#ifndef WEIR_TOOLS_WEIR_TIMELINE_H
#define WEIR_TOOLS_WEIR_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

// Whether a path ends in an ending, and has a name before it.
bool weir__timeline_ends_in(const char *path, const char *ending);

// Joins the timelines of ranks, and writes the whole to a file: as JSON if its name ends in .json, else as a page. Says
// on stderr, as `command`, what is wrong. Returns an exit code.
int weir__timeline_write_joined(const char *command, char *const *paths, size_t count, const char *output);

#endif // WEIR_TOOLS_WEIR_TIMELINE_H
