// SPDX-License-Identifier: Apache-2.0
#include "device/open.h"

#include <stdio.h>

void weir__open_accuse(weir__open *open, weir_status status, const char *text) {
  open->status = status;
  snprintf(open->text, sizeof open->text, "%s", text);
}
