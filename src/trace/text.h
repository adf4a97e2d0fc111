// SPDX-License-Identifier: Apache-2.0
//
// JSON text. Errors of the file are left in its error flag, for the caller to look at once.
#ifndef WEIR_TRACE_TEXT_H
#define WEIR_TRACE_TEXT_H

#include <stdint.h>
#include <stdio.h>

// Writes a JSON string with its quotes. The result is pure UTF-8 that is safe inside <script> too: '<' and control
// characters are escaped, and each byte that is not part of valid UTF-8 becomes U+FFFD.
void weir__text_string(const char *text, FILE *file);

// A whole number. Above 2^63 - 1, which many JSON readers refuse, it is written as a string.
void weir__text_number(uint64_t number, FILE *file);

// Nanoseconds as microseconds with three decimals: 1500 is 1.500.
void weir__text_us(uint64_t ns, FILE *file);

#endif // WEIR_TRACE_TEXT_H
