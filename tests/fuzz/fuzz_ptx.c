// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes as PTX. What is read must keep the promises of ptx.h.
#include <stdlib.h>
#include <string.h>

#include "device/cuda/ptx.h"
#include "device/use.h"
#include "fuzz.h"

static void require(bool holds) {
  if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  weir__ptx_entry *entries = weir__ptx_read((const char *)data, size);
  for (const weir__ptx_entry *at = entries; at != NULL; at = at->next) {
    require((at->anywhere & ~(WEIR__USE_READS | WEIR__USE_WRITES)) == 0);
    require(at->param_count <= 2 * WEIR_MAX_ARGS && strlen(at->name) <= size);
    require(weir__ptx_find(entries, at->name) != NULL);
    for (uint32_t i = 0; i < at->param_count; i++) {
      uint8_t use = at->params[i].use;
      require((use & WEIR__USE_KNOWN) != 0);
      require((use & WEIR__USE_STORES) == 0 || (use & WEIR__USE_WRITES) != 0);
    }
  }
  weir__ptx_free(entries);
  return 0;
}
