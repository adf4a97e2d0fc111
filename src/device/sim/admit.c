// SPDX-License-Identifier: Apache-2.0
//
// Which kernels are on the device, and which of them go first.
#include "device/sim/op.h"

enum { PRIORITIES = WEIR_PRIORITY_HIGHEST - WEIR_PRIORITY_LOWEST + 1, SORT_BINS = 32 };

static void append(weir__sim_list *list, weir__sim_op *op) {
  op->next = NULL;
  if (list->last != NULL)
    list->last->next = op;
  else
    list->first = op;
  list->last = op;
}

void weir__sim_make_ready(weir__sim_engine *engine, weir__sim_op *op) {
  int32_t priority = op->priority < WEIR_PRIORITY_LOWEST    ? WEIR_PRIORITY_LOWEST
                     : op->priority > WEIR_PRIORITY_HIGHEST ? WEIR_PRIORITY_HIGHEST
                                                            : op->priority;
  append(&engine->ready[priority - WEIR_PRIORITY_LOWEST], op);
}

static uint64_t path_ps(const weir__sim_op *op) {
  return op->left_ps + op->rest_ps + (op->tail_ps != NULL ? *op->tail_ps : 0);
}

// By priority; then, where hardware can tell, the one with the longest path of work before it (under BLOCKS all paths
// are 0); then the older one.
static bool before(const weir__sim_op *a, const weir__sim_op *b) {
  if (a->priority != b->priority) return a->priority > b->priority;
  uint64_t path_a = path_ps(a), path_b = path_ps(b);
  return path_a != path_b ? path_a > path_b : a->number < b->number;
}

static void insert(weir__sim_list *list, weir__sim_op *op) {
  if (list->last == NULL || before(list->last, op)) { // mostly
    append(list, op);
    return;
  }
  weir__sim_op **at = &list->first;
  while (before(*at, op)) at = &(*at)->next;
  op->next = *at;
  *at = op;
}

static weir__sim_op *merge(weir__sim_op *a, weir__sim_op *b) {
  weir__sim_op *first = NULL, **end = &first;
  while (a != NULL && b != NULL) {
    weir__sim_op **least = before(a, b) ? &a : &b;
    *end = *least;
    end = &(*least)->next;
    *least = (*least)->next;
  }
  *end = a != NULL ? a : b;
  return first;
}

void weir__sim_list_sort(weir__sim_list *list) {
  weir__sim_op *bins[SORT_BINS] = {NULL}; // bin i: nothing, or 2^i runs
  for (weir__sim_op *op = list->first; op != NULL;) {
    weir__sim_op *run = op;
    while (op->next != NULL && before(op, op->next)) op = op->next;
    weir__sim_op *next = op->next;
    op->next = NULL;
    int i = 0;
    for (; i < SORT_BINS - 1 && bins[i] != NULL; i++) {
      run = merge(bins[i], run);
      bins[i] = NULL;
    }
    bins[i] = bins[i] == NULL ? run : merge(bins[i], run);
    op = next;
  }
  weir__sim_op *sorted = NULL;
  for (int i = 0; i < SORT_BINS; i++) sorted = merge(bins[i], sorted);
  *list = (weir__sim_list){.first = sorted, .last = sorted};
  while (list->last != NULL && list->last->next != NULL) list->last = list->last->next;
}

static void enter(weir__sim_engine *engine, weir__sim_op *op) {
  engine->resident++;
  engine->copies += op->copy;
  if (engine->profile.sharing == WEIR__SIM_SHARING_FLUID)
    append(&engine->placing, op); // sorted anyway
  else
    insert(&engine->placing, op);
}

// Copies that find every copy engine busy hold nobody else back.
static void admit_from(weir__sim_engine *engine, weir__sim_list *list) {
  weir__sim_op *previous = NULL;
  for (weir__sim_op *op = list->first, *next; op != NULL; op = next) {
    next = op->next;
    if (engine->resident >= engine->profile.concurrent_kernels) return;
    if (op->copy && engine->copies >= engine->profile.copy_engines) {
      previous = op;
      continue;
    }
    if (previous != NULL)
      previous->next = next;
    else
      list->first = next;
    if (list->last == op) list->last = previous;
    enter(engine, op);
  }
}

void weir__sim_admit(weir__sim_engine *engine) {
  for (int i = PRIORITIES - 1; i >= 0; i--) admit_from(engine, &engine->ready[i]);
}
