// SPDX-License-Identifier: Apache-2.0
//
// Why a task waited for another one.
#ifndef WEIR_TRACE_WHY_H
#define WEIR_TRACE_WHY_H

#include "trace/trace.h"

// Puts a text into `text`, of `size` bytes, at least 1: why task `later` waited for task `earlier`, directly or by way of
// others, or that it did not. Cost: one step for each wait of the tasks between them.
// Errors: UNAVAILABLE (one of them has no record), OUT_OF_MEMORY.
weir_status weir__trace_why(const weir__trace *trace, uint64_t earlier, uint64_t later, char *text, size_t size);

#endif // WEIR_TRACE_WHY_H
