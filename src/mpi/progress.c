// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <sched.h>
#include <sys/prctl.h>

#include "drive.h"
#include "exchange.h"
#include "job.h"
#include "nccl.h"

enum {
  SHORTEST_SLEEP_NS = 20000, // between two looks, while nobody else looks,
  OTHERS_SLEEP_NS = 200000,  // and where others do
  CARD_LOOK_NS = 2000000,    // so long after the last message this thread looks on in a context with a card,
  CARD_LIGHT_NS = 50000000,  // and so long it sleeps the shortest time
  OTHERS_NS = 100000,        // who has not driven for so long does not drive any more
  ENOUGH_CORES = 4,
};

// Sleeps until something is to be done, for so long at most.
static void sleep_for(weir_mpi *mpi, uint64_t ns) {
  pthread_mutex_lock(&mpi->shared);
  atomic_store_explicit(&mpi->sleeps_long, ns > OTHERS_SLEEP_NS, memory_order_relaxed);
  if (!mpi->stops) weir__mpi_sleep(mpi, &mpi->wake, ns);
  atomic_store_explicit(&mpi->sleeps_long, false, memory_order_relaxed);
  pthread_mutex_unlock(&mpi->shared);
}

// Nobody else drives once it stops.
static bool has_stopped(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->shared);
  bool stops = mpi->stops && mpi->inbox == NULL;
  pthread_mutex_unlock(&mpi->shared);
  return stops && !atomic_load_explicit(&mpi->has_pending, memory_order_relaxed);
}

// After a failure: what is on its way gets a little time, and is then left. The memory of what cannot be cancelled is
// not freed, since the transport may still use it.
static bool gives_up(weir_mpi *mpi, uint64_t *stopped_ns) {
  if (weir__mpi_is_fine(mpi)) return false;
  pthread_mutex_lock(&mpi->shared);
  bool stops = mpi->stops;
  pthread_mutex_unlock(&mpi->shared);
  uint64_t now = weir__mpi_now();
  if (stops && *stopped_ns == 0) *stopped_ns = now;
  return stops && now > *stopped_ns + WEIR__MPI_LAST_NS;
}

// Whether others have driven since `*seen`, and may go on to do so.
static bool others_drive(weir_mpi *mpi, uint64_t *seen) {
  uint64_t driven_ns = atomic_load_explicit(&mpi->driven_ns, memory_order_relaxed);
  bool others = driven_ns != *seen && weir__mpi_now() < driven_ns + OTHERS_NS;
  *seen = driven_ns;
  return others;
}

// Whether a thread that only looks takes no core that others need.
static bool has_cores(void) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) >= ENOUGH_CORES;
}

// In a context with a card workers sleep while the card computes, and what it waits for is found by this thread alone.
// Messages are on their way, and something has happened in this time.
static bool awaits_for_card(const weir_mpi *mpi, uint64_t ns) {
  return mpi->direct.card != NULL && atomic_load_explicit(&mpi->has_pending, memory_order_relaxed) &&
         weir__mpi_now() < atomic_load_explicit(&mpi->busy_ns, memory_order_relaxed) + ns;
}

// It sleeps no longer than it must.
static bool sleeps_lightly(weir_mpi *mpi) {
  return weir__mpi_awaits_collectives(mpi) || awaits_for_card(mpi, CARD_LIGHT_NS);
}

// Cards wait for a collective or a message, so that the nap of one thread is one of all ranks: then it looks on for a while
// before it sleeps, where there are cores for that.
static void rest(weir_mpi *mpi, bool looks_on) {
  uint64_t again_ns = weir__mpi_drive_again(mpi);
  bool collects = atomic_load_explicit(&mpi->communicator_count, memory_order_relaxed) > 0;
  if (looks_on && ((again_ns == 0 && collects) || awaits_for_card(mpi, CARD_LOOK_NS)))
    sched_yield();
  else
    sleep_for(mpi, again_ns < SHORTEST_SLEEP_NS || sleeps_lightly(mpi) ? SHORTEST_SLEEP_NS : again_ns);
}

void *weir__mpi_progress(void *argument) {
  weir_mpi *mpi = argument;
  prctl(PR_SET_NAME, "weir-mpi");
  prctl(PR_SET_TIMERSLACK, 1000);
  uint64_t seen = 0, stopped_ns = 0;
  bool looks_on = has_cores();
  for (;;) {
    if (others_drive(mpi, &seen)) { // a worker that found nothing to look for just before a collective does not go on
      sleep_for(mpi, sleeps_lightly(mpi) ? SHORTEST_SLEEP_NS : OTHERS_SLEEP_NS);
      continue;
    }
    bool any = weir__mpi_drive(mpi);
    seen = atomic_load_explicit(&mpi->driven_ns, memory_order_relaxed);
    if (any) continue;
    if (has_stopped(mpi) || gives_up(mpi, &stopped_ns)) break;
    rest(mpi, looks_on);
  }
  weir__mpi_drive_last(mpi);
  weir__mpi_settle_doubted(mpi);
  if (mpi->pending != NULL) weir__mpi_direct_keep_pinned(&mpi->direct);
  for (weir__mpi_message *left = mpi->pending; left != NULL; left = left->next) {
    weir_event_release(left->event);
    weir_event_release(left->held);
    left->event = left->held = NULL;
  }
  mpi->leaves_some = !mpi->transport->close(mpi->transport, !weir__mpi_is_fine(mpi));
  return NULL;
}
