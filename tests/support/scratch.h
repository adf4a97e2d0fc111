// SPDX-License-Identifier: Apache-2.0
//
// A folder for a test's cache of compiled code, and what is in it.
#ifndef WEIR_TESTS_SCRATCH_H
#define WEIR_TESTS_SCRATCH_H

#include <limits.h>
#include <stddef.h>

// Makes an empty folder and sets WEIR_CACHE to it; removes it with what is in it.
const char *scratch_create(void);
void scratch_remove(void);

// How many files the folder has, and the path of one of them ("" if there is none).
size_t scratch_files(char path[PATH_MAX]);

#endif // WEIR_TESTS_SCRATCH_H
