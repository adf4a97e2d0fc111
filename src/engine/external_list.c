// SPDX-License-Identifier: Apache-2.0
//
// Who waits for external events. Nothing here submits or completes tasks.
#include "base/allocate.h"
#include "engine/external.h"

enum { AWAITING_AT_ONCE = 64 };

static void forget(weir__ending *ending) {
  weir__free(ending);
}

const weir__ending_rules weir__external_rules = {.end = forget}; // it delivers nothing

void weir__externals_give(weir_context *context, struct weir__awaiting *awaiting) {
  awaiting->next = context->externals.free;
  context->externals.free = awaiting;
  context->externals.free_count++;
}

void weir__externals_destroy(weir_context *context) {
  while (context->externals.arrays != NULL) {
    struct weir__awaiting *array = context->externals.arrays;
    context->externals.arrays = array->next;
    weir__free(array);
  }
}

// One array for each growth, whose first element links the arrays.
static bool add_array(weir_context *context) {
  struct weir__awaiting *more = weir__allocate(AWAITING_AT_ONCE * sizeof *more);
  if (more == NULL) return false;
  more[0].next = context->externals.arrays;
  context->externals.arrays = more;
  for (int i = 1; i < AWAITING_AT_ONCE; i++) weir__externals_give(context, &more[i]);
  return true;
}

bool weir__externals_reserve(weir_context *context, weir_event *const *events, uint32_t count) {
  uint32_t needed = 0;
  for (uint32_t i = 0; i < count; i++) needed += weir__external_of(events[i]) != NULL || weir__event_brings(events[i]);
  while (context->externals.free_count < needed) {
    if (!add_array(context)) return false;
  }
  return true;
}

const char *weir__externals_awaited(const weir_context *context, weir__id task) {
  for (const weir__external *external = context->externals.first; external != NULL; external = external->next) {
    for (const struct weir__awaiting *waiting = external->waiting; waiting != NULL; waiting = waiting->next) {
      if (waiting->task == task) return external->name;
    }
  }
  return NULL;
}
