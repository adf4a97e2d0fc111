// SPDX-License-Identifier: Apache-2.0
//
// Submissions that keep the GIL. To release it for a submission of a few hundred nanoseconds hands it to a worker that
// waits for it, and back: each time a switch of threads, which takes several times as long as the submission and the task
// together. A submission may keep the GIL if it surely does not wait: while half of the window is empty, as all that
// submits to such a context holds the GIL, too. (Tasks in flight are no measure: the oldest one holds the slots of later
// ones that are done.) Where functions of Python fill that half, the submitting thread gives the
// GIL to the workers for many tasks at once.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core.h"

enum { LEAST_WINDOW = 64, NAP_NS = 100000, MOST_NAPS_WITHOUT_PROGRESS = 10 };

void room_init(context *ctx, const weir_context_options *options) {
  weir_statistics counts;
  weir_context_statistics(ctx->handle, &counts);
  ctx->half_window = counts.window / 2;
  // Other devices, a limit of memory and check mode have further reasons to wait.
  const char *check = getenv("WEIR_CHECK");
  ctx->keeps_gil = counts.window >= LEAST_WINDOW && options->memory_limit == 0 &&
                   (options->flags & WEIR_CONTEXT_CHECK) == 0 && check == NULL &&
                   weir_context_device_count(ctx->handle) == 1 &&
                   strcmp(weir_device_information(weir_context_device(ctx->handle, 0))->kind, "cpu") == 0;
}

static uint64_t free_slots(weir_context *open) {
  weir_statistics counts;
  weir_context_statistics(open, &counts);
  return counts.room;
}

// Lets workers run until three quarters of the window are free, or they make no progress: then tasks wait for something
// else, perhaps for what this thread does next.
static void let_workers_run(context *ctx, uint64_t now) {
  BEGIN_WEIR(ctx)
  for (int naps = 0; now < ctx_->half_window * 3 / 2 && naps < MOST_NAPS_WITHOUT_PROGRESS; naps++) {
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    uint64_t then = free_slots(open_);
    if (then > now) naps = 0;
    now = then;
  }
  END_WEIR
}

// Threads that are about to enter without the GIL take less than half of the window.
static bool few_enter(const context *ctx) {
  return ctx->users <= ctx->half_window / 4;
}

bool room_for_one(context *ctx) {
  if (!ctx->keeps_gil) return false;
  if (in_job() || in_callback()) {
    ctx->keeps_gil = false; // what tasks submit may queue, and others wait for the queue
    return false;
  }
  if (!few_enter(ctx)) return false;
  if (ctx->room == 0) {
    uint64_t now = free_slots(ctx->handle), half = ctx->half_window;
    if (now > half) ctx->stuck = false;
    if (now <= half && !ctx->stuck) {
      let_workers_run(ctx, now);
      if (!context_alive(ctx) || !few_enter(ctx)) return false;
      now = free_slots(ctx->handle); // other threads submitted until this one had the GIL again
      ctx->stuck = now <= half;
    }
    if (now <= half) return false;
    ctx->room = now - half;
  }
  ctx->room--;
  return true;
}

void room_taken(context *ctx) {
  if (ctx->room > 0) ctx->room--;
}

void room_unknown(context *ctx) {
  ctx->room = 0;
}
