// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const arguments_tone arguments_tone_default = {.kind = TONE_DURAND,
                                               .settings = {.key = 0.18f, .contrast = 30, .range = 0.4f, .radius = 12}};

bool arguments_refuse(const char *format, const char *name, const char *text) {
  fputs("tonemap: ", stderr);
  fprintf(stderr, format, name, text);
  fputs("; see --help\n", stderr);
  return false;
}

bool arguments_read_whole(const char *name, const char *text, int greatest, int *out_number) {
  char *end;
  errno = 0;
  long number = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < 1 || number > greatest) {
    fprintf(stderr, "tonemap: %s must be a number from 1 to %d, not '%s'\n", name, greatest, text);
    return false;
  }
  *out_number = (int)number;
  return true;
}

bool arguments_read_real(const char *name, const char *text, double least, double greatest, float *out_number) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end != '\0' || !(number >= least && number <= greatest)) {
    fprintf(stderr, "tonemap: %s must be a number from %g to %g, not '%s'\n", name, least, greatest, text);
    return false;
  }
  *out_number = (float)number;
  return true;
}

bool arguments_read_size(const char *name, const char *text, int *out_width, int *out_height) {
  char *end, *after;
  long width = strtol(text, &end, 10), height = *end == 'x' ? strtol(end + 1, &after, 10) : 0;
  bool good = *end == 'x' && *after == '\0' && width >= 1 && height >= 1 && width <= PICTURE_MAX_SIDE &&
              height <= PICTURE_MAX_SIDE;
  if (!good) return arguments_refuse("%s must be a size such as 320x200, not '%s'", name, text);
  *out_width = (int)width;
  *out_height = (int)height;
  return true;
}

bool arguments_ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), end = strlen(ending);
  return length >= end && strcmp(text + length - end, ending) == 0;
}

static bool read_operator(const char *text, tone_operator *out_kind) {
  if (strcmp(text, "durand") != 0 && strcmp(text, "reinhard") != 0) {
    return arguments_refuse("%s must be durand or reinhard, not '%s'", "--operator", text);
  }
  *out_kind = strcmp(text, "durand") == 0 ? TONE_DURAND : TONE_REINHARD;
  return true;
}

bool arguments_read_tone(const char *name, const char *value, arguments_tone *tone, bool *out_good) {
  tone_settings *settings = &tone->settings;
  if (strcmp(name, "--operator") == 0)
    *out_good = read_operator(value, &tone->kind);
  else if (strcmp(name, "--radius") == 0)
    *out_good = arguments_read_whole(name, value, TONE_MAX_RADIUS, &settings->radius);
  else if (strcmp(name, "--contrast") == 0)
    *out_good = arguments_read_real(name, value, 1, 1e6, &settings->contrast);
  else if (strcmp(name, "--key") == 0)
    *out_good = arguments_read_real(name, value, 0.001, 100, &settings->key);
  else if (strcmp(name, "--white") == 0)
    *out_good = arguments_read_real(name, value, 0.001, 1e6, &settings->white);
  else
    return false;
  return true;
}

void arguments_settle_tone(arguments_tone *tone) {
  tone->settings.contrast = log2f(tone->settings.contrast);
  if (tone->kind == TONE_REINHARD) tone->settings.radius = 0;
}
