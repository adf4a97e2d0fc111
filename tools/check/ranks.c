// SPDX-License-Identifier: Apache-2.0
//
// Within a rank, tasks, sends and receives are a program in the order of their submission, which the usual steps check:
// buffers of different ranks are different objects. What remains is that messages carry the right versions.
#include "check/ranks.h"

#include <stdlib.h>
#include <string.h>

typedef bool rank_step(weir__ranks *self);
typedef bool check_step(weir__checker *checker);

static bool run_steps(weir__ranks *self, const weir__stream *stream) {
  static rank_step *const between[] = {weir__ranks_calls, weir__ranks_messages, weir__ranks_versions};
  static check_step *const within[] = {weir__check_commute, weir__check_program, weir__check_replicas,
                                       weir__check_storage_use, weir__check_waits};
  weir__checker *checker = self->checker;
  if (!weir__ranks_take_tasks(checker) || !weir__ranks_take_accesses(checker)) return false;
  if (checker->report->broken == 0 && stream != NULL && !weir__ranks_stream(self, stream)) return false;
  for (size_t i = 0; i < 3 && checker->report->broken == 0; i++) {
    if (!between[i](self)) return false;
  }
  for (size_t i = 0; i < sizeof within / sizeof *within; i++) {
    if (i <= 1 && checker->report->broken > 0) return true; // the rest has nothing to stand on
    if (!within[i](checker)) return false;
  }
  return true;
}

static void release(weir__ranks *self) {
  for (size_t i = 0; i < self->message_count; i++) free(self->messages[i].carried);
  free(self->messages);
  free(self->message_of);
}

// Simulated devices have a time of their own; of Vulkan devices starts are noted before what a barrier waits for has ended.
static const char *find_untimed(const weir__timeline *timeline) {
  for (size_t i = 0; i < timeline->device_count; i++) {
    const char *name = timeline->devices[i].name;
    if (strncmp(name, "sim", 3) == 0 || strncmp(name, "vulkan", 6) == 0) return name;
  }
  return NULL;
}

bool weir__check_ranks(weir__checker *checker, const weir__stream *stream) {
  weir__stream buffers = {.name = NULL};
  weir__ranks self = {.checker = checker};
  const char *untimed = find_untimed(checker->timeline);
  if (untimed != NULL) {
    weir__check_add(checker, "the times of device '%s' cannot be compared with those of others, so they prove nothing",
                    untimed);
    return true;
  }
  checker->options.ignore_host_waits = true;
  checker->stream = &buffers;
  checker->report->ranks = checker->timeline->rank_count;
  bool good = weir__ranks_take_buffers(checker->timeline, &buffers) && run_steps(&self, stream);
  checker->stream = NULL;
  free(buffers.buffers);
  release(&self);
  return good;
}
