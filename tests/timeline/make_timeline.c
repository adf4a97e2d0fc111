// SPDX-License-Identifier: Apache-2.0
//
// make_timeline FILE small|hostile|graph|pipeline|lines|host|random|rank [COUNT]: writes a timeline whose contents the tests know.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/lines.h"
#include "trace/ranks.h"
#include "trace/trace.h"

static void add(weir__trace *trace, weir__trace_task task, const char *label, const char *kernel) {
  snprintf(task.label, sizeof(task.label), "%s", label);
  snprintf(task.kernel, sizeof(task.kernel), "%s", kernel);
  task.done = true;
  weir__trace_add_task(trace, &task);
}

// load -> left, right -> join on two workers; store after join in a queue of a second device.
static void fill_small(weir__trace *trace) {
  weir__trace_add_device(trace, "cpu:2", 2);
  weir__trace_add_device(trace, "sim:ideal", 3);
  weir__trace_add_buffer(trace, 7, 4096, "image");
  weir__trace_add_buffer(trace, 8, 512, "");
  weir__trace_access load[] = {{WEIR_WRITE, 7, 70, 0, 4096, {0}, 0}},
                     left[] = {{WEIR_READ_WRITE, 7, 70, 0, 2048, {0}, 0}};
  weir__trace_access right[] = {{WEIR_READ_WRITE, 7, 70, 2048, 2048, {0}, 0}, {WEIR_WRITE, 8, 80, 0, 512, {0}, 0}};
  weir__trace_wait left_waits[] = {{1, WEIR__HAZARD_RAW, 7, 0, 2048}},
                   right_waits[] = {{1, WEIR__HAZARD_RAW, 7, 2048, 4096}};
  weir__trace_wait join_waits[] = {
      {2, WEIR__HAZARD_WAR, 7, 0, 2048}, {3, WEIR__HAZARD_WAW, 7, 2048, 4096}, {2, WEIR__HAZARD_AFTER, 0, 0, 0}};
  weir__trace_wait store_waits[] = {{4, WEIR__HAZARD_STORAGE, 7, 0, 4096}};
  weir__trace_span store_spans[] = {{2, 9000, 9400, 0, "store_head"}, {2, 9500, 10000, 0, "store_tail"}};
  const uint64_t zero = 1000; // the first submission: the page counts from here
  add(trace,
      (weir__trace_task){.id = 1,
                         .tag = 101,
                         .submit_ns = zero,
                         .ready_ns = zero,
                         .start_ns = zero + 500,
                         .end_ns = zero + 2500,
                         .accesses = load,
                         .access_count = 1},
      "load", "copy");
  add(trace,
      (weir__trace_task){.id = 2,
                         .tag = 102,
                         .submit_ns = zero + 100,
                         .ready_ns = zero + 2500,
                         .start_ns = zero + 2500,
                         .end_ns = zero + 4500,
                         .accesses = left,
                         .access_count = 1,
                         .waits = left_waits,
                         .wait_count = 1},
      "conv left", "conv");
  add(trace,
      (weir__trace_task){.id = 3,
                         .tag = 103,
                         .lane = 1,
                         .submit_ns = zero + 200,
                         .ready_ns = zero + 2500,
                         .start_ns = zero + 2600,
                         .end_ns = zero + 6000,
                         .accesses = right,
                         .access_count = 2,
                         .waits = right_waits,
                         .wait_count = 1},
      "conv right", "conv");
  add(trace,
      (weir__trace_task){.id = 4,
                         .tag = 104,
                         .submit_ns = zero + 300,
                         .ready_ns = zero + 6000,
                         .start_ns = zero + 6000,
                         .end_ns = zero + 7500,
                         .accesses = load,
                         .access_count = 1,
                         .waits = join_waits,
                         .wait_count = 3},
      "join", "join");
  add(trace,
      (weir__trace_task){.id = 5,
                         .tag = 105,
                         .device = 1,
                         .lane = 2,
                         .submit_ns = zero + 400,
                         .ready_ns = zero + 7500,
                         .start_ns = zero + 8000,
                         .end_ns = zero + 9000,
                         .waits = store_waits,
                         .wait_count = 1,
                         .spans = store_spans,
                         .span_count = 2},
      "store", "copy");
  add(trace,
      (weir__trace_task){.id = 6,
                         .tag = 106,
                         .status = WEIR_ERROR_TASK_FAILED,
                         .submit_ns = zero + 500,
                         .ready_ns = zero + 500,
                         .start_ns = zero + 7600,
                         .end_ns = zero + 8100},
      "broken", "conv");
  add(trace,
      (weir__trace_task){.id = 7,
                         .tag = 107,
                         .submit_ns = zero + 600,
                         .ready_ns = zero + 2700,
                         .start_ns = zero + 4500,
                         .end_ns = zero + 4700},
      "late", "late");
}

static void fill_hostile(weir__trace *trace) {
  weir__trace_add_device(trace, "cpu:\"1\"</script><b>", 1);
  weir__trace_add_buffer(trace, 1, 64, "</script><img src=x>");
  weir__trace_access access = {WEIR_WRITE, 1, 1, 0, 64, {0}, 0};
  add(trace, (weir__trace_task){.id = 1, .tag = UINT64_MAX, .end_ns = 10, .accesses = &access, .access_count = 1},
      "</script><script>document.title='owned'</script>", "<!--<script>\x01\x1f\x7f\"\\\n");
  add(trace, (weir__trace_task){.id = 2, .start_ns = 10, .end_ns = 30},
      "broken \xC3 \xFF \xED\xA0\x80 \xC3\xA9 \xE2\x82", "@DATA@");
}

// A launch with two nodes that follow each other.
static void fill_graph(weir__trace *trace) {
  weir__trace_add_device(trace, "cpu:1", 1);
  add(trace, (weir__trace_task){.id = 3, .end_ns = 50, .graph = true}, "the launch", "graph");
  uint64_t first = weir__trace_node_id(3, 0), second = weir__trace_node_id(3, 1);
  weir__trace_wait wait = {first, WEIR__HAZARD_RAW, 1, 0, 8};
  weir__trace_task nodes[] = {{.id = first, .label = "first node", .done = true, .end_ns = 20},
                              {.id = second,
                               .label = "second node",
                               .done = true,
                               .start_ns = 20,
                               .end_ns = 50,
                               .waits = &wait,
                               .wait_count = 1}};
  for (int i = 0; i < 2; i++) weir__trace_add_node(trace, &nodes[i]);
}

static void add_span(weir__trace_pipeline *pipeline, uint32_t line, weir__trace_doing doing, uint8_t stage,
                     uint64_t token, uint64_t start_ns) {
  weir__trace_line_span span = {.start_ns = start_ns, .token = token, .doing = doing, .stage = stage};
  span.has_token = doing != WEIR__TRACE_FREE;
  weir__trace_line_begin(weir__trace_line_at(pipeline, line), &span, true);
}

// Two tokens on two lines: "read" and "write" are serial, "compute" awaits its task. The second token still waits for its turn.
static void fill_pipeline(weir__trace *trace) {
  static const weir__trace_stage stages[] = {{"read", true}, {"compute", false}, {"<img src=x>", true}};
  weir__trace_add_device(trace, "cpu:1", 1);
  weir__trace_pipeline *pipeline = weir__trace_add_pipeline(trace, stages, 3, 2);
  if (!pipeline) return;
  const uint64_t zero = 1000; // the page counts from here
  for (uint32_t i = 0; i < 2; i++) {
    uint64_t token = 11 + i, start = zero + 2000 * i;
    add_span(pipeline, i, WEIR__TRACE_FREE, 0, 0, zero);
    add_span(pipeline, i, WEIR__TRACE_BUSY, 0, token, start + 1000);
    add_span(pipeline, i, WEIR__TRACE_BUSY, 1, token, start + 2000);
    add_span(pipeline, i, WEIR__TRACE_TASKS, 1, token, start + 2500);
    weir__trace_task task = {.id = 1 + i, .tag = token, .submit_ns = start + 2100, .ready_ns = start + 2100};
    task.start_ns = start + 2600;
    task.end_ns = start + 4500;
    task.has_origin = true;
    task.origin = (weir__trace_origin){.line = i, .stage = 1, .token = token};
    add(trace, task, "compute", "kernel");
  }
  add_span(pipeline, 0, WEIR__TRACE_THREAD, 1, 11, zero + 4600);
  add_span(pipeline, 0, WEIR__TRACE_BUSY, 2, 11, zero + 5000);
  add_span(pipeline, 1, WEIR__TRACE_TURN, 2, 12, zero + 6600);
  weir__trace_set_now(trace, zero + 9000);
}

// Tokens that have no tasks, on eight lines.
static void fill_lines(weir__trace *trace, uint64_t count) {
  static const weir__trace_stage stages[] = {{"first", true}, {"second", false}};
  enum { LINES = 8 };
  weir__trace_add_device(trace, "cpu:1", 1);
  weir__trace_pipeline *pipeline = weir__trace_add_pipeline(trace, stages, 2, LINES);
  for (uint64_t token = 0; pipeline && token < count; token++) {
    uint32_t line = token % LINES;
    add_span(pipeline, line, WEIR__TRACE_BUSY, 0, token, 100 * token);
    add_span(pipeline, line, WEIR__TRACE_THREAD, 1, token, 100 * token + 90);
    add_span(pipeline, line, WEIR__TRACE_BUSY, 1, token, 100 * token + 300);
    add_span(pipeline, line, WEIR__TRACE_FREE, 0, token, 100 * token + 700);
  }
}

static uint32_t random_below(uint64_t *state, uint32_t bound) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % bound;
}

// A random program, list-scheduled: each task waits for up to two of the 32 before it.
static void fill_random(weir__trace *trace, uint64_t count) {
  static const char *const kernels[] = {"conv",   "relu",    "batch_norm", "add",  "max_pool",
                                        "matmul", "softmax", "cat",        "copy", "mean"};
  enum { LANES = 8, RECENT = 32 };
  uint64_t state = 1, free_at[2][LANES] = {{0}}, ends[RECENT] = {0};
  weir__trace_add_device(trace, "cpu:8", LANES);
  weir__trace_add_device(trace, "sim:h200", LANES);
  for (uint64_t id = 1; id <= count; id++) {
    weir__trace_task task = {.id = id, .tag = id, .device = random_below(&state, 2), .submit_ns = id * 300};
    weir__trace_wait waits[2];
    weir__trace_access access = {WEIR_READ_WRITE, id % 64, id % 64, 0, 4096, {0}, 0};
    task.ready_ns = task.submit_ns;
    for (uint32_t w = random_below(&state, 3); w > 0 && id > RECENT; w--) {
      uint64_t from = id - 1 - random_below(&state, RECENT - 1);
      if (ends[from % RECENT] <= task.submit_ns) continue;
      waits[task.wait_count++] = (weir__trace_wait){from, WEIR__HAZARD_RAW, id % 64, 0, 4096};
      if (ends[from % RECENT] > task.ready_ns) task.ready_ns = ends[from % RECENT];
    }
    for (uint32_t lane = 1; lane < LANES; lane++) {
      if (free_at[task.device][lane] < free_at[task.device][task.lane]) task.lane = lane;
    }
    uint64_t *lane_free = &free_at[task.device][task.lane];
    task.start_ns = task.ready_ns > *lane_free ? task.ready_ns : *lane_free;
    task.end_ns = *lane_free = ends[id % RECENT] = task.start_ns + 200 + random_below(&state, 8000);
    task.waits = waits;
    task.accesses = &access;
    task.access_count = 1;
    const char *kernel = kernels[random_below(&state, 10)];
    char label[48];
    snprintf(label, sizeof(label), "%s.%" PRIu64, kernel, id);
    add(trace, task, label, kernel);
  }
}

// Two host tasks and two of a kernel; the host waits for the first before it submits the others.
static void fill_host(weir__trace *trace) {
  static const char *const labels[] = {"read input", "left", "right", "write output"};
  static const uint64_t times[][3] = {{0, 100, 1500}, {2000, 2100, 3100}, {2010, 2200, 2700}, {2020, 2700, 3200}};
  weir__trace_add_device(trace, "cpu:2", 2);
  for (uint64_t i = 0; i < 4; i++) {
    add(trace,
        (weir__trace_task){.id = i + 1,
                           .lane = i == 2 || i == 3,
                           .submit_ns = times[i][0],
                           .ready_ns = times[i][0],
                           .start_ns = times[i][1],
                           .end_ns = times[i][2]},
        labels[i], i == 0 || i == 3 ? "host" : "kernel");
  }
  weir__trace_add_host_wait(trace, &(weir__trace_host_wait){.cause = WEIR__TRACE_EVENT,
                                                            .reached = true,
                                                            .task = 1,
                                                            .after = 1,
                                                            .thread = 77,
                                                            .start_ns = 50,
                                                            .end_ns = 1950});
  weir__trace_add_host_wait(
      trace,
      &(weir__trace_host_wait){
          .cause = WEIR__TRACE_WINDOW, .reached = true, .after = 2, .thread = 77, .start_ns = 2000, .end_ns = 2010});
}

// Rank 0 makes 64 bytes and sends them; rank 1 gets and uses them. Its clock began 1000 ns later.
static void fill_rank(weir__trace *trace, uint32_t rank) {
  static const char *const labels[2][2] = {{"make", "copy out"}, {"from rank 0: use", "use"}};
  static const weir_mode modes[2][2] = {{WEIR_WRITE, WEIR_READ}, {WEIR_WRITE, WEIR_READ}};
  weir__trace_add_device(trace, "cpu:1", 1);
  weir__trace_add_buffer(trace, 3 + rank, 64, "");
  weir__trace_set_rank(trace, &(weir__trace_rank){.rank = rank, .ranks = 2, .zero_ns = 5000 + 1000 * rank});
  weir__trace_share_buffer(trace, 3 + rank, 1);
  for (uint32_t i = 0; i < 2; i++) {
    weir__trace_access access = {modes[rank][i], 3 + rank, 1, 0, 64, {0}, 0};
    weir__trace_wait wait = {1, WEIR__HAZARD_RAW, 3 + rank, 0, 64};
    uint64_t start = (rank == 0 ? 100 : 1000) + 500 * i;
    weir__trace_task task = {.id = i + 1,
                             .submit_ns = 10,
                             .ready_ns = start,
                             .start_ns = start,
                             .end_ns = start + 500,
                             .accesses = &access,
                             .access_count = 1,
                             .waits = &wait,
                             .wait_count = i,
                             .call = i == rank ? 2 + rank : 3};
    if (i != rank)
      task.message = (weir__trace_message){rank == 0 ? WEIR__TRACE_SENDS : WEIR__TRACE_RECEIVES, 1 - rank, 0};
    add(trace, task, labels[rank][i], "host");
  }
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "Usage: make_timeline FILE small|hostile|graph|pipeline|lines|host|random|rank [COUNT]\n");
    return 2;
  }
  weir__trace *trace = weir__trace_create();
  if (!trace) return 1;
  if (strcmp(argv[2], "small") == 0) fill_small(trace);
  if (strcmp(argv[2], "hostile") == 0) fill_hostile(trace);
  if (strcmp(argv[2], "graph") == 0) fill_graph(trace);
  if (strcmp(argv[2], "pipeline") == 0) fill_pipeline(trace);
  if (strcmp(argv[2], "host") == 0) fill_host(trace);
  if (strcmp(argv[2], "rank") == 0) fill_rank(trace, argc > 3 ? (uint32_t)strtoull(argv[3], NULL, 10) : 0);
  if (strcmp(argv[2], "lines") == 0) fill_lines(trace, argc > 3 ? strtoull(argv[3], NULL, 10) : 1000);
  if (strcmp(argv[2], "random") == 0) fill_random(trace, argc > 3 ? strtoull(argv[3], NULL, 10) : 1000);
  char message[256] = "", title[64];
  snprintf(title, sizeof(title), "%s <run>", argv[2]);
  weir_status status = weir__trace_save(trace, argv[1], title, message, sizeof(message));
  if (status != WEIR_OK) fprintf(stderr, "make_timeline: %s\n", message);
  weir__trace_destroy(trace);
  return status == WEIR_OK ? 0 : 1;
}
