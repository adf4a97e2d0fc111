// SPDX-License-Identifier: Apache-2.0
//
// Baseline on the CPU: oneTBB's parallel_pipeline, each token a whole job.
#include <memory>

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "way_cpu_job.h"
#include "ways_cpp.h"

namespace {

struct state {
  way_cpu_job job{};
  std::unique_ptr<tbb::global_control> limit;
  std::unique_ptr<tbb::task_arena> arena;
  ~state() {
    way_cpu_job_free(&job);
  }
};

struct token_inputs {
  uint64_t token;
  void *const *inputs;
};

void *open_pipeline(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  auto made = std::make_unique<state>();
  if (!way_cpu_job_make(shape, options, &made->job, why)) return nullptr;
  int workers = options->workers > 0 ? static_cast<int>(options->workers) : 1;
  made->limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, workers);
  made->arena = std::make_unique<tbb::task_arena>(workers);
  return made.release();
}

// Tokens leave in their order, and no more than `lines` are between the ends: a token's line is free when it enters.
bool run_pipeline(void *user, uint64_t count, const job_feed *feed, char *) {
  using tbb::filter_mode;
  const way_cpu_job *job = &static_cast<state *>(user)->job;
  const uint32_t lines = job->line_count;
  static_cast<state *>(user)->arena->execute([=] {
    uint64_t next = 0;
    auto source = [=, &next](tbb::flow_control &control) -> token_inputs {
      if (next == count) {
        control.stop();
        return {};
      }
      const uint64_t token = next++;
      return {token, feed->next(feed->user, token)};
    };
    auto work = [=](token_inputs at) -> uint64_t {
      way_cpu_run(job, static_cast<uint32_t>(at.token % lines), at.inputs);
      return at.token;
    };
    auto end = [=](uint64_t token) { feed->done(feed->user, token, job->lines[token % lines].results); };
    tbb::parallel_pipeline(lines, tbb::make_filter<void, token_inputs>(filter_mode::serial_in_order, source) &
                                      tbb::make_filter<token_inputs, uint64_t>(filter_mode::parallel, work) &
                                      tbb::make_filter<uint64_t, void>(filter_mode::serial_in_order, end));
  });
  return true;
}

void close_pipeline(void *user) {
  delete static_cast<state *>(user);
}

} // namespace

const job_way job_ways_tbb[] = {{"oneTBB parallel_pipeline",
                                 "each token a whole job in a parallel filter, between a source and an end in order",
                                 open_pipeline, run_pipeline, close_pipeline}};
const uint32_t job_ways_tbb_count = 1;
