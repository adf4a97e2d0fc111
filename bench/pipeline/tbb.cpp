// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "peer.h"

namespace {

std::unique_ptr<tbb::global_control> limit;
std::unique_ptr<tbb::task_arena> arena;

} // namespace

void bench_tbb_start(int workers) {
  limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, workers);
  arena = std::make_unique<tbb::task_arena>(workers);
}

void bench_tbb_stop(void) {
  arena.reset();
  limit.reset();
}

void bench_tbb_run(uint64_t tokens, uint32_t lines, bool parallel, const bench_load *load) {
  using tbb::filter_mode;
  filter_mode middle = parallel ? filter_mode::parallel : filter_mode::serial_in_order;
  arena->execute([=] {
    uint64_t next = 0;
    auto source = [=, &next](tbb::flow_control &control) -> uint64_t {
      if (next == tokens) {
        control.stop();
        return 0;
      }
      bench_work(load);
      return next++;
    };
    auto step = [=](uint64_t token) -> uint64_t {
      bench_work(load);
      return token;
    };
    auto end = [=](uint64_t) { bench_work(load); };
    tbb::parallel_pipeline(lines, tbb::make_filter<void, uint64_t>(filter_mode::serial_in_order, source) &
                                      tbb::make_filter<uint64_t, uint64_t>(middle, step) &
                                      tbb::make_filter<uint64_t, uint64_t>(middle, step) &
                                      tbb::make_filter<uint64_t, void>(filter_mode::serial_in_order, end));
  });
}
