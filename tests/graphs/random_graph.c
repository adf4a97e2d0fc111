// SPDX-License-Identifier: Apache-2.0
#include "random_graph.h"

#include <string.h>

void graph_generate_arg(graph_arg *arg, random_state *random, bool boxes) {
  *arg = (graph_arg){.buffer = random_below(random, GRAPH_BUFFERS), .mode = random_between(random, 0, 2)};
  static const weir_mode modes[] = {WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE};
  arg->mode = modes[arg->mode];
  arg->lo = random_below(random, GRAPH_BYTES);
  arg->bytes = random_chance(random, 50) ? 1 + random_below(random, 3) : 1 + random_below(random, GRAPH_BYTES);
  if (random_chance(random, 15)) arg->lo = 0, arg->bytes = GRAPH_BYTES;
  if (arg->lo + arg->bytes > GRAPH_BYTES) arg->bytes = GRAPH_BYTES - arg->lo;
  if (!boxes || arg->buffer == 0 || random_chance(random, 40)) return;
  uint64_t width = 1 + random_below(random, 4), pitch = random_chance(random, 80) ? 6 : width + random_below(random, 3);
  uint64_t most = (GRAPH_BYTES - arg->lo) / pitch, rows = most < 2 ? 1 : 1 + random_below(random, (uint32_t)most);
  if (arg->lo + (rows - 1) * pitch + width > GRAPH_BYTES) return;
  arg->boxed = true;
  arg->box = (weir_box){.width = width, .pitch = pitch, .rows = rows};
  arg->bytes = (uint32_t)((rows - 1) * pitch + width);
}

static bool overlap(const graph_arg *a, const graph_arg *b) {
  return a->buffer == b->buffer && a->lo < b->lo + b->bytes && b->lo < a->lo + a->bytes;
}

static bool overlaps_another(const graph_node *node, const graph_arg *arg) {
  for (uint32_t i = 0; i < node->arg_count; i++) {
    if (overlap(&node->args[i], arg)) return true;
  }
  return false;
}

void graph_generate(graph_program *program, random_state *random, uint32_t node_count, bool boxes) {
  program->node_count = node_count;
  for (uint32_t i = 0; i < node_count; i++) {
    graph_node *node = &program->nodes[i];
    node->arg_count = 0;
    node->salt = (uint32_t)random_next(random);
    node->fails = false;
    for (uint32_t wanted = random_between(random, 1, GRAPH_ARGS); wanted > 0; wanted--) {
      graph_arg arg;
      graph_generate_arg(&arg, random, boxes);
      if (!overlaps_another(node, &arg)) node->args[node->arg_count++] = arg;
    }
  }
}

void graph_choose_failures(graph_program *program, random_state *random, uint32_t percent) {
  for (uint32_t i = 0; i < program->node_count; i++) {
    program->nodes[i].fails = random_chance(random, percent);
    atomic_store(&program->nodes[i].ran, false);
  }
}

bool graph_arg_has(const graph_arg *arg, uint32_t byte) {
  if (byte < arg->lo || byte >= arg->lo + arg->bytes) return false;
  return !arg->boxed || (byte - arg->lo) % arg->box.pitch < arg->box.width;
}

bool graph_conflict(const graph_node *a, const graph_node *b) {
  for (uint32_t i = 0; i < a->arg_count; i++) {
    for (uint32_t j = 0; j < b->arg_count; j++) {
      const graph_arg *one = &a->args[i], *other = &b->args[j];
      if (one->buffer != other->buffer || (one->mode == WEIR_READ && other->mode == WEIR_READ)) continue;
      for (uint32_t byte = 0; byte < GRAPH_BYTES; byte++) {
        if (graph_arg_has(one, byte) && graph_arg_has(other, byte)) return true;
      }
    }
  }
  return false;
}

// What a node does with the bytes of its arguments; base[i] is the first byte of argument i's buffer.
static void compute(const graph_node *node, uint8_t *const *base) {
  uint32_t sum = node->salt;
  for (uint32_t i = 0; i < node->arg_count; i++) {
    for (uint32_t byte = 0; byte < GRAPH_BYTES && node->args[i].mode != WEIR_WRITE; byte++) {
      if (graph_arg_has(&node->args[i], byte)) sum = sum * 31 + base[i][byte];
    }
  }
  for (uint32_t i = 0; i < node->arg_count; i++) {
    for (uint32_t byte = 0; byte < GRAPH_BYTES && node->args[i].mode != WEIR_READ; byte++) {
      if (graph_arg_has(&node->args[i], byte)) base[i][byte] = (uint8_t)random_mix(sum + byte * 7 + i);
    }
  }
}

static void run_node(const weir_work *work) {
  graph_node *node = work->user;
  atomic_store(&node->ran, true);
  if (node->fails) {
    weir_work_fail(work, "on purpose");
    return;
  }
  uint8_t *base[GRAPH_ARGS];
  for (uint32_t i = 0; i < node->arg_count; i++) base[i] = (uint8_t *)work->args[i] - node->args[i].lo;
  compute(node, base);
}

weir_arg graph_make_arg(const graph_arg *arg, weir_buffer *buffer) {
  if (arg->boxed)
    return arg->mode == WEIR_READ    ? weir_reads_box(buffer, arg->lo, &arg->box)
           : arg->mode == WEIR_WRITE ? weir_writes_box(buffer, arg->lo, &arg->box)
                                     : weir_updates_box(buffer, arg->lo, &arg->box);
  return arg->mode == WEIR_READ    ? weir_reads_range(buffer, arg->lo, arg->bytes)
         : arg->mode == WEIR_WRITE ? weir_writes_range(buffer, arg->lo, arg->bytes)
                                   : weir_updates_range(buffer, arg->lo, arg->bytes);
}

const char *graph_record(graph_program *program, weir_graph *graph, weir_buffer *const *buffers) {
  for (uint32_t i = 0; i < program->node_count; i++) {
    graph_node *node = &program->nodes[i];
    weir_arg args[GRAPH_ARGS];
    for (uint32_t j = 0; j < node->arg_count; j++)
      args[j] = graph_make_arg(&node->args[j], buffers[node->args[j].buffer]);
    const weir_task task = {.host = run_node, .user = node, .args = args, .arg_count = node->arg_count};
    if (weir_graph_add(graph, &task, NULL) != WEIR_OK) return weir_last_error();
  }
  return NULL;
}

static bool reads_poison(const graph_node *node, const graph_memory *memory) {
  for (uint32_t i = 0; i < node->arg_count; i++) {
    for (uint32_t byte = 0; byte < GRAPH_BYTES && node->args[i].mode != WEIR_WRITE; byte++) {
      if (graph_arg_has(&node->args[i], byte) && memory->poisoned[node->args[i].buffer][byte]) return true;
    }
  }
  return false;
}

void graph_run_serially(const graph_program *program, graph_memory *memory, bool *out_ran) {
  for (uint32_t i = 0; i < program->node_count; i++) {
    const graph_node *node = &program->nodes[i];
    bool runs = !reads_poison(node, memory), well = runs && !node->fails;
    if (out_ran != NULL) out_ran[i] = runs;
    uint8_t *base[GRAPH_ARGS];
    for (uint32_t j = 0; j < node->arg_count; j++) base[j] = memory->bytes[node->args[j].buffer];
    if (well) compute(node, base);
    for (uint32_t j = 0; j < node->arg_count; j++) {
      const graph_arg *arg = &node->args[j];
      for (uint32_t byte = 0; byte < GRAPH_BYTES && arg->mode != WEIR_READ; byte++) {
        if (graph_arg_has(arg, byte)) memory->poisoned[arg->buffer][byte] = !well;
      }
    }
  }
}
