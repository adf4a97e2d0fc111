// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_EXAMPLES_REQUIRE_H
#define WEIR_EXAMPLES_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>
#include <weir/weir.h>

// Ends the program unless the call succeeded.
static inline void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

#endif // WEIR_EXAMPLES_REQUIRE_H
