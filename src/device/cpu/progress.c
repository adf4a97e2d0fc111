// SPDX-License-Identifier: Apache-2.0
//
// Workers without a task look after work outside Weir (weir_context_set_progress).
#include "base/clock.h"
#include "device/cpu/ready.h"

// Without the lock: hints are enough.
static bool has_work(weir__worker *worker) {
  const weir__cpu *cpu = worker->cpu;
  return weir__queue_count(worker) > 0 || atomic_load_explicit(&cpu->inbox_hint, memory_order_relaxed) > 0 ||
         atomic_load_explicit(&cpu->job_hint, memory_order_relaxed) > 0 || weir__cpu_others_have_work(worker);
}

// Calls the function, unless there is none or another worker does; UINT64_MAX then. Who takes the function back first
// does that, and then looks whether it is called; here the order is the other way round.
static uint64_t call(weir__progress *progress) {
  if (atomic_load_explicit(&progress->function, memory_order_relaxed) == NULL) return UINT64_MAX;
  if (atomic_exchange_explicit(&progress->called, true, memory_order_seq_cst)) return UINT64_MAX;
  weir_progress_function function = atomic_load_explicit(&progress->function, memory_order_seq_cst);
  uint64_t again_ns = function == NULL ? UINT64_MAX : function(progress->user);
  atomic_store_explicit(&progress->called, false, memory_order_release);
  return again_ns;
}

bool weir__cpu_progress(weir__worker *worker, uint64_t *out_sleep_ns, bool *out_any_work) {
  weir__host *host = worker->cpu->base.host;
  *out_sleep_ns = UINT64_MAX;
  // What is held back is looked after elsewhere.
  while (atomic_load_explicit(&host->held, memory_order_relaxed) == 0) {
    *out_sleep_ns = call(&host->progress);
    if (has_work(worker)) return true;
    if (*out_sleep_ns > 0) return false;
    *out_any_work = weir__worker_is_stuck(worker, weir__ticks());
    if (*out_any_work) return true;
  }
  return false;
}
