// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_TESTS_FUZZ_FUZZ_H
#define WEIR_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// What libFuzzer calls, and the replay of a corpus. Returns 0; aborts on a mistake.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif // WEIR_TESTS_FUZZ_FUZZ_H
