// SPDX-License-Identifier: Apache-2.0
//
// The reduced graph in the DOT language of Graphviz. Tasks on a critical path are filled; an edge is solid when some
// hazard behind it stays, and dashed when renaming would remove it.
#include <errno.h>
#include <string.h>

#include "cli.h"
#include "plan_output.h"

// A quoted string may hold anything but a bare quote; control characters would only spoil the drawing.
static void put_text(const char *text, FILE *file) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
}

static unsigned long long number_of(const weir__stream_plan *plan, uint32_t task) {
  return plan->stream->tasks[task].number;
}

static void put_task(const weir__stream_plan *plan, uint32_t task, FILE *file) {
  bool critical = weir__plan_slack_us(plan, task) == 0;
  fprintf(file, "  t%llu [label=\"%llu ", number_of(plan, task), number_of(plan, task));
  put_text(plan->stream->tasks[task].op, file);
  fprintf(file, "\\n%.1f us\"%s];\n", plan->task_us[task], critical ? ", style=filled, fillcolor=\"#f6c65b\"" : "");
}

// Label: each kind of hazard once, with the first buffer that has it, and how many more do.
static void put_edge(const weir__stream_plan *plan, const weir__plan_hazard *hazards, size_t count, FILE *file) {
  bool vanishes = true;
  fprintf(file, "  t%llu -> t%llu [label=\"", number_of(plan, hazards->predecessor),
          number_of(plan, hazards->successor));
  for (size_t i = 0, next; i < count; i = next) {
    for (next = i; next < count && hazards[next].kind == hazards[i].kind; next++)
      vanishes = vanishes && hazards[next].vanishes;
    fprintf(file, "%s%s", i ? "\\n" : "", weir__plan_kind_name(hazards[i].kind));
    if (hazards[i].kind > WEIR__PLAN_WAW) continue;
    fprintf(file, " buffer %llu", (unsigned long long)plan->stream->buffers[hazards[i].buffer].id);
    if (next - i > 1) fprintf(file, " + %zu", next - i - 1);
  }
  fprintf(file, "\"%s];\n", vanishes ? ", style=dashed" : "");
}

// The edges that lead to a task.
static void put_edges(const weir__stream_plan *plan, uint32_t task, FILE *file) {
  const weir__plan_hazard *items = plan->hazards.items;
  size_t first, end, next;
  weir__plan_hazards_of(plan, task, &first, &end);
  for (; first < end; first = next) {
    for (next = first; next < end && items[next].predecessor == items[first].predecessor;) next++;
    if (weir__plan_has_edge(&plan->reduced, items[first].predecessor, task))
      put_edge(plan, &items[first], next - first, file);
  }
}

int weir__plan_write_dot(const weir__stream_plan *plan, const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) {
    weir__cli_error("plan", "%s: %s", path, strerror(errno));
    return WEIR__EXIT_USAGE;
  }
  fprintf(file, "digraph \"");
  put_text(plan->stream->name, file);
  fprintf(file, "\" {\n  label=\"");
  put_text(plan->stream->name, file);
  fprintf(file, ", hazards: %s; %u tasks, critical path %.1f us (filled)\";\n", weir__plan_mode_name(plan->mode),
          plan->stream->task_count, plan->critical_us);
  fprintf(file, "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
                "  edge [fontname=\"sans-serif\", fontsize=8];\n");
  for (uint32_t t = 0; t < plan->stream->task_count; t++) put_task(plan, t, file);
  for (uint32_t t = 0; t < plan->stream->task_count; t++) put_edges(plan, t, file);
  fprintf(file, "}\n");
  bool written = !ferror(file);
  written = fclose(file) == 0 && written;
  if (written) return WEIR__EXIT_OK;
  weir__cli_error("plan", "%s: %s", path, strerror(errno));
  return WEIR__EXIT_USAGE;
}
