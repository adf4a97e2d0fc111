// SPDX-License-Identifier: Apache-2.0
#include "engine/external.h"

const char *weir__externals_awaited(const weir_context *context, weir__id task) {
  for (const weir__external *external = context->externals.first; external != NULL; external = external->next) {
    for (const struct weir__awaiting *waiting = external->waiting; waiting != NULL; waiting = waiting->next) {
      if (waiting->task == task) return external->name;
    }
  }
  return NULL;
}
