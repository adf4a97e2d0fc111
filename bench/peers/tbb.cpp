// SPDX-License-Identifier: Apache-2.0
//
// oneTBB: a task group for independent tasks, else a flow graph of continue_nodes whose edges are found by hand, with
// the last writer and the readers since of each cell. Edges cannot be added to a graph that runs (a node that fired
// does not signal successors that come later), so the graph is built first and then started; both are timed.
#include <deque>
#include <memory>
#include <vector>

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

#include "runtime.h"

namespace {

using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
using message = tbb::flow::continue_msg;

struct cell_users {
  node *writer = nullptr;
  std::vector<node *> readers;
};

// A flow graph under construction.
struct builder {
  tbb::flow::graph graph;
  std::deque<node> nodes;
  std::vector<node *> roots;
  bool has_predecessor = false;

  template <typename body> node *begin_task(const body &run) {
    has_predecessor = false;
    return &nodes.emplace_back(graph, run);
  }

  void add_edge(node *predecessor, node *task) {
    if (!predecessor) return;
    tbb::flow::make_edge(*predecessor, *task);
    has_predecessor = true;
  }

  void add_read(cell_users &cell, node *task) {
    add_edge(cell.writer, task);
    cell.readers.push_back(task);
  }

  void add_write(cell_users &cell, node *task) {
    for (node *reader : cell.readers) add_edge(reader, task);
    if (cell.readers.empty()) add_edge(cell.writer, task);
    cell.readers.clear();
    cell.writer = task;
  }

  void end_task(node *task) {
    if (!has_predecessor) roots.push_back(task);
  }

  void run() {
    for (node *root : roots) root->try_put(message());
    graph.wait_for_all();
  }
};

std::unique_ptr<tbb::global_control> limit;
std::unique_ptr<tbb::task_arena> arena;
std::unique_ptr<builder> last_graph; // released outside the timed part

const char *start(const char *) {
  limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, WEIR__BENCH_WORKERS);
  arena = std::make_unique<tbb::task_arena>(WEIR__BENCH_WORKERS);
  return nullptr;
}

void stop() {
  last_graph.reset();
  arena.reset();
  limit.reset();
}

const char *prepare(const weir__bench_tasks *) {
  last_graph = nullptr;
  return nullptr;
}

void run_independent(const weir__bench_tasks *tasks) {
  arena->execute([=] {
    tbb::task_group group;
    uint64_t *cells = tasks->cells;
    for (uint64_t i = 0; i < tasks->count; i++) {
      group.run([=] { cells[i] = weir__bench_mix(i, i, i); });
    }
    group.wait();
  });
}

void build_random(builder &build, const weir__bench_tasks *tasks) {
  std::vector<cell_users> users(WEIR__BENCH_CELLS);
  for (uint64_t i = 0; i < tasks->count; i++) {
    const weir__bench_access &access = tasks->accesses[i];
    const uint64_t *first = &tasks->cells[access.read[0]], *second = &tasks->cells[access.read[1]];
    uint64_t *output = &tasks->cells[access.write];
    node *task = build.begin_task([=](const message &) { *output = weir__bench_mix(*first, *second, i); });
    build.add_read(users[access.read[0]], task);
    build.add_read(users[access.read[1]], task);
    build.add_write(users[access.write], task);
    build.end_task(task);
  }
}

void run_chain(const weir__bench_tasks *tasks) {
  arena->execute([=] {
    last_graph = std::make_unique<builder>();
    cell_users users;
    uint64_t *cell = tasks->cells;
    for (uint64_t i = 0; i < tasks->count; i++) {
      node *task = last_graph->begin_task([=](const message &) { *cell = weir__bench_mix(*cell, *cell, i); });
      last_graph->add_write(users, task);
      last_graph->end_task(task);
    }
    last_graph->run();
  });
}

void record(const weir__bench_tasks *tasks) {
  arena->execute([=] {
    last_graph = std::make_unique<builder>();
    build_random(*last_graph, tasks);
  });
}

void replay(const weir__bench_tasks *) {
  arena->execute([] { last_graph->run(); });
}

void run_random(const weir__bench_tasks *tasks) {
  record(tasks);
  replay(tasks);
}

void run_grid(weir__bench_grid *grid) {
  arena->execute([=] {
    builder build;
    std::vector<cell_users> users(static_cast<size_t>(grid->steps) * WEIR__BENCH_WIDTH);
    for (int64_t step = 0; step < grid->steps; step++) {
      int64_t end = weir__bench_end_point(grid, step);
      for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) {
        node *task = build.begin_task([=](const message &) { weir__bench_grid_task_in_place(grid, step, point); });
        weir__bench_inputs inputs = weir__bench_grid_inputs(grid, step, point);
        size_t row = static_cast<size_t>(step) * WEIR__BENCH_WIDTH;
        for (uint8_t i = 0; i < inputs.count; i++) {
          build.add_read(users[row - WEIR__BENCH_WIDTH + inputs.points[i]], task);
        }
        build.add_write(users[row + static_cast<size_t>(point)], task);
        build.end_task(task);
      }
    }
    build.run();
  });
}

} // namespace

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

int main(int argc, char **argv) {
  weir__bench_runtime runtime = {};
  runtime.name = "oneTBB " TEXT(TBB_VERSION_MAJOR) "." TEXT(TBB_VERSION_MINOR);
  runtime.start = start;
  runtime.stop = stop;
  runtime.prepare = prepare;
  runtime.independent = run_independent;
  runtime.chain = run_chain;
  runtime.random = run_random;
  runtime.record = record;
  runtime.replay = replay;
  runtime.grid_run = run_grid;
  return weir__bench_runtime_main(&runtime, argc, argv);
}
