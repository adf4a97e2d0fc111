// SPDX-License-Identifier: Apache-2.0
//
// One case: its tasks, how they are run, and whether the card did what it should.
#include "device_launch.cuh"

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

#include "clock.h"

namespace {

enum { WIDTH = 16, SPARE_RELAYS = 4 };
const double HOST_PATIENCE_SECONDS = 4;       // for what was issued to end
const uint64_t CARD_PATIENCE_NS = 2000000000; // of a scheduler

// The tasks of a case. Task i's words on the card are words[i] and, if it tells, done[i] or that of its slot.
struct work {
  uint32_t count = 0;
  std::vector<std::vector<uint32_t>> before; // each up to two
  std::vector<task_args> args;
  std::vector<task_successors> successors;
};

struct bench {
  const launch_case *one;
  const launch_settings *settings;
  task_kernels kernels;
  work tasks;
  uint32_t *words, *done, *violations; // on the card, in one piece of memory; by task
  card_plan plan;
  card_state first; // what the scheduler begins with
  std::vector<cudaStream_t> streams;
  std::vector<cudaEvent_t> events;
  std::vector<cudaGraphExec_t> execs, schedulers;
  cudaGraphExec_t graph;
};

template <typename type> type *card_memory(size_t count) {
  void *memory = nullptr;
  launch_check(cudaMalloc(&memory, count * sizeof(type)), "cudaMalloc");
  launch_check(cudaMemset(memory, 0, count * sizeof(type)), "cudaMemset");
  return (type *)memory;
}

template <typename type> void to_card(const type *card, const std::vector<type> &values) {
  launch_check(
      cudaMemcpy(const_cast<type *>(card), values.data(), values.size() * sizeof(type), cudaMemcpyHostToDevice),
      "cudaMemcpy");
}

uint32_t random_below(uint64_t *state, uint32_t limit) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (uint32_t)((z ^ z >> 31) % limit);
}

void make_tasks(bench *b) {
  work *tasks = &b->tasks;
  uint64_t seed = 1;
  tasks->count = shape_tasks(b->one->shape, b->settings->quick);
  tasks->before.resize(tasks->count);
  tasks->args.resize(tasks->count);
  tasks->successors.assign(tasks->count, task_successors{});
  for (uint32_t i = 0; i < tasks->count; i++) {
    std::vector<uint32_t> *before = &tasks->before[i];
    if (b->one->shape == CHAIN && i > 0) before->push_back(i - 1);
    if (b->one->shape == LAYERED && i >= WIDTH) {
      uint32_t layer = (i / WIDTH - 1) * WIDTH, first = random_below(&seed, WIDTH),
               second = random_below(&seed, WIDTH - 1);
      before->push_back(layer + first);
      before->push_back(layer + (second < first ? second : second + 1));
    }
    for (uint32_t task : *before) {
      task_successors *successors = &tasks->successors[task];
      successors->to[successors->count++] = (uint16_t)i;
    }
  }
}

void set_args(bench *b, uint64_t ticks) {
  for (uint32_t i = 0; i < b->tasks.count; i++) {
    task_args args = {ticks, (uint64_t)&b->words[i], {0, 0}, (uint64_t)b->violations, 0};
    for (size_t e = 0; e < b->tasks.before[i].size(); e++) args.before[e] = (uint64_t)&b->words[b->tasks.before[i][e]];
    b->tasks.args[i] = args;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// What is made before the clock runs.

void make_streams(bench *b) {
  unsigned count = b->one->streams > 0 ? b->one->streams : 1;
  for (unsigned i = 0; i < count; i++) {
    cudaStream_t stream = nullptr;
    launch_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    b->streams.push_back(stream);
  }
  if (b->one->streams < 2 || b->one->shape != LAYERED) return;
  b->events.resize(b->tasks.count);
  for (cudaEvent_t &event : b->events)
    launch_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
}

void make_host_graph(bench *b) {
  cudaGraph_t graph = nullptr;
  std::vector<CUgraphNode> nodes;
  launch_check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  for (uint32_t i = 0; i < b->tasks.count; i++) {
    std::vector<CUgraphNode> before;
    for (uint32_t task : b->tasks.before[i]) before.push_back(nodes[task]);
    if (b->one->serial && i > 0) before.assign(1, nodes[i - 1]);
    nodes.push_back(task_node(&b->kernels, graph, before.data(), before.size(), &b->tasks.args[i]));
  }
  if (b->graph) launch_check(cudaGraphExecDestroy(b->graph), "cudaGraphExecDestroy");
  launch_check(cudaGraphInstantiate(&b->graph, graph, 0), "cudaGraphInstantiate");
  launch_check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  launch_check(cudaGraphUpload(b->graph, b->streams[0]), "cudaGraphUpload");
}

// Device graphs: one for each task, or one for each slot.
void make_device_graphs(bench *b) {
  bool set = b->one->set;
  if (set && !b->execs.empty()) return; // their parameters are set later
  for (cudaGraphExec_t exec : b->execs) launch_check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  uint32_t count = set ? b->plan.slots : b->tasks.count;
  std::vector<cudaGraphDeviceNode_t> nodes(set ? count : 0);
  b->execs.resize(count);
  double start = weir__bench_seconds();
  for (uint32_t i = 0; i < count; i++) {
    // What a slot begins with must not look like a task that was done.
    task_args args = b->tasks.args[i % b->tasks.count];
    if (set) args.own = args.violations;
    uint64_t word = b->one->tells ? (uint64_t)&b->done[i] : 0;
    b->execs[i] = task_device_graph(&b->kernels, &args, word, b->streams[0], set ? &nodes[i] : nullptr);
  }
  launch_check(cudaStreamSynchronize(b->streams[0]), "uploading graphs");
  printf("made %.4f\n", (weir__bench_seconds() - start) * 1e6 / count);
  to_card(b->plan.execs, b->execs);
  if (set) to_card(b->plan.nodes, nodes);
}

void make_plan(bench *b) {
  const launch_case *one = b->one;
  uint32_t count = b->tasks.count;
  card_plan *plan = &b->plan;
  *plan = card_plan{};
  plan->count = count;
  plan->slots = one->slots > 0 ? one->slots : (uint32_t)CARD_LAUNCHES;
  plan->window = one->window;
  plan->per_run = one->relay ? CARD_RELAY_LAUNCHES : CARD_LAUNCHES;
  plan->patience_ns = CARD_PATIENCE_NS;
  plan->offset = b->kernels.offset;
  plan->fence = b->settings->fence;
  plan->state = card_memory<card_state>(1);
  plan->execs = card_memory<cudaGraphExec_t>(std::max(count, plan->slots));
  plan->args = card_memory<task_args>(count);
  plan->successors = card_memory<task_successors>(count);
  plan->done = b->done;
  if (one->set) plan->nodes = card_memory<cudaGraphDeviceNode_t>(plan->slots);
  to_card(plan->successors, b->tasks.successors);
  if (one->relay) {
    plan->relays = (count + plan->per_run - 1) / plan->per_run + SPARE_RELAYS;
    plan->relay = card_memory<cudaGraphExec_t>(plan->relays);
  }
  b->schedulers.resize(one->relay ? plan->relays : 1);
  for (cudaGraphExec_t &exec : b->schedulers)
    exec = scheduler_graph(one->card, one->blocks, one->threads, plan, b->streams[0]);
  if (one->relay) to_card(plan->relay, b->schedulers);
  launch_check(cudaStreamSynchronize(b->streams[0]), "uploading schedulers");

  b->first = card_state{};
  for (uint32_t i = 0; i < count; i++) {
    b->first.waits[i] = (uint32_t)b->tasks.before[i].size();
    if (b->tasks.before[i].empty()) b->first.ready[b->first.ready_count++] = (uint16_t)i;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// A round.

// Waits without ever being stuck on the card.
void wait_for(cudaStream_t stream) {
  double late = weir__bench_seconds() + HOST_PATIENCE_SECONDS;
  for (;;) {
    cudaError_t error = cudaStreamQuery(stream);
    if (error == cudaSuccess) return;
    if (error != cudaErrorNotReady) launch_check(error, "running the tasks");
    if (weir__bench_seconds() > late)
      launch_fail("failed", "the card was not done after %.0f s", HOST_PATIENCE_SECONDS);
  }
}

void put_in_streams(bench *b) {
  size_t streams = b->streams.size();
  for (uint32_t i = 0; i < b->tasks.count; i++) {
    cudaStream_t stream = b->streams[i % streams];
    if (!b->events.empty()) {
      for (uint32_t task : b->tasks.before[i]) {
        if (task % streams != i % streams)
          launch_check(cudaStreamWaitEvent(stream, b->events[task], 0), "cudaStreamWaitEvent");
      }
    }
    task_put(&b->kernels, &b->tasks.args[i], stream);
    if (!b->events.empty() && b->tasks.successors[i].count > 0)
      launch_check(cudaEventRecord(b->events[i], stream), "cudaEventRecord");
  }
}

// Seconds.
double run_round(bench *b) {
  launch_check(cudaMemset(b->words, 0, (2 * b->tasks.count + 1) * sizeof(uint32_t)), "cudaMemset");
  if (b->one->card != CARD_NONE) {
    size_t head = offsetof(card_state, flights);
    launch_check(cudaMemcpy(b->plan.state, &b->first, head, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  launch_check(cudaDeviceSynchronize(), "setting memory");
  double start = weir__bench_seconds();
  if (b->one->card != CARD_NONE)
    launch_check(cudaGraphLaunch(b->schedulers[0], b->streams[0]), "launching the scheduler");
  else if (b->one->streams > 0)
    put_in_streams(b);
  else
    launch_check(cudaGraphLaunch(b->graph, b->streams[0]), "cudaGraphLaunch");
  for (cudaStream_t stream : b->streams) wait_for(stream);
  return weir__bench_seconds() - start;
}

// Ends the process unless each task ran once and after those before it. Returns the scheduler's retries.
uint32_t check_round(const bench *b) {
  uint32_t count = b->tasks.count, wrong = 0, first = 0;
  card_state state = {};
  if (b->one->card != CARD_NONE) {
    launch_check(cudaMemcpy(&state, b->plan.state, offsetof(card_state, waits), cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (state.error == CARD_LATE)
      launch_fail("failed", "the scheduler gave up after %.0f s at task %u, in run %u, after %u retries",
                  (double)CARD_PATIENCE_NS * 1e-9, state.where, state.run, state.retries);
    if (state.error == CARD_NO_RELAY) launch_fail("failed", "no scheduler was left to hand over to");
    if (state.error != 0)
      launch_fail("failed", "on the card, at task %u, in run %u, after %u retries: %s", state.where, state.run,
                  state.retries, cudaGetErrorString((cudaError_t)state.error));
  }
  std::vector<uint32_t> words(2 * count + 1);
  launch_check(cudaMemcpy(words.data(), b->words, words.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  for (uint32_t i = count; i-- > 0;) {
    if (words[i] == 1) continue;
    wrong++;
    first = i;
  }
  if (wrong > 0) launch_fail("failed", "%u tasks did not run once; task %u ran %u times", wrong, first, words[first]);
  if (words[2 * count] > 0)
    launch_fail("failed", "%u times a task began before one that it comes after", words[2 * count]);
  return state.retries;
}

void measure(bench *b, uint32_t us, double ticks_per_us) {
  uint32_t rounds = b->settings->rounds, retries = 0;
  std::vector<double> times;
  set_args(b, (uint64_t)(us * ticks_per_us));
  if (b->one->card != CARD_NONE) {
    to_card(b->plan.args, b->tasks.args);
    make_device_graphs(b);
  } else if (b->one->streams == 0) {
    make_host_graph(b);
  }
  for (uint32_t round = 0; round <= rounds; round++) {
    double seconds = run_round(b);
    uint32_t again = check_round(b);
    if (round == 0) continue; // to warm up
    times.push_back(seconds * 1e6);
    retries += again;
  }
  std::sort(times.begin(), times.end());
  printf("row %u %.6f %.6f %.6f\n", us, times[rounds / 2], times[rounds / 10], times[rounds - 1 - rounds / 10]);
  if (retries > 0) printf("retries %u\n", retries);
  fflush(stdout);
}

} // namespace

void launch_fail(const char *kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("%s ", kind);
  vprintf(format, arguments);
  printf("\n");
  fflush(stdout);
  va_end(arguments);
  _exit(0); // without the runtime's end: the card may be stuck
}

void launch_check(cudaError_t error, const char *what) {
  if (error != cudaSuccess) launch_fail("failed", "%s: %s", what, cudaGetErrorString(error));
}

uint32_t shape_times(work_shape shape, const uint32_t **out_times) {
  static const uint32_t several[MOST_TIMES] = {0, 2, 5, 10}, one[] = {5};
  *out_times = shape == LAYERED ? one : several;
  return shape == LAYERED ? 1 : MOST_TIMES;
}

uint32_t shape_tasks(work_shape shape, bool quick) {
  if (quick) return 2 * CARD_LAUNCHES + WIDTH;
  return shape == LAYERED ? 2000 : shape == CHAIN ? 480 : 6 * CARD_LAUNCHES;
}

void launch_case_run(const launch_case *one, const launch_settings *settings) {
  int devices = 0;
  // A kernel that is loaded when it is first launched would wait for a scheduler that waits for it.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) launch_fail("missing", "%s", cudaGetErrorString(error));
  if (settings->device >= devices) launch_fail("missing", "there are %d CUDA devices", devices);
  launch_check(cudaSetDevice(settings->device), "cudaSetDevice");
  launch_check(cudaFree(nullptr), "making a context");
  cudaDeviceProp properties;
  launch_check(cudaGetDeviceProperties(&properties, settings->device), "cudaGetDeviceProperties");
  if (properties.major < 9) launch_fail("missing", "%s is older than compute capability 9.0", properties.name);
  printf("card %s\n", properties.name);

  bench *b = new bench{};
  b->one = one;
  b->settings = settings;
  task_kernels_load(&b->kernels);
  make_tasks(b);
  make_streams(b);
  b->words = card_memory<uint32_t>(2 * b->tasks.count + 1);
  b->done = b->words + b->tasks.count;
  b->violations = b->done + b->tasks.count;
  if (one->card != CARD_NONE) make_plan(b);
  double ticks_per_us = card_ticks_per_us();
  const uint32_t *times;
  uint32_t count = shape_times(one->shape, &times);
  for (uint32_t t = 0; t < count; t++) measure(b, times[t], ticks_per_us);
  fflush(stdout);
  _exit(0);
}
