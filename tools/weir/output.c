// SPDX-License-Identifier: Apache-2.0
//
// Tables and JSON on stdout.
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/controls.h"
#include "cli.h"
#include "trace/text.h"

enum { CELL_BYTES = 256 };

typedef struct column {
  char name[CELL_BYTES], unit[CELL_BYTES];
  bool number;
} column;

struct weir__table {
  column *columns;
  char (*cells)[CELL_BYTES];
  size_t column_count, cell_count, cell_capacity;
  bool failed;
};

weir__table *weir__table_create(void) {
  return calloc(1, sizeof(weir__table));
}

void weir__table_destroy(weir__table *table) {
  if (!table) return;
  free(table->columns);
  free(table->cells);
  free(table);
}

void weir__table_column(weir__table *table, const char *name, const char *unit, bool number) {
  column *columns = realloc(table->columns, (table->column_count + 1) * sizeof(*columns));
  if (!columns) {
    table->failed = true;
    return;
  }
  table->columns = columns;
  column *added = &columns[table->column_count++];
  snprintf(added->name, sizeof(added->name), "%s", name);
  snprintf(added->unit, sizeof(added->unit), "%s", unit);
  added->number = number;
}

void weir__table_cell(weir__table *table, const char *format, ...) {
  if (table->cell_count == table->cell_capacity) {
    size_t capacity = table->cell_capacity ? 2 * table->cell_capacity : 64;
    char(*cells)[CELL_BYTES] = realloc(table->cells, capacity * sizeof(*cells));
    if (!cells) {
      table->failed = true;
      return;
    }
    table->cells = cells;
    table->cell_capacity = capacity;
  }
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(table->cells[table->cell_count], CELL_BYTES, format, arguments);
  va_end(arguments);
  weir__hide_controls(table->cells[table->cell_count++], "");
}

// Characters that a text takes on a terminal, each code point counted as one.
static int text_width(const char *text) {
  int width = 0;
  for (; *text; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
  return width;
}

static int column_width(const weir__table *table, size_t index) {
  int width = text_width(table->columns[index].name), unit = text_width(table->columns[index].unit);
  if (unit > width) width = unit;
  for (size_t i = index; i < table->cell_count; i += table->column_count) {
    int cell = text_width(table->cells[i]);
    if (cell > width) width = cell;
  }
  return width;
}

static void print_cell(const weir__table *table, size_t index, const char *text, FILE *file) {
  int padding = column_width(table, index) - text_width(text);
  bool last = index + 1 == table->column_count;
  fprintf(file, "%s", index ? "  " : "");
  if (table->columns[index].number) {
    fprintf(file, "%*s%s", padding, "", text);
  } else {
    fprintf(file, "%s%*s", text, last ? 0 : padding, "");
  }
  if (last) fputc('\n', file);
}

bool weir__table_print(const weir__table *table, FILE *file) {
  if (table->failed) return false;
  bool units = false;
  for (size_t i = 0; i < table->column_count; i++) {
    print_cell(table, i, table->columns[i].name, file);
    units = units || table->columns[i].unit[0];
  }
  for (size_t i = 0; units && i < table->column_count; i++) print_cell(table, i, table->columns[i].unit, file);
  for (size_t i = 0; i < table->cell_count; i++) print_cell(table, i % table->column_count, table->cells[i], file);
  return true;
}

int weir__cli_print_json(const char *command, json_t *value) {
  if (!value) {
    weir__cli_error(command, "no memory for the JSON text");
    return WEIR__EXIT_FAILED;
  }
  bool written = json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENSURE_ASCII) == 0;
  json_decref(value);
  written = written && fputc('\n', stdout) != EOF && fflush(stdout) == 0;
  if (written) return WEIR__EXIT_OK;
  weir__cli_error(command, "cannot write the result to standard output");
  return WEIR__EXIT_FAILED;
}

json_t *weir__json_text(const char *text) {
  char *quoted = NULL;
  size_t bytes;
  FILE *file = open_memstream(&quoted, &bytes);
  if (!file) return NULL;
  weir__text_string(text, file);
  json_t *made = fclose(file) == 0 ? json_loads(quoted, JSON_DECODE_ANY, NULL) : NULL;
  free(quoted);
  return made;
}

json_t *weir__json_us(double us) {
  return isfinite(us) ? json_real(round(us * 1000) / 1000) : json_null();
}
