// SPDX-License-Identifier: Apache-2.0
//
// What single calls of the driver cost the host.
#include <stdio.h>
#include <stdlib.h>

#include "graphs.h"
#include "launches.h"
#include "ways.h"

static double median_of(double *samples, uint32_t runs) {
  return gpu_statistics(samples, runs).median;
}

// Time of one call of `call`, repeated `count` times a run with an idle card before each run.
#define TIME_CALLS(out_us, count, call)                                                                                \
  do {                                                                                                                 \
    for (uint32_t run_ = 0; run_ < runs + 2; run_++) {                                                                 \
      GPU_CHECK(gpu.synchronize());                                                                                    \
      double start_ = gpu_now_us();                                                                                    \
      for (uint32_t i = 0; i < (count); i++) GPU_CHECK(call);                                                          \
      if (run_ >= 2) samples[run_ - 2] = (gpu_now_us() - start_) / (count);                                            \
    }                                                                                                                  \
    *(out_us) = median_of(samples, runs);                                                                              \
  } while (0)

static void streams_and_events(uint32_t runs, double *samples) {
  void *stream = gpu_streams()[0], *other = gpu_streams()[1], **events = gpu_events(64);
  uint64_t address = 0, *word = gpu_shared_words(2, &address);
  gpu_spin_launch empty = {1, 32, 0, 0, 0, 0};
  uint64_t zero = 0;
  void *parameters[] = {&zero, &zero, &zero};
  double launch, record, wait, query, write, elsewhere, event_seen[64], write_seen[64];
  TIME_CALLS(&launch, 64, gpu.launch_kernel(spin.function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
  TIME_CALLS(&elsewhere, 64,
             gpu.launch_kernel(spin.function, 1, 1, 1, 32, 1, 1, 0, gpu_streams()[i % 16], parameters, NULL));
  double busy, extra, one_node;
  size_t bytes = 24;
  uint64_t packed[3] = {0, 0, 0};
  void *extras[] = {(void *)1, packed, (void *)2, &bytes, NULL}; // CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END
  TIME_CALLS(&extra, 64, gpu.launch_kernel(spin.function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, extras));
  gpu_program single = {.count = 1, .launches = &empty};
  gpu_graph node;
  gpu_graph_build(&single, NULL, 0, 1, &node);
  gpu_graph_instantiate(&node);
  TIME_CALLS(&one_node, 64, gpu.graph_launch(node.exec, stream));
  for (uint32_t run = 0; run < runs; run++) {
    gpu_spin_launch slow = {1, 32, 0, gpu_spin_ticks(1000), 0, 0};
    GPU_CHECK(gpu.synchronize());
    gpu_spin_put(stream, &slow);
    double start = gpu_now_us();
    for (uint32_t i = 0; i < 64; i++) gpu_spin_put(stream, &empty);
    samples[run] = (gpu_now_us() - start) / 64;
  }
  busy = median_of(samples, runs);
  GPU_CHECK(gpu.synchronize());
  gpu_graph_destroy(&node);
  printf("g. launch behind a slow kernel %.2f, with packed parameters %.2f, of a graph of one node %.2f\n", busy, extra,
         one_node);
  TIME_CALLS(&record, 64, gpu.event_record(events[i], stream));
  TIME_CALLS(&wait, 64, gpu.stream_wait_event(other, events[i], 0));
  TIME_CALLS(&query, 64, gpu.event_query(events[i]));
  TIME_CALLS(&write, 64, gpu.stream_write_value(stream, address, 1, 0));
  uint32_t polls = runs < 64 ? runs : 64;
  for (uint32_t run = 0; run < polls; run++) {
    GPU_CHECK(gpu.synchronize());
    double start = gpu_now_us();
    gpu_spin_put(stream, &empty);
    GPU_CHECK(gpu.event_record(events[0], stream));
    while (gpu.event_query(events[0]) != 0) {
    }
    event_seen[run] = gpu_now_us() - start;
    start = gpu_now_us();
    gpu_spin_put(stream, &empty);
    GPU_CHECK(gpu.stream_write_value(stream, address, run + 2, 0));
    while (*(volatile uint64_t *)word != run + 2) {
    }
    write_seen[run] = gpu_now_us() - start;
  }
  printf("g. host cost: launch %.2f, over 16 streams %.2f, record %.2f, wait %.2f, query %.2f, write value %.2f; empty "
         "kernel until an event query sees it %.1f, until a written value is seen %.1f\n",
         launch, elsewhere, record, wait, query, write, median_of(event_seen, polls), median_of(write_seen, polls));
}

// A graph of `count` nodes shaped like a narrow network: two chains that meet every eighth node.
static void shape(uint32_t count, gpu_program *out_program) {
  gpu_program program = {.count = count, .launches = gpu_memory(count, sizeof(gpu_spin_launch))};
  weir__plan_edge *edges = gpu_memory((size_t)count * 2, sizeof *edges);
  size_t edge_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    program.launches[i] = (gpu_spin_launch){.blocks = 4, .threads = 128, .ticks = gpu_spin_ticks(1)};
    if (i >= 2) edges[edge_count++] = (weir__plan_edge){i - 2, i};
    if (i >= 1 && i % 8 < 2) edges[edge_count++] = (weir__plan_edge){i - 1, i};
  }
  if (weir__plan_graph_build(count, edges, edge_count, &program.buffer) != WEIR_OK) exit(1);
  free(edges);
  *out_program = program;
}

static void node_calls(uint32_t count, uint32_t runs, double *samples) {
  gpu_program program;
  gpu_graph graph;
  shape(count, &program);
  void *stream = gpu_streams()[0], *parameters[3];
  double build = 0, instantiate = 0, destroy = 0, same, other, in_graph, update, enable, upload_clean, launch;
  for (uint32_t run = 0; run < 20; run++) {
    double start = gpu_now_us();
    gpu_graph_build(&program, &program.buffer, 0, count, &graph);
    double built = gpu_now_us();
    gpu_graph_instantiate(&graph);
    double end = gpu_now_us();
    gpu_graph_destroy(&graph);
    samples[run] = built - start;
    samples[20 + run] = end - built;
    samples[40 + run] = gpu_now_us() - end;
  }
  build = median_of(samples, 20) / count;
  instantiate = median_of(samples + 20, 20) / count;
  destroy = median_of(samples + 40, 20) / count;
  gpu_graph_build(&program, &program.buffer, 0, count, &graph);
  gpu_graph_instantiate(&graph);
  double first = gpu_now_us();
  GPU_CHECK(gpu.graph_upload(graph.exec, stream));
  double upload = gpu_now_us() - first;
  GPU_CHECK(gpu.synchronize());
  gpu_kernel_node node, changed;
  gpu_spin_node(&program.launches[0], spin.function, parameters, &node);
  changed = node;
  changed.function = spin.other;
  changed.grid[0] = 8;
  TIME_CALLS(&same, count, gpu.exec_node_set(graph.exec, graph.nodes[i], &node));
  TIME_CALLS(&other, count, gpu.exec_node_set(graph.exec, graph.nodes[i], run_ % 2 ? &node : &changed));
  TIME_CALLS(&in_graph, count, gpu.graph_node_set(graph.nodes[i], run_ % 2 ? &node : &changed));
  gpu_update_result result;
  TIME_CALLS(&update, 1, gpu.exec_update(graph.exec, graph.graph, &result));
  TIME_CALLS(&enable, count, gpu.exec_node_enable(graph.exec, graph.nodes[i], run_ % 2));
  TIME_CALLS(&upload_clean, 1, gpu.graph_upload(graph.exec, stream));
  double set_launch[2], total[5];
  TIME_CALLS(&launch, 1, gpu.graph_launch(graph.exec, stream));
  // From the first change of parameters until the card is idle: nothing changed, all nodes changed (params; function).
  for (uint32_t way = 0; way < 2; way++) {
    for (uint32_t run = 0; run < runs; run++) {
      GPU_CHECK(gpu.synchronize());
      for (uint32_t i = 0; i < count; i++)
        GPU_CHECK(gpu.exec_node_set(graph.exec, graph.nodes[i], way && run % 2 ? &changed : &node));
      double start = gpu_now_us();
      GPU_CHECK(gpu.graph_launch(graph.exec, stream));
      samples[run] = gpu_now_us() - start;
    }
    set_launch[way] = median_of(samples, runs);
  }
  // How long a launch takes with all nodes, with half of them and with none enabled.
  for (uint32_t way = 0; way < 5; way++) {
    uint32_t keep = way == 0 ? 1 : way == 1 ? 2 : way == 2 ? 4 : way == 3 ? 16 : count;
    for (uint32_t i = 0; i < count; i++) GPU_CHECK(gpu.exec_node_enable(graph.exec, graph.nodes[i], i % keep == 0));
    for (uint32_t run = 0; run < runs + 2; run++) {
      GPU_CHECK(gpu.synchronize());
      double start = gpu_now_us();
      GPU_CHECK(gpu.graph_launch(graph.exec, stream));
      GPU_CHECK(gpu.stream_synchronize(stream));
      if (run >= 2) samples[run - 2] = gpu_now_us() - start;
    }
    total[way] = median_of(samples, runs);
  }
  printf("%5u %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %8.1f %8.1f %8.1f %8.1f %8.1f | %6.1f %6.1f %6.1f %6.1f "
         "%6.1f\n",
         count, build, instantiate, destroy, same, other, in_graph, update / count, enable, upload, upload_clean,
         launch, set_launch[0], set_launch[1], total[0], total[1], total[2], total[3], total[4]);
  gpu_graph_destroy(&graph);
  weir__plan_graph_free(&program.buffer);
  free(program.launches);
}

// What it costs to change one thing of every node and launch: host time per node to set it, of the launch call, and from
// the first set until the card is idle. `update`: by the graph and an update of the executable one.
static void changes(uint32_t count, uint32_t runs, double *samples) {
  static const char *const names[] = {"nothing", "parameters", "grid", "block", "shared", "function"};
  gpu_program program;
  gpu_graph graph;
  shape(count, &program);
  gpu_graph_build(&program, &program.buffer, 0, count, &graph);
  gpu_graph_instantiate(&graph);
  void *stream = gpu_streams()[0], *parameters[3];
  for (int update = 0; update < 2; update++) {
    for (int what = 0; what < 6; what++) {
      for (uint32_t run = 0; run < runs + 2; run++) {
        gpu_spin_launch launch = program.launches[0];
        gpu_kernel_node node;
        bool odd = run % 2 == 1;
        launch.ticks += what == 1 && odd;
        launch.blocks += what == 2 && odd;
        launch.threads += what == 3 && odd ? 32 : 0;
        launch.shared_bytes += what == 4 && odd ? 1024 : 0;
        gpu_spin_node(&launch, what == 5 && odd ? spin.other : spin.function, parameters, &node);
        GPU_CHECK(gpu.synchronize());
        double start = gpu_now_us();
        gpu_update_result result;
        for (uint32_t i = 0; i < count; i++) {
          if (update)
            GPU_CHECK(gpu.graph_node_set(graph.nodes[i], &node));
          else
            GPU_CHECK(gpu.exec_node_set(graph.exec, graph.nodes[i], &node));
        }
        if (update) GPU_CHECK(gpu.exec_update(graph.exec, graph.graph, &result));
        double set = gpu_now_us();
        GPU_CHECK(gpu.graph_launch(graph.exec, stream));
        double launched = gpu_now_us();
        GPU_CHECK(gpu.stream_synchronize(stream));
        if (run < 2) continue;
        samples[run - 2] = (set - start) / count;
        samples[runs + run - 2] = launched - set;
        samples[2 * runs + run - 2] = gpu_now_us() - start;
      }
      printf("%5u %-6s %-10s set %5.2f a node, launch call %6.1f, in all %6.1f\n", count, update ? "update" : "set",
             names[what], median_of(samples, runs), median_of(samples + runs, runs),
             median_of(samples + 2 * runs, runs));
    }
  }
  gpu_graph_destroy(&graph);
  weir__plan_graph_free(&program.buffer);
  free(program.launches);
}

// A graph never seen before: built, instantiated, launched for the first time.
static void first_launch(uint32_t count, bool chain, uint32_t runs, double *samples) {
  gpu_program program;
  shape(count, &program);
  for (uint32_t run = 0; run < runs + 2; run++) {
    gpu_graph graph;
    GPU_CHECK(gpu.synchronize());
    double start = gpu_now_us();
    gpu_graph_build(&program, chain ? NULL : &program.buffer, 0, count, &graph);
    double built = gpu_now_us();
    gpu_graph_instantiate(&graph);
    double instantiated = gpu_now_us();
    GPU_CHECK(gpu.graph_launch(graph.exec, gpu_streams()[0]));
    double launched = gpu_now_us();
    GPU_CHECK(gpu.synchronize());
    if (run >= 2) {
      samples[run - 2] = (built - start) / count;
      samples[runs + run - 2] = (instantiated - built) / count;
      samples[2 * runs + run - 2] = (launched - instantiated) / count;
    }
    gpu_graph_destroy(&graph);
  }
  printf("%5u %-6s build %5.2f, instantiate %5.2f, first launch call %5.2f a node\n", count, chain ? "chain" : "two",
         median_of(samples, runs), median_of(samples + runs, runs), median_of(samples + 2 * runs, runs));
  weir__plan_graph_free(&program.buffer);
  free(program.launches);
}

void gpu_ways_costs(uint32_t runs) {
  if (runs < 20) runs = 20;
  double *samples = gpu_memory((size_t)runs * 3 + 64, sizeof *samples);
  printf("\n");
  streams_and_events(runs, samples);
  printf(
      "\nc. per node: build, instantiate, destroy, exec set (same, other function), graph node set, exec update, set "
      "enabled; per graph: upload (first, again), launch call (clean, after setting all, after changing all) | launch "
      "to end with 1, 1/2, 1/4, 1/16, one of the nodes enabled\n");
  for (uint32_t count = 16; count <= 256; count *= 2) node_calls(count, runs, samples);
  for (uint32_t count = 32; count <= 128; count *= 4) changes(count, runs, samples);
  for (uint32_t count = 8; count <= 128; count *= 4) {
    first_launch(count, true, runs, samples);
    first_launch(count, false, runs, samples);
  }
  fflush(stdout);
  free(samples);
}
