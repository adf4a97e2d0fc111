// SPDX-License-Identifier: Apache-2.0
//
// Baseline on the CPU: oneTBB's parallel_pipeline, each token a whole job, whose steps are calls.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

extern "C" {
#include "ways.h"
}

namespace {

constexpr size_t ALIGNMENT = 64;

struct memory_free {
  void operator()(void *memory) const {
    std::free(memory);
  }
};
using memory = std::unique_ptr<void, memory_free>;

memory allocate(uint64_t bytes) {
  void *made = std::aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
  if (!made) throw std::bad_alloc();
  return memory(std::memset(made, 0, bytes));
}

struct line {
  std::vector<memory> owned;
  std::vector<void *> buffers, results;  // results: by number of host memory; NULL for inputs
  std::vector<std::vector<void *>> args; // by step
};

struct state {
  const job_shape *shape;
  std::vector<line> lines;
  std::unique_ptr<tbb::global_control> limit;
  std::unique_ptr<tbb::task_arena> arena;
};

void *own(line &l, uint64_t bytes) {
  l.owned.push_back(allocate(bytes));
  return l.owned.back().get();
}

void make_line(const job_shape *shape, line &l) {
  for (uint32_t i = 0; i < shape->buffer_count; i++) l.buffers.push_back(own(l, shape->buffer_bytes[i]));
  l.results.resize(shape->host_count);
  l.args.resize(shape->step_count);
  for (uint32_t s = 0; s < shape->step_count; s++) {
    const job_step &step = shape->steps[s];
    if (step.kind == JOB_COPY_OUT && !l.results[step.host]) l.results[step.host] = own(l, shape->host_bytes[step.host]);
    for (uint32_t i = 0; step.kind == JOB_KERNEL && i < step.arg_count; i++) {
      const job_arg &arg = step.args[i];
      void *value = arg.is_value ? std::memcpy(own(l, sizeof arg.value), arg.value, sizeof arg.value) : nullptr;
      l.args[s].push_back(arg.is_value ? value : l.buffers[arg.buffer]);
    }
  }
}

void run_step(const job_shape *shape, const line &l, uint32_t s, void *const *inputs) {
  const job_step &step = shape->steps[s];
  if (step.kind == JOB_COPY_IN) {
    std::memcpy(l.buffers[step.buffer], inputs[step.host], shape->host_bytes[step.host]);
  } else if (step.kind == JOB_COPY_OUT) {
    std::memcpy(l.results[step.host], l.buffers[step.buffer], shape->host_bytes[step.host]);
  } else {
    weir_work work = {};
    work.args = l.args[s].data();
    work.arg_count = step.arg_count;
    work.end = 1;
    for (int i = 0; i < 3; i++) {
      work.groups[i] = way_groups(&step, i);
      work.end *= work.groups[i];
    }
    step.code->function(&work);
  }
}

bool is_cpu(const char *device) {
  if (std::strncmp(device, "cpu", 3) != 0) return false;
  return device[3] == '\0' || (device[3] == ':' && std::strspn(device + 4, "0123456789") == std::strlen(device + 4));
}

void *open_pipeline(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  if (!is_cpu(options->device)) {
    way_refuse(why, "it runs on 'cpu' and 'cpu:N', and not on '%.60s'", options->device);
    return nullptr;
  }
  try {
    auto made = std::make_unique<state>();
    made->shape = shape;
    made->lines.resize(options->lines > 0 ? options->lines : 1);
    for (line &l : made->lines) make_line(shape, l);
    int workers = options->workers > 0 ? static_cast<int>(options->workers) : 1;
    made->limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, workers);
    made->arena = std::make_unique<tbb::task_arena>(workers);
    return made.release();
  } catch (const std::bad_alloc &) {
    way_refuse(why, "no memory for %u lines", options->lines);
    return nullptr;
  }
}

struct token_inputs {
  uint64_t token;
  void *const *inputs;
};

// Tokens leave in their order, and no more than `lines` are between the ends: a token's line is free when it enters.
bool run_pipeline(void *user, uint64_t count, const job_feed *feed, char *) {
  using tbb::filter_mode;
  const state *s = static_cast<state *>(user);
  const size_t lines = s->lines.size();
  s->arena->execute([=] {
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
      for (uint32_t i = 0; i < s->shape->step_count; i++) run_step(s->shape, s->lines[at.token % lines], i, at.inputs);
      return at.token;
    };
    auto end = [=](uint64_t token) { feed->done(feed->user, token, s->lines[token % lines].results.data()); };
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
