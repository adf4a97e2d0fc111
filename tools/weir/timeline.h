// SPDX-License-Identifier: Apache-2.0
//
// Joined timelines, for those subcommands that make them.
#ifndef WEIR_TOOLS_WEIR_TIMELINE_H
#define WEIR_TOOLS_WEIR_TIMELINE_H

#include <stddef.h>

// Joins the timelines of ranks, and writes the whole to a file: as JSON if its name ends in .json, else as a page. Says
// on stderr, as `command`, what is wrong. Returns an exit code.
int weir__timeline_write_joined(const char *command, char *const *paths, size_t count, const char *output);

#endif // WEIR_TOOLS_WEIR_TIMELINE_H
