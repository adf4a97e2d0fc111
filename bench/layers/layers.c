// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "weir/kernel.h"

extern const weir_kernel_code layer_task;

static void serial_task(const layer_graph *graph, uint32_t task, uint32_t (*cells)[LAYER_MOST_WIDTH][LAYER_WORDS]) {
  uint32_t layer = task / graph->width;
  uint32_t(*from)[LAYER_WORDS] = cells[(layer + 1) % 2], *to = cells[layer % 2][task % graph->width];
  const uint8_t *inputs = graph->inputs[task];
  for (int i = 0; i < LAYER_WORDS; i++) {
    uint32_t value = task + from[inputs[0]][i] * 3u + from[inputs[1]][i] * 5u + from[inputs[2]][i] * 7u;
    for (uint32_t round = 0; round < graph->rounds; round++) value = (value ^ value >> 15) * 0x2c1b3c6du + task;
    to[i] = value;
  }
}

bool layer_graph_make(layer_graph *graph, uint32_t tasks, uint32_t width, uint32_t rounds, uint64_t seed) {
  *graph = (layer_graph){.tasks = tasks, .width = width, .rounds = rounds};
  graph->inputs = malloc(tasks * sizeof *graph->inputs);
  uint32_t(*cells)[LAYER_MOST_WIDTH][LAYER_WORDS] = calloc(2, sizeof *cells);
  bool good = graph->inputs != NULL && cells != NULL;
  for (uint32_t task = 0; task < tasks && good; task++) {
    uint64_t bits = weir__bench_random(&seed);
    for (int i = 0; i < LAYER_INPUTS; i++) graph->inputs[task][i] = (uint8_t)((bits >> 16 * i) % width);
    serial_task(graph, task, cells);
  }
  for (uint32_t column = 0; column < width && column < tasks && good; column++) {
    uint32_t layer = (tasks - 1 - column) / width;
    memcpy(graph->last[column], cells[layer % 2][column], sizeof graph->last[column]);
  }
  free(cells);
  return good;
}

void layer_graph_free(layer_graph *graph) {
  free(graph->inputs);
  graph->inputs = NULL;
}

weir_status layer_tasks_open(layer_tasks *tasks, const char *devices, weir_issue issue, uint32_t flags) {
  memset(tasks, 0, sizeof *tasks);
  const weir_context_options options = {.devices = devices, .issue = issue, .flags = flags, .window = 4096};
  weir_status status = weir_context_create(&options, &tasks->context);
  if (status == WEIR_OK) status = weir_kernel_create_from(tasks->context, &layer_task, &tasks->kernel);
  for (uint32_t i = 0; i < 2 * LAYER_MOST_WIDTH && status == WEIR_OK; i++)
    status = weir_buffer_create(tasks->context, LAYER_WORDS * sizeof(uint32_t), &tasks->cells[i % 2][i / 2]);
  return status;
}

void layer_tasks_close(layer_tasks *tasks) {
  weir_context_release(tasks->context);
  tasks->context = NULL;
}

weir_status layer_tasks_clear(layer_tasks *tasks) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < 2 * LAYER_MOST_WIDTH && status == WEIR_OK; i++)
    status = weir_fill(tasks->cells[i % 2][i / 2], 0, LAYER_WORDS * sizeof(uint32_t), 0, NULL);
  return status == WEIR_OK ? weir_finish(tasks->context) : status;
}

weir_status layer_tasks_submit(layer_tasks *tasks, const layer_graph *graph, weir_graph *into) {
  weir_status status = WEIR_OK;
  for (uint32_t number = 0; number < graph->tasks && status == WEIR_OK; number++) {
    uint32_t layer = number / graph->width;
    weir_buffer *const *from = tasks->cells[(layer + 1) % 2];
    const uint8_t *inputs = graph->inputs[number];
    const weir_arg args[] = {weir_writes(tasks->cells[layer % 2][number % graph->width]),
                             weir_reads(from[inputs[0]]),
                             weir_reads(from[inputs[1]]),
                             weir_reads(from[inputs[2]]),
                             weir_value(&number, sizeof number),
                             weir_value(&graph->rounds, sizeof graph->rounds)};
    const weir_task task = {.kernel = tasks->kernel, .args = args, .arg_count = 6};
    status = into != NULL ? weir_graph_add(into, &task, NULL) : weir_submit(tasks->context, &task, NULL);
  }
  return status;
}

weir_status layer_tasks_check(layer_tasks *tasks, const layer_graph *graph, uint32_t *out_wrong) {
  *out_wrong = 0;
  for (uint32_t column = 0; column < graph->width && column < graph->tasks; column++) {
    uint32_t layer = (graph->tasks - 1 - column) / graph->width, found[LAYER_WORDS];
    weir_status status = weir_copy_out(tasks->cells[layer % 2][column], 0, sizeof found, found, NULL);
    if (status == WEIR_OK) status = weir_finish(tasks->context);
    if (status != WEIR_OK) return status;
    if (memcmp(found, graph->last[column], sizeof found) != 0) ++*out_wrong;
  }
  return WEIR_OK;
}
