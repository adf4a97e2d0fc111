// SPDX-License-Identifier: Apache-2.0
//
// Timelines as pages for a browser: one HTML file each, with the data inside.
#ifndef WEIR_TIMELINE_PAGE_H
#define WEIR_TIMELINE_PAGE_H

#include <stddef.h>

#include "weir/weir.h"

// Makes a page of a timeline that weir_trace_save wrote. Nothing is written unless all of the timeline is right. On
// failure `message` says "FILE:LINE: what is wrong", or why a file cannot be read or written.
// Errors: INVALID_ARGUMENT (not a timeline), IO, OUT_OF_MEMORY.
weir_status weir__timeline_page(const char *json_path, const char *page_path, char *message, size_t message_size);

// The same of a timeline in memory; `name` stands for it in messages.
weir_status weir__timeline_page_memory(const char *name, const void *json, size_t bytes, const char *page_path,
                                       char *message, size_t message_size);

// The page with its style and scripts in place, made from page.html and its parts by embed.cmake. "@DATA@" stands,
// once, where the rows belong.
extern const unsigned char weir__timeline_page_text[];
extern const size_t weir__timeline_page_bytes;

#endif // WEIR_TIMELINE_PAGE_H
