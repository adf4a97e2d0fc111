// SPDX-License-Identifier: Apache-2.0
//
// What a caller's profile function is told of tasks (weir_context_options.profile).
//
// Events are noted with the context's lock held, and delivered without it where callbacks are called, by one thread at a
// time, in the order in which they were noted.
#ifndef WEIR_ENGINE_PROFILE_H
#define WEIR_ENGINE_PROFILE_H

#include "engine/context.h"

enum { WEIR__PROFILE_NAME_BYTES = 48 };

typedef struct weir__profile_record {
  weir_profile_event event; // but for its strings
  char label[WEIR__PROFILE_NAME_BYTES], kernel[WEIR__PROFILE_NAME_BYTES];
} weir__profile_record;

typedef struct weir__profile_list {
  weir__profile_record *records;
  size_t count, capacity;
} weir__profile_list;

typedef struct weir__profile {
  weir_profile_function function;
  void *user;
  weir__profile_list noted, given; // to be delivered; being delivered, or empty
  bool delivers;                   // a thread calls the function
} weir__profile;

// NULL: no memory.
weir__profile *weir__profile_create(weir_profile_function function, void *user);
void weir__profile_destroy(weir__profile *profile); // may be NULL

// A task is ready, and is done. The lock is held.
void weir__profile_ready(weir_context *context, const weir__task *task);
void weir__profile_done(weir_context *context, const weir__task *task, const weir__completion *completion);

// Whether events are to be delivered. The lock is held.
static inline bool weir__profile_is_due(const weir_context *context) {
  return context->profile != NULL && context->profile->noted.count > 0 && !context->profile->delivers;
}

// Delivers what was noted so far: `deliver` is called without the lock, the other two before and after it with the lock held.
void weir__profile_begin(weir__profile *profile);
void weir__profile_deliver(const weir_context *context, weir__profile *profile);
void weir__profile_end(weir__profile *profile);

#endif // WEIR_ENGINE_PROFILE_H
