// SPDX-License-Identifier: Apache-2.0
//
// A library that has none of the functions that anybody looks for.
int weir_empty_library(void);

__attribute__((visibility("default"))) int weir_empty_library(void) {
  return 0;
}
