// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "cli.h"
#include "plan/critical_path.h"
#include "plan_output.h"

// First hazard whose successor is at least `task`.
static size_t first_hazard(const weir__plan_hazards *hazards, uint32_t task) {
  size_t low = 0, high = hazards->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (hazards->items[middle].successor < task)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void weir__plan_hazards_of(const weir__stream_plan *plan, uint32_t task, size_t *out_first, size_t *out_end) {
  *out_first = first_hazard(&plan->hazards, task);
  *out_end = first_hazard(&plan->hazards, task + 1);
}

bool weir__plan_has_edge(const weir__plan_graph *graph, uint32_t predecessor, uint32_t successor) {
  for (uint64_t e = graph->first[successor]; e < graph->first[successor + 1]; e++) {
    if (graph->predecessors[e] == predecessor) return true;
  }
  return false;
}

double weir__plan_slack_us(const weir__stream_plan *plan, uint32_t task) {
  double start = plan->ends[task] - plan->task_us[task];
  double slack = plan->critical_us - start - plan->ranks[task];
  return slack > 1e-6 ? slack : 0; // less is what rounding leaves
}

// What is left of the wait for a predecessor: an edge of its own, one that others imply, or nothing.
static const char *edge_name(const weir__stream_plan *plan, uint32_t predecessor, uint32_t task) {
  if (weir__plan_has_edge(&plan->reduced, predecessor, task)) return "needed";
  return weir__plan_has_edge(&plan->graph, predecessor, task) ? "implied" : "renamed away";
}

static bool has_range(const weir__plan_hazard *hazard) {
  return hazard->kind != WEIR__PLAN_ORDER && hazard->kind != WEIR__PLAN_HOST_WAIT;
}

// The number of tasks that come after a task; false when there is no memory.
static bool count_descendants(const weir__stream_plan *plan, uint32_t task, uint32_t *out_count) {
  bool *marks = malloc(plan->stream->task_count * sizeof *marks);
  if (marks) *out_count = weir__plan_descendants(&plan->graph, task, marks);
  free(marks);
  return marks != NULL;
}

static unsigned long long number_of(const weir__stream_plan *plan, uint32_t task) {
  return plan->stream->tasks[task].number;
}

static void add_row(weir__table *table, const weir__stream_plan *plan, const weir__plan_hazard *hazard) {
  const weir__stream *stream = plan->stream;
  weir__table_cell(table, "  %llu", number_of(plan, hazard->predecessor));
  weir__table_cell(table, "%s", stream->tasks[hazard->predecessor].op);
  weir__table_cell(table, "%s", weir__plan_kind_name(hazard->kind));
  if (has_range(hazard)) {
    weir__table_cell(table, "%llu", (unsigned long long)stream->buffers[hazard->buffer].id);
    weir__table_cell(table, "[%llu, %llu)", (unsigned long long)hazard->lo, (unsigned long long)hazard->hi);
  } else {
    weir__table_cell(table, "-");
    weir__table_cell(table, "-");
  }
  weir__table_cell(table, "%s", edge_name(plan, hazard->predecessor, hazard->successor));
  if (!hazard->vanishes)
    weir__table_cell(table, "stays");
  else if (hazard->predecessor_buffer == hazard->buffer)
    weir__table_cell(table, "vanishes: overwritten as a whole");
  else
    weir__table_cell(table, "vanishes: was buffer %llu",
                     (unsigned long long)stream->buffers[hazard->predecessor_buffer].id);
}

static bool print_hazards(const weir__stream_plan *plan, size_t first, size_t end) {
  weir__table *table = weir__table_create();
  if (!table) return false;
  weir__table_column(table, "  task", "", true);
  weir__table_column(table, "op", "", false);
  weir__table_column(table, "hazard", "", false);
  weir__table_column(table, "buffer", "", true);
  weir__table_column(table, "bytes", "", false);
  weir__table_column(table, "edge", "", false);
  weir__table_column(table, "by renaming", "", false);
  for (size_t i = first; i < end; i++) add_row(table, plan, &plan->hazards.items[i]);
  bool printed = weir__table_print(table, stdout);
  weir__table_destroy(table);
  return printed;
}

int weir__plan_print_why(const weir__stream_plan *plan, uint32_t task) {
  const weir__stream *stream = plan->stream;
  uint32_t after;
  size_t first, end;
  weir__plan_hazards_of(plan, task, &first, &end);
  bool enough = count_descendants(plan, task, &after);
  if (enough) {
    double slack = weir__plan_slack_us(plan, task);
    printf("\n");
    weir__cli_put(stream->name, stdout);
    printf(", task %llu: ", number_of(plan, task));
    weir__cli_put(stream->tasks[task].op, stdout);
    printf(" (line %u), hazards: %s\n", stream->tasks[task].line, weir__plan_mode_name(plan->mode));
    printf("  %.1f us, level %u of 0 to %u, can start at %.1f us", plan->task_us[task], plan->levels[task],
           plan->level_count - 1, plan->ends[task] - plan->task_us[task]);
    if (slack > 0)
      printf(", or %.1f us later", slack);
    else
      printf(", on a critical path");
    printf("; %u task%s must come after it\n", after, after == 1 ? "" : "s");
    if (first == end)
      printf("  It waits for no task.\n");
    else
      enough = print_hazards(plan, first, end);
  }
  if (enough) return WEIR__EXIT_OK;
  weir__cli_error("plan", "no memory to say why task %llu waits", number_of(plan, task));
  return WEIR__EXIT_FAILED;
}

static json_t *hazard_json(const weir__stream_plan *plan, const weir__plan_hazard *hazard) {
  const weir__stream_buffer *buffers = plan->stream->buffers;
  json_t *object = json_pack("{s:s, s:b}", "hazard", weir__plan_kind_name(hazard->kind), "vanishes", hazard->vanishes);
  if (!object || !has_range(hazard)) return object;
  int failed = json_object_set_new(object, "buffer", json_integer((json_int_t)buffers[hazard->buffer].id));
  failed |= json_object_set_new(object, "predecessor_buffer",
                                json_integer((json_int_t)buffers[hazard->predecessor_buffer].id));
  failed |= json_object_set_new(object, "lo", json_integer((json_int_t)hazard->lo));
  failed |= json_object_set_new(object, "hi", json_integer((json_int_t)hazard->hi));
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

// One predecessor with its hazards, items [first, end).
static json_t *predecessor_json(const weir__stream_plan *plan, size_t first, size_t end) {
  const weir__plan_hazard *items = plan->hazards.items;
  uint32_t predecessor = items[first].predecessor;
  bool vanishes = true;
  json_t *hazards = json_array();
  int failed = hazards == NULL;
  for (size_t i = first; i < end; i++) {
    vanishes = vanishes && items[i].vanishes;
    failed |= json_array_append_new(hazards, hazard_json(plan, &items[i]));
  }
  json_t *object =
      json_pack("{s:I, s:s, s:s, s:b, s:o}", "task", (json_int_t)number_of(plan, predecessor), "op",
                plan->stream->tasks[predecessor].op, "edge", edge_name(plan, predecessor, items[first].successor),
                "vanishes", vanishes, "hazards", hazards);
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

static json_t *predecessors_json(const weir__stream_plan *plan, uint32_t task) {
  size_t first, end;
  weir__plan_hazards_of(plan, task, &first, &end);
  json_t *predecessors = json_array();
  int failed = predecessors == NULL;
  while (first < end) {
    size_t next = first + 1;
    while (next < end && plan->hazards.items[next].predecessor == plan->hazards.items[first].predecessor) next++;
    failed |= json_array_append_new(predecessors, predecessor_json(plan, first, next));
    first = next;
  }
  if (!failed) return predecessors;
  json_decref(predecessors);
  return NULL;
}

json_t *weir__plan_why_json(const weir__stream_plan *plan, uint32_t task) {
  const weir__stream_task *row = &plan->stream->tasks[task];
  uint32_t after;
  if (!count_descendants(plan, task, &after)) return NULL;
  double slack = weir__plan_slack_us(plan, task);
  return json_pack("{s:I, s:s, s:I, s:o, s:I, s:o, s:o, s:b, s:I, s:o}", "task", (json_int_t)number_of(plan, task),
                   "op", row->op, "line", (json_int_t)row->line, "us", weir__json_us(plan->task_us[task]), "level",
                   (json_int_t)plan->levels[task], "start_us", weir__json_us(plan->ends[task] - plan->task_us[task]),
                   "slack_us", weir__json_us(slack), "critical", slack == 0, "descendants", (json_int_t)after,
                   "predecessors", predecessors_json(plan, task));
}
