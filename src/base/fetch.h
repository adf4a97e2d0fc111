// SPDX-License-Identifier: Apache-2.0
//
// Lines of the cache, asked for ahead of need.
#ifndef WEIR_BASE_FETCH_H
#define WEIR_BASE_FETCH_H

// Asks for the line of `address`, to be written: another core that has it loses it now, and not when this one writes. What
// __builtin_prefetch(address, 1) asks for is only to be read where the compiler may not count on PREFETCHW. Processors that lack
// this instruction do nothing.
static inline __attribute__((always_inline)) void weir__fetch_to_write(const void *address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
  __builtin_prefetch(address, 1);
#endif
}

#endif // WEIR_BASE_FETCH_H
