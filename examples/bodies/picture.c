// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <stdio.h>
#include <string.h>

static const char *const colours[] = {"#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951",
                                      "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#7d8799"};
enum { COLOURS = sizeof colours / sizeof *colours, WIDTH = 900, MARGIN = 12, TEXT = 18 };

void picture_look(void *user, int32_t step, const world *drawn, const physics_body *bodies, const island_list *list) {
  picture *self = user;
  int32_t due = (int32_t)((int64_t)self->count * self->steps / (PICTURE_FRAMES - 1));
  if (self->count == PICTURE_FRAMES || step != due) return;
  self->world = *drawn;
  self->frames[self->count].step = step;
  self->frames[self->count].islands = list->count;
  memcpy(self->frames[self->count].bodies, bodies, (size_t)drawn->count * sizeof *bodies);
  memcpy(self->frames[self->count].island_of, list->island_of, sizeof list->island_of);
  self->count++;
}

static void draw_frame(FILE *file, const picture *self, int32_t index, double scale, double top) {
  const world *drawn = &self->world;
  const physics_body *bodies = self->frames[index].bodies;
  double height = (double)drawn->rules.height * scale;
  fprintf(file, "<g transform=\"translate(%d %.1f)\">\n", MARGIN, top);
  fprintf(file, "<text y=\"13\">step %d: %d islands</text>\n", self->frames[index].step, self->frames[index].islands);
  fprintf(file, "<rect y=\"%d\" width=\"%.1f\" height=\"%.1f\" fill=\"#fff\" stroke=\"#444\"/>\n", TEXT,
          (double)drawn->rules.width * scale, height);
  int32_t place_of[PHYSICS_MAX_BODIES];
  for (int32_t i = 0; i < drawn->count; i++) {
    place_of[bodies[i].id] = i;
    fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"%s/>\n", (double)bodies[i].x * scale,
            TEXT + height - (double)bodies[i].y * scale, (double)bodies[i].radius * scale,
            colours[self->frames[index].island_of[i] % COLOURS],
            bodies[i].actor >= 0 ? " stroke=\"#111\" stroke-width=\"1.5\"" : "");
  }
  for (int32_t i = 0; i < drawn->joint_count; i++) {
    const physics_body *a = &bodies[place_of[drawn->joints[i].a]], *b = &bodies[place_of[drawn->joints[i].b]];
    fprintf(file, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#111\" stroke-width=\"1.5\"/>\n", (double)a->x * scale,
            TEXT + height - (double)a->y * scale, (double)b->x * scale, TEXT + height - (double)b->y * scale);
  }
  fprintf(file, "</g>\n");
}

bool picture_save(const picture *self, const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  double scale = (WIDTH - 2 * MARGIN) / (double)self->world.rules.width;
  double frame = TEXT + MARGIN + (double)self->world.rules.height * scale;
  double height = MARGIN + frame * self->count;
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" font-family=\"sans-serif\" "
          "font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#f4f4f4\"/>\n",
          WIDTH, height);
  for (int32_t i = 0; i < self->count; i++) draw_frame(file, self, i, scale, MARGIN + frame * i);
  fprintf(file, "</svg>\n");
  bool good = !ferror(file);
  return fclose(file) == 0 && good;
}
