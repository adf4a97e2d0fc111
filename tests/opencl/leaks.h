// SPDX-License-Identifier: Apache-2.0
//
// Looks for leaks in the middle of a test, where the build has the checker: while the driver's threads are idle.
#ifndef WEIR_TESTS_OPENCL_LEAKS_H
#define WEIR_TESTS_OPENCL_LEAKS_H

void __lsan_do_leak_check(void) __attribute__((weak)); // of the sanitizer; ends the process if there are leaks

static inline void check_leaks(void) {
  if (__lsan_do_leak_check != 0) __lsan_do_leak_check();
}

#endif // WEIR_TESTS_OPENCL_LEAKS_H
