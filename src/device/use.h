// SPDX-License-Identifier: Apache-2.0
//
// What a kernel's code does with an argument, as far as a device can read it, and which declared modes that refutes.
//
// READS and WRITES are never too few: code that may do it counts. STORES is never too much: the code has an instruction that
// writes this argument and nothing else, though not every run need come to it. docs/inside/modes-from-code.md.
#ifndef WEIR_DEVICE_USE_H
#define WEIR_DEVICE_USE_H

#include "device/device.h"

// Bits of a use. 0: nothing is known, so the code may do anything.
enum {
  WEIR__USE_KNOWN = 1, // the others say something
  WEIR__USE_READS = 2,
  WEIR__USE_WRITES = 4,
  WEIR__USE_STORES = 8,
  WEIR__USE_ANY = WEIR__USE_KNOWN | WEIR__USE_READS | WEIR__USE_WRITES,
};

// The use by two pieces of code that run one after another.
static inline uint8_t weir__use_both(uint8_t a, uint8_t b) {
  return (uint8_t)((a & b & WEIR__USE_KNOWN) | ((a | b) & (WEIR__USE_READS | WEIR__USE_WRITES | WEIR__USE_STORES)));
}

// The weakest mode that is surely enough.
static inline weir_mode weir__use_mode(uint8_t use) {
  return (use & WEIR__USE_KNOWN) != 0 && (use & WEIR__USE_WRITES) == 0 ? WEIR_READ : WEIR_READ_WRITE;
}

// Whether the mode cannot be right: a buffer that is only read and that the code writes, or one that is to be overwritten and
// that the code surely does not write. All else may be right, or costs time only.
static inline bool weir__use_refutes(uint8_t use, weir_mode mode) {
  bool known = (use & WEIR__USE_KNOWN) != 0;
  return (mode == WEIR_READ && (use & WEIR__USE_STORES) != 0) ||
         (mode == WEIR_WRITE && known && (use & WEIR__USE_WRITES) == 0);
}

// Refuses the task's argument, whose mode the use refutes: task, argument, buffer, range, and what to declare.
weir_status weir__use_refuse(const weir_device *device, const weir_task *task, uint32_t index, uint8_t use);

// Refuses a value of another size than the code has there.
weir_status weir__value_refuse(const weir_task *task, uint32_t index, uint64_t bytes, const char *what);

#endif // WEIR_DEVICE_USE_H
