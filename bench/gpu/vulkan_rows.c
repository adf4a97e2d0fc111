// SPDX-License-Identifier: Apache-2.0
#include "vulkan_rows.h"

#include <stdarg.h>
#include <stdio.h>

vulkan_options options;

static bool first = true;

void vulkan_rows_begin(void) {
  if (options.json) printf("\"rows\": [");
}

void vulkan_rows_end(void) {
  if (options.json) printf("\n]");
}

static void quoted(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    putchar((unsigned char)*text < ' ' ? ' ' : *text);
  }
  putchar('"');
}

static void json_start(char section, const char *name) {
  printf("%s\n {\"section\": \"%c\", \"name\": ", first ? "" : ",", section);
  first = false;
  quoted(name);
}

void vulkan_row(char section, gpu_stat stat, const char *unit, const char *format, ...) {
  char name[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  if (options.json) {
    json_start(section, name);
    printf(", \"unit\": \"%s\", \"median\": %.4f, \"p10\": %.4f, \"p90\": %.4f}", unit, stat.median, stat.low,
           stat.high);
  } else {
    printf("%c  %-92s %10.3f  [%.3f .. %.3f] %s\n", section, name, stat.median, stat.low, stat.high, unit);
  }
  fflush(stdout);
}

void vulkan_row_missing(char section, const char *reason, const char *format, ...) {
  char name[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  if (options.json) {
    json_start(section, name);
    printf(", \"missing\": ");
    quoted(reason);
    printf("}");
  } else {
    printf("%c  %-92s          -  %s\n", section, name, reason);
  }
  fflush(stdout);
}

void vulkan_fact(char section, const char *name, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (options.json) {
    json_start(section, name);
    printf(", \"text\": ");
    quoted(text);
    printf("}");
  } else {
    printf("%c  %s: %s\n", section, name, text);
  }
  fflush(stdout);
}
