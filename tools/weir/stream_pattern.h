// SPDX-License-Identifier: Apache-2.0
//
// Streams that are made rather than recorded: task graphs of Task Bench (bench/common/taskbench.h).
#ifndef WEIR_TOOLS_WEIR_STREAM_PATTERN_H
#define WEIR_TOOLS_WEIR_STREAM_PATTERN_H

#include "stream/stream.h"

// For the usage: the forms of the name.
#define WEIR__STREAM_PATTERN "pattern:NAME[,width=N][,steps=N][,us=X][,bytes=N]"

// Reads the stream in a file, or makes the one that "pattern:NAME,..." names: 100 steps of up to 16 tasks (`width`), each
// of which takes 10 us and writes a buffer of 64 bytes, unless the name says otherwise. Errors: as weir__stream_read.
weir_status weir__stream_read_any(const char *path, char *message, size_t message_size, weir__stream **out_stream);

// The width of the pattern that a path names; 0: it names none that is right.
uint64_t weir__stream_pattern_width(const char *path);

#endif // WEIR_TOOLS_WEIR_STREAM_PATTERN_H
