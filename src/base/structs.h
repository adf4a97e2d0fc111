// SPDX-License-Identifier: Apache-2.0
//
// Structs that callers pass with their size, so that they can grow at their ends, and elements of arrays, which have reserved
// members instead (include/weir/weir.h, "Growth").
#ifndef WEIR_BASE_STRUCTS_H
#define WEIR_BASE_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/weir.h"

// Makes the library's form of a caller's struct of `size` bytes in `own`: what the caller's does not have is 0, and all is if
// `given` is NULL. INVALID_ARGUMENT: the caller's is longer, and sets what this library does not know. `what` is for the message.
weir_status weir__struct_take(void *own, size_t own_size, const void *given, size_t size, const char *what);

// Gives a caller as much of a struct as `size` bytes at `out` have room for; what is longer there becomes 0.
void weir__struct_give(void *out, size_t size, const void *own, size_t own_size);

// A caller's task: itself where it is as long as the library's, else its form in `own`. NULL: refused, as above.
static inline const weir_task *weir__task_take(weir_task *own, const weir_task *given, size_t size, const char *what) {
  if (size == sizeof *own) return given;
  return weir__struct_take(own, sizeof *own, given, size, what) == WEIR_OK ? own : NULL;
}

// An element whose reserved members are not 0 is refused, with this text.
#define WEIR__RESERVED_TEXT "its reserved members must be 0"

static inline bool weir__sets_reserved(const uint64_t reserved[2]) {
  return (reserved[0] | reserved[1]) != 0;
}

#endif // WEIR_BASE_STRUCTS_H
