// SPDX-License-Identifier: Apache-2.0
//
// Baselines on the CPU: Taskflow's pipeline, each token a whole job, and its static graph, one job after the other. Built where
// taskflow/taskflow.hpp is found.
#include <memory>
#include <vector>

#include <taskflow/algorithm/pipeline.hpp>
#include <taskflow/taskflow.hpp>

#include "way_cpu_job.h"
#include "ways_cpp.h"

extern "C" {
#include "way_steps.h"
}

namespace {

struct state {
  way_cpu_job job{};
  way_steps steps{};
  std::unique_ptr<tf::Executor> executor;
  tf::Taskflow graph;
  std::vector<void *const *> inputs; // per line
  ~state() {
    way_steps_free(&steps);
    way_cpu_job_free(&job);
  }
};

std::unique_ptr<state> open_lines(const job_shape *shape, const job_options *options, uint32_t lines,
                                  char why[JOB_WHY]) {
  auto made = std::make_unique<state>();
  job_options own = *options;
  own.lines = lines;
  if (!way_cpu_job_make(shape, &own, &made->job, why)) return nullptr;
  made->inputs.resize(made->job.line_count);
  made->executor = std::make_unique<tf::Executor>(options->workers > 0 ? options->workers : 1);
  return made;
}

void *open_pipeline(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_lines(shape, options, options->lines, why).release();
}

bool run_pipeline(void *user, uint64_t count, const job_feed *feed, char *) {
  state *own = static_cast<state *>(user);
  auto source = [=](tf::Pipeflow &flow) {
    if (flow.token() == count)
      flow.stop();
    else
      own->inputs[flow.line()] = feed->next(feed->user, flow.token());
  };
  auto work = [=](tf::Pipeflow &flow) {
    way_cpu_run(&own->job, static_cast<uint32_t>(flow.line()), own->inputs[flow.line()]);
  };
  auto end = [=](tf::Pipeflow &flow) { feed->done(feed->user, flow.token(), own->job.lines[flow.line()].results); };
  tf::Pipeline pipeline(own->job.line_count, tf::Pipe{tf::PipeType::SERIAL, source},
                        tf::Pipe{tf::PipeType::PARALLEL, work}, tf::Pipe{tf::PipeType::SERIAL, end});
  tf::Taskflow flow;
  flow.composed_of(pipeline);
  own->executor->run(flow).wait();
  return true;
}

// Kernels are divided into as many tasks as there are workers, between two empty ones.
void *open_graph(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  auto made = open_lines(shape, options, 1, why);
  if (!made) return nullptr;
  if (!way_steps_make(shape, &made->steps)) {
    way_refuse(why, "no memory for the graph");
    return nullptr;
  }
  state *own = made.get();
  std::vector<tf::Task> begins, ends;
  for (uint32_t step = 0; step < shape->step_count; step++) {
    begins.push_back(own->graph.placeholder());
    ends.push_back(own->graph.placeholder());
    const uint32_t parts = way_cpu_step_parts(&own->job, step, static_cast<uint32_t>(own->executor->num_workers()));
    for (uint32_t part = 0; part < parts; part++) {
      auto run = [=] { way_cpu_run_part(&own->job, 0, step, part, parts, own->inputs[0]); };
      own->graph.emplace(run).succeed(begins[step]).precede(ends[step]);
    }
    for (uint32_t i = own->steps.first_before[step]; i < own->steps.first_before[step + 1]; i++)
      ends[own->steps.before[i]].precede(begins[step]);
  }
  return made.release();
}

bool run_graph(void *user, uint64_t count, const job_feed *feed, char *) {
  state *own = static_cast<state *>(user);
  for (uint64_t token = 0; token < count; token++) {
    own->inputs[0] = feed->next(feed->user, token);
    own->executor->run(own->graph).wait();
    feed->done(feed->user, token, own->job.lines[0].results);
  }
  return true;
}

void close_state(void *user) {
  delete static_cast<state *>(user);
}

} // namespace

const job_way job_ways_taskflow[] = {
    {"Taskflow pipeline", "each token a whole job in a parallel pipe, between two serial ones", open_pipeline,
     run_pipeline, close_state},
    {"Taskflow static graph", "the job's graph built beforehand, kernels divided into tasks", open_graph, run_graph,
     close_state}};
const uint32_t job_ways_taskflow_count = 2;
