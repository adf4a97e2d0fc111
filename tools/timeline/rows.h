// SPDX-License-Identifier: Apache-2.0
//
// The data of a timeline's page, made from the timeline's JSON (docs/inside/timeline-json.md). It is JSON in rows
// rather than objects, so that a page of 100,000 tasks stays small:
//   {"title", "dropped", "devices": [[name, lanes, lane word], ...], "buffers": [[id, label], ...],
//    "tasks": [[id, tag, label, kernel, device, lane, status, submit_ns, ready_ns, start_ns, end_ns,
//               [mode, buffer, storage, offset, bytes, ...], [task, hazard, buffer, lo, hi, ...],
//               [lane, start_ns, end_ns, name, ...], [pipeline, line, stage, token], [call, direction, peer, message]],
//              ...],
//    "spans": [[pipeline, line, state, stage, token, start_ns, end_ns, open], ...]}
// The last part of a task's row is there if it is of one of several ranks (direction 1: it sends the message, 2: it
// receives it, 0: there is none); the part before that, if a stage submitted it, else it is empty or not there either. A
// device's row then ends in the number of its rank, and so does that of a wait of the host. Ids of ranks are apart, as
// weir__join_base says. A token is null where there is none. Where there are
// pipelines, so is
//   "pipelines": [[id, lines, [[stage, serial], ...]], ...]
// What threads of the program waited for is in `"host": [[cause, lane, task, start_ns, end_ns, reached], ...]`, if there is
// anything; task 0: all. Of buffers there are those that have labels. A graph is shown by its nodes, its launch is left out.
#ifndef WEIR_TIMELINE_ROWS_H
#define WEIR_TIMELINE_ROWS_H

#include <stddef.h>

#include "weir/weir.h"

// Makes rows from a file, or from memory (`name` stands for the file in messages). *out_rows is the caller's to free;
// on failure it is NULL, and `message` says "FILE:LINE: what is wrong". The rows are safe inside <script>: '<' is
// escaped.
// Errors: INVALID_ARGUMENT (not a timeline), IO, OUT_OF_MEMORY.
weir_status weir__timeline_rows(const char *path, char *message, size_t message_size, char **out_rows,
                                size_t *out_bytes);
weir_status weir__timeline_rows_memory(const char *name, const void *data, size_t bytes, char *message,
                                       size_t message_size, char **out_rows, size_t *out_bytes);

#endif // WEIR_TIMELINE_ROWS_H
