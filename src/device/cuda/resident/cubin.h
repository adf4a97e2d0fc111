// SPDX-License-Identifier: Apache-2.0
//
// What can be read in a relocatable cubin, an ELF file, without the driver.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_CUBIN_H
#define WEIR_DEVICE_CUDA_RESIDENT_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weir__cubin_variable {
  WEIR__CUBIN_NONE, // there is no variable of the name
  WEIR__CUBIN_ZERO, // it starts as 0
  WEIR__CUBIN_SET,
} weir__cubin_variable;

// Whether the bytes are a cubin whose tables are whole.
bool weir__cubin_check(const void *image, size_t bytes);

// For images that were checked: shared memory that the functions declare, all together; what a global variable starts as.
uint64_t weir__cubin_shared_bytes(const void *image);
weir__cubin_variable weir__cubin_find(const void *image, const char *name);

#endif // WEIR_DEVICE_CUDA_RESIDENT_CUBIN_H
