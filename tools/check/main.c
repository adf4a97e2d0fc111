// SPDX-License-Identifier: Apache-2.0
#include "check/check.h"

int main(int argc, char **argv) {
  return weir__check_main(argc, argv);
}
