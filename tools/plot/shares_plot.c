// SPDX-License-Identifier: Apache-2.0
#include "shares_plot.h"

#include <errno.h>
#include <stdio.h>

enum {
  WIDTH = 860,
  LEFT = 60,
  RIGHT = 20,
  SHARES_TOP = 70,
  SHARES_HEIGHT = 180,
  TIMES_TOP = 300,
  TIMES_HEIGHT = 180,
  NAMES_TOP = 502,
  NAMES_LEAST = 180, // width of a name
};

static const char *color_of(uint32_t device) {
  static const char *const colors[] = {"#3b6fb6", "#d98c2b", "#4f9d69", "#b34d6d",
                                       "#7a68b3", "#6f6f6f", "#2b9fa8", "#a3782b"};
  return colors[device % (sizeof colors / sizeof *colors)];
}

static void write_text(FILE *file, double x, double y, const char *anchor, const char *text) {
  fprintf(file, "<text x='%.1f' y='%.1f' text-anchor='%s'>", x, y, anchor);
  for (; *text; text++) {
    if (*text == '<' || *text == '>' || *text == '&')
      fprintf(file, "&#%d;", *text);
    else
      fputc(*text, file);
  }
  fputs("</text>\n", file);
}

// Lines and numbers of an axis from 0 to `greatest`, with four steps.
static void write_axis(FILE *file, double top, double height, double greatest, const char *format) {
  for (int step = 0; step <= 4; step++) {
    char number[40];
    double y = top + height - height * step / 4;
    fprintf(file, "<path d='M%d %.1fH%d' stroke='#ccc'/>\n", LEFT, y, WIDTH - RIGHT);
    snprintf(number, sizeof number, format, greatest * step / 4);
    write_text(file, LEFT - 6, y + 4, "end", number);
  }
}

// The least of 1, 2, 5, 10, ... times a power of ten that is not below.
static double round_up(double value) {
  double power = 1e-3;
  while (power * 10 < value) power *= 10;
  return value <= power ? power : value <= 2 * power ? 2 * power : value <= 5 * power ? 5 * power : 10 * power;
}

static void write_round(FILE *file, const shares_plot *plot, uint32_t index, double most_ms) {
  const shares_plot_round *round = &plot->rounds[index];
  double width = (double)(WIDTH - LEFT - RIGHT) / plot->round_count, x = LEFT + width * index;
  double bottom = SHARES_TOP + SHARES_HEIGHT, bar = width * 0.8 / plot->device_count;
  fprintf(file, "<g><title>%s %u: %.2f ms</title>\n", plot->round, index + 1, round->ms);
  fprintf(file, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='#e4e4e4'/>\n", x + width * 0.1,
          TIMES_TOP + TIMES_HEIGHT * (1 - round->ms / most_ms), width * 0.8, TIMES_HEIGHT * round->ms / most_ms);
  for (uint32_t i = 0; i < plot->device_count; i++) {
    double height = SHARES_HEIGHT * round->shares[i], ms = round->device_ms[i];
    double tall = TIMES_HEIGHT * (ms < most_ms ? ms : most_ms) / most_ms;
    fprintf(file, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'/>\n", x + width * 0.1, bottom - height,
            width * 0.8, height, color_of(i));
    fprintf(file, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'/>\n", x + width * 0.1 + bar * i,
            TIMES_TOP + TIMES_HEIGHT - tall, bar, tall, color_of(i));
    bottom -= height;
  }
  fputs("</g>\n", file);
}

// Columns of names, so wide that the longest one fits, as many as there is room for.
static uint32_t name_columns(const shares_plot *plot) {
  size_t longest = 0;
  for (uint32_t i = 0; i < plot->device_count; i++) {
    size_t length = 0;
    while (plot->names[i][length] != '\0') length++;
    if (length > longest) longest = length;
  }
  uint32_t width = 40 + 7 * (uint32_t)longest;
  if (width < NAMES_LEAST) width = NAMES_LEAST;
  uint32_t columns = (WIDTH - LEFT - RIGHT) / width;
  return columns > 0 ? columns : 1;
}

static void write_plot(FILE *file, const shares_plot *plot) {
  char text[200];
  double most = 0;
  uint32_t columns = name_columns(plot), lines = (plot->device_count + columns - 1) / columns;
  for (uint32_t i = 0; i < plot->round_count; i++) most = plot->rounds[i].ms > most ? plot->rounds[i].ms : most;
  most = round_up(most);
  int height = NAMES_TOP + 14 * (int)lines + 6;
  fprintf(file,
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12'>\n",
          WIDTH, height);
  fprintf(file, "<rect width='%d' height='%d' fill='white'/>\n", WIDTH, height);
  write_text(file, LEFT, 22, "start", plot->title);
  snprintf(text, sizeof text, "share of the %s, per cent", plot->of);
  write_text(file, LEFT, SHARES_TOP - 10, "start", text);
  snprintf(text, sizeof text, "time in ms: of each device, and of the whole %s (grey)", plot->round);
  write_text(file, LEFT, TIMES_TOP - 10, "start", text);
  for (uint32_t i = 0; i < plot->device_count; i++) {
    double x = LEFT + (double)(WIDTH - LEFT - RIGHT) / columns * (i % columns);
    double y = NAMES_TOP + 14 * (double)(i / columns);
    fprintf(file, "<rect x='%.1f' y='%.1f' width='10' height='10' fill='%s'/>\n", x, y - 9, color_of(i));
    snprintf(text, sizeof text, "%u. %s", i + 1, plot->names[i]);
    write_text(file, x + 14, y, "start", text);
  }
  write_axis(file, SHARES_TOP, SHARES_HEIGHT, 100, "%.0f");
  write_axis(file, TIMES_TOP, TIMES_HEIGHT, most, "%g");
  for (uint32_t i = 0; i < plot->round_count; i++) write_round(file, plot, i, most);
  fputs("</svg>\n", file);
}

bool shares_plot_write(const char *path, const shares_plot *plot) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  write_plot(file, plot);
  bool good = !ferror(file);
  if (fclose(file) != 0) return false;
  if (!good) errno = EIO;
  return good;
}
