// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "check/check.h"

int main(int argc, char **argv) {
  int result = weir__check_main(argc, argv);
  if (result != WEIR__CHECK_PROVED || (fflush(stdout) == 0 && !ferror(stdout))) return result;
  fprintf(stderr, "weir-check: cannot write to standard output\n");
  return WEIR__CHECK_BROKEN;
}
