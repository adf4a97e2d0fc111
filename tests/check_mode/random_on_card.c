// SPDX-License-Identifier: Apache-2.0
//
// Makes test_random a program that runs in check mode on the CUDA driver without a card, with check mode's functions for cards.
#include <stdlib.h>

#include "planted.h"

static __attribute__((constructor)) void begin(void) {
  planted_use_stub();
  setenv("WEIR_CHECK", "1", 1);
}
