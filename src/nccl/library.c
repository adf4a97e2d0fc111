// SPDX-License-Identifier: Apache-2.0
#include "nccl/library.h"

#include <stdio.h>

#include "device/loader.h"

static bool start(void *table, char *reason, size_t size) {
  weir__nccl_library *library = table;
  if (library->ncclGetVersion(&library->version) == WEIR__NCCL_SUCCESS) return true;
  snprintf(reason, size, "NCCL does not tell its version");
  return false;
}

const weir__nccl_library *weir__nccl_load(char *reason, size_t size) {
  static const weir__symbol SYMBOLS[] = {
#define SYMBOL(type, member, need, parameters) WEIR__SYMBOL(weir__nccl_library, member, member, need),
      WEIR__NCCL_SYMBOLS(SYMBOL)
#undef SYMBOL
  };
  static const char *const FILES[] = {"libnccl.so.2", NULL};
  static weir__nccl_library table;
  static weir__library library = {.name = "NCCL",
                                  .lacks = "NCCL lacks",
                                  .variable = "WEIR_NCCL",
                                  .files = FILES,
                                  .symbols = WEIR__SYMBOLS_OF(SYMBOLS),
                                  .table = &table,
                                  .start = start};
  return weir__library_load(&library, reason, size);
}
