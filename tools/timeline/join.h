// SPDX-License-Identifier: Apache-2.0
//
// The timelines of all ranks of a program as one (docs/inside/timeline-json.md, "Ranks").
#ifndef WEIR_TIMELINE_JOIN_H
#define WEIR_TIMELINE_JOIN_H

#include <stddef.h>

#include "weir/weir.h"

// Most ranks whose timelines can be joined: ids and numbers of different ranks are apart, and exact as doubles.
enum { WEIR__JOIN_MOST_RANKS = 900 };

// Joins timelines, one of each rank in any order. *out_json is the caller's to free; on failure it is NULL, and
// `message` says why, with file and line where there is one.
// Errors: INVALID_ARGUMENT (not timelines of the ranks of one program), IO, OUT_OF_MEMORY.
weir_status weir__timeline_join(char *const *paths, size_t count, char *message, size_t message_size, char **out_json,
                                size_t *out_bytes);

#endif // WEIR_TIMELINE_JOIN_H
