// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>

enum {
  WIDTH = 860,
  LEFT = 60,
  RIGHT = 20,
  SHARES_TOP = 70,
  SHARES_HEIGHT = 180,
  TIMES_TOP = 300,
  TIMES_HEIGHT = 180,
  HEIGHT = 520
};

static const char *color_of(uint32_t device) {
  static const char *const colors[] = {"#3b6fb6", "#d98c2b", "#4f9d69", "#b34d6d", "#7a68b3", "#6f6f6f"};
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

static void write_frame(FILE *file, const mapper_report *frame, int index, double x, double width, double most_ms) {
  uint64_t rows = 0;
  uint32_t count = frame->round.device_count;
  double bottom = SHARES_TOP + SHARES_HEIGHT, bar = width * 0.8 / count;
  for (uint32_t i = 0; i < count; i++) rows += frame->round.devices[i].groups;
  fprintf(file, "<g><title>frame %d: %.2f ms</title>\n", index + 1, frame->ms);
  fprintf(file, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='#e4e4e4'/>\n", x + width * 0.1,
          TIMES_TOP + TIMES_HEIGHT * (1 - frame->ms / most_ms), width * 0.8, TIMES_HEIGHT * frame->ms / most_ms);
  for (uint32_t i = 0; i < count; i++) {
    double height = rows > 0 ? SHARES_HEIGHT * (double)frame->round.devices[i].groups / (double)rows : 0;
    double ms = (double)frame->round.devices[i].busy_ns * 1e-6,
           tall = TIMES_HEIGHT * (ms < most_ms ? ms : most_ms) / most_ms;
    fprintf(file, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'/>\n", x + width * 0.1, bottom - height,
            width * 0.8, height, color_of(i));
    fprintf(file, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'/>\n", x + width * 0.1 + bar * i,
            TIMES_TOP + TIMES_HEIGHT - tall, bar, tall, color_of(i));
    bottom -= height;
  }
  fputs("</g>\n", file);
}

static void write_plot(FILE *file, const char *title, const mapper_report *frames, int count,
                       const char *const *names) {
  double most = 0, width = (double)(WIDTH - LEFT - RIGHT) / count;
  for (int i = 0; i < count; i++) most = frames[i].ms > most ? frames[i].ms : most;
  most = round_up(most);
  fprintf(file,
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12'>\n",
          WIDTH, HEIGHT);
  fprintf(file, "<rect width='%d' height='%d' fill='white'/>\n", WIDTH, HEIGHT);
  write_text(file, LEFT, 22, "start", title);
  write_text(file, LEFT, SHARES_TOP - 10, "start", "share of the rows, per cent");
  write_text(file, LEFT, TIMES_TOP - 10, "start", "time in ms: of each device, and of the whole frame (grey)");
  for (uint32_t i = 0; i < frames->round.device_count; i++) {
    double x = LEFT + 90.0 * (i % 8), y = HEIGHT - 18 + 14 * (double)(i / 8);
    fprintf(file, "<rect x='%.1f' y='%.1f' width='10' height='10' fill='%s'/>\n", x, y - 9, color_of(i));
    char name[80];
    snprintf(name, sizeof name, "%u. %s", i + 1, names[i]);
    write_text(file, x + 14, y, "start", name);
  }
  write_axis(file, SHARES_TOP, SHARES_HEIGHT, 100, "%.0f");
  write_axis(file, TIMES_TOP, TIMES_HEIGHT, most, "%g");
  for (int i = 0; i < count; i++) write_frame(file, &frames[i], i, LEFT + width * i, width, most);
  fputs("</svg>\n", file);
}

bool plot_write(const char *path, const char *title, const mapper_report *frames, int count, const char *const *names) {
  FILE *file = fopen(path, "w");
  if (!file) {
    fprintf(stderr, "tonemap: %s: cannot be written\n", path);
    return false;
  }
  write_plot(file, title, frames, count, names);
  bool good = !ferror(file);
  good = fclose(file) == 0 && good;
  if (!good) fprintf(stderr, "tonemap: %s: cannot be written to the end\n", path);
  return good;
}
