// SPDX-License-Identifier: Apache-2.0
//
// The page of a timeline with its style and script in place, made from timeline.html and its parts by embed.cmake.
// "@DATA@" stands, once, where the data belongs.
#ifndef WEIR_TRACE_PAGE_H
#define WEIR_TRACE_PAGE_H

#include <stddef.h>

extern const unsigned char weir__trace_page[];
extern const size_t weir__trace_page_bytes;

#endif // WEIR_TRACE_PAGE_H
