// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/split.h>

static const char usage[] =
    "Shows a photograph of high dynamic range on a display of 8 bits: reads OpenEXR, maps its tones on one or several\n"
    "devices, writes PNG.\n"
    "\n"
    "usage: tonemap [OPTION...] IN.exr [OUT.png]\n"
    "  --operator NAME  durand: local, by a bilateral filter (Durand and Dorsey 2002); reinhard: global, by the "
    "average\n"
    "                   luminance (Reinhard et al. 2002) (default durand)\n"
    "  --devices LIST   devices that share the rows of the picture, such as cpu, cpu:1,cpu:1, cuda,cpu (default cpu)\n"
    "  --policy NAME    how rows are given to them: static, history, queue, guided, frames, auto (default auto, or "
    "static\n"
    "                   with --shares)\n"
    "  --shares LIST    their shares, such as 3:1\n"
    "  --frames N       map N rectangles on a way through the picture, 1 to 1000 (default 1); OUT.png is then "
    "OUT-0001.png,\n"
    "                   OUT-0002.png, ...\n"
    "  --crop WxH       size of the rectangle (default: the whole picture, or half of its sides with --frames)\n"
    "  --radius N       durand: of the filter, in pixels, 1 to 32 (default 12)\n"
    "  --contrast X     durand: of what the filter leaves, 1 to 1000000 (default 30)\n"
    "  --key X          reinhard: what the average luminance becomes, 0.001 to 100 (default 0.18)\n"
    "  --white X        reinhard: least luminance that becomes white, 0.001 to 1000000 (default: of the brightest "
    "pixel)\n"
    "  --check          compare every frame with the serial reference\n"
    "  --efficiency     measure each device alone, too, and how well they work together\n"
    "  --serial         the serial reference alone, without Weir\n"
    "  --plot FILE.svg  draw the devices' shares and times\n"
    "  --help           this text\n"
    "\n"
    "Exit codes: 0 done, 1 a frame is wrong or the run failed, 2 bad usage, 3 a device is missing.\n";

static bool refuse(const char *format, const char *name, const char *text) {
  fputs("tonemap: ", stderr);
  fprintf(stderr, format, name, text);
  fputs("; see tonemap --help\n", stderr);
  return false;
}

static bool read_whole(const char *name, const char *text, int greatest, int *out_number) {
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

static bool read_real(const char *name, const char *text, double least, double greatest, float *out_number) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end != '\0' || !(number >= least && number <= greatest)) {
    fprintf(stderr, "tonemap: %s must be a number from %g to %g, not '%s'\n", name, least, greatest, text);
    return false;
  }
  *out_number = (float)number;
  return true;
}

static bool read_crop(const char *text, tonemap_options *options) {
  char *end, *after;
  long width = strtol(text, &end, 10), height = *end == 'x' ? strtol(end + 1, &after, 10) : 0;
  bool good = *end == 'x' && *after == '\0' && width >= 1 && height >= 1 && width <= PICTURE_MAX_SIDE &&
              height <= PICTURE_MAX_SIDE;
  if (!good) return refuse("%s must be a size such as 320x200, not '%s'", "--crop", text);
  options->crop_width = (int)width;
  options->crop_height = (int)height;
  return true;
}

static bool read_shares(const char *text, tonemap_options *options) {
  double sum = 0;
  const char *at = text;
  for (options->share_count = 0;; at++) {
    char *end;
    double share = strtod(at, &end);
    if (end == at || !(share >= 0 && share <= 1e6) || options->share_count == OPTIONS_MAX_SHARES) break;
    options->shares[options->share_count++] = share;
    sum += share;
    at = end;
    if (*at == '\0' && sum > 0) return true;
    if (*at != ':') break;
  }
  return refuse("%s must be numbers such as 3:1, one a device, not '%s'", "--shares", text);
}

static bool read_operator(const char *text, tonemap_options *options) {
  if (strcmp(text, "durand") != 0 && strcmp(text, "reinhard") != 0) {
    return refuse("%s must be durand or reinhard, not '%s'", "--operator", text);
  }
  options->kind = strcmp(text, "durand") == 0 ? TONE_DURAND : TONE_REINHARD;
  return true;
}

static bool read_policy(const char *text, tonemap_options *options) {
  options->policy = text;
  return weir_split_find_policy(text) ||
         refuse("%s must be static, history, queue, guided, frames or auto, not '%s'", "--policy", text);
}

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), end = strlen(ending);
  return length >= end && strcmp(text + length - end, ending) == 0;
}

// Reads an option with its value.
static bool read_value(const char *name, const char *value, tonemap_options *options) {
  tone_settings *settings = &options->settings;
  if (strcmp(name, "--operator") == 0) return read_operator(value, options);
  if (strcmp(name, "--policy") == 0) return read_policy(value, options);
  if (strcmp(name, "--shares") == 0) return read_shares(value, options);
  if (strcmp(name, "--crop") == 0) return read_crop(value, options);
  if (strcmp(name, "--frames") == 0) return read_whole(name, value, 1000, &options->frames);
  if (strcmp(name, "--radius") == 0) return read_whole(name, value, TONE_MAX_RADIUS, &settings->radius);
  if (strcmp(name, "--contrast") == 0) return read_real(name, value, 1, 1e6, &settings->contrast);
  if (strcmp(name, "--key") == 0) return read_real(name, value, 0.001, 100, &settings->key);
  if (strcmp(name, "--white") == 0) return read_real(name, value, 0.001, 1e6, &settings->white);
  if (strcmp(name, "--devices") == 0) options->devices = value;
  if (strcmp(name, "--plot") == 0) options->plot = value;
  if (strcmp(name, "--plot") == 0 && !ends_with(value, ".svg")) {
    return refuse("%s must end in .svg, not '%s'", "the file of --plot", value);
  }
  return true;
}

// Reads what stands at argv[*index], and moves on past it.
static bool read_argument(char **argv, int *index, tonemap_options *options) {
  static const char *const with_value[] = {"--operator", "--shares", "--crop",    "--frames", "--radius", "--contrast",
                                           "--key",      "--white",  "--devices", "--plot",   "--policy"};
  const char *name = argv[(*index)++];
  const struct {
    const char *name;
    bool *value;
  } switches[] = {{"--check", &options->check}, {"--serial", &options->serial}, {"--efficiency", &options->efficiency}};
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
    if (strcmp(name, switches[i].name) != 0) continue;
    *switches[i].value = true;
    return true;
  }
  for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++) {
    if (strcmp(name, with_value[i]) != 0) continue;
    const char *value = argv[*index];
    if (!value) return refuse("%s needs a value%s", name, "");
    ++*index;
    return read_value(name, value, options);
  }
  if (name[0] == '-' && name[1] != '\0') return refuse("unknown argument '%s'%s", name, "");
  if (options->out) return refuse("unknown argument '%s': there are two files already%s", name, "");
  *(options->in ? &options->out : &options->in) = name;
  return true;
}

static bool options_agree(tonemap_options *options) {
  if (!options->in) return refuse("%s%s", "no picture was named", "");
  if (options->out && !ends_with(options->out, ".png")) {
    return refuse("%s must end in .png, not '%s'", "the output's name", options->out);
  }
  if (options->serial && (options->check || options->efficiency || options->plot)) {
    return refuse("%s%s", "--serial goes without --check, --efficiency and --plot", "");
  }
  if (!options->policy) options->policy = options->share_count > 0 ? "static" : "auto";
  options->settings.contrast = log2f(options->settings.contrast);
  if (options->kind == TONE_REINHARD) options->settings.radius = 0;
  return true;
}

bool options_read(int argc, char **argv, tonemap_options *out_options, int *out_exit_code) {
  *out_options = (tonemap_options){.devices = "cpu",
                                   .frames = 1,
                                   .kind = TONE_DURAND,
                                   .settings = {.key = 0.18f, .contrast = 30, .range = 0.4f, .radius = 12}};
  *out_exit_code = 2;
  for (int i = 1; i < argc;) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      *out_exit_code = 0;
      return false;
    }
    if (!read_argument(argv, &i, out_options)) return false;
  }
  return options_agree(out_options);
}
