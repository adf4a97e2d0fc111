// SPDX-License-Identifier: Apache-2.0
#include "options.h"

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
    "  --resident       contents stay on the devices between launches; not with queue and guided\n"
    "  --efficiency     measure each device alone, too, and how well they work together\n"
    "  --serial         the serial reference alone, without Weir\n"
    "  --plot FILE.svg  draw the devices' shares and times\n"
    "  --help           this text\n"
    "\n"
    "Exit codes: 0 done, 1 a frame is wrong or the run failed, 2 bad usage, 3 a device is missing.\n";

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
  return arguments_refuse("%s must be numbers such as 3:1, one a device, not '%s'", "--shares", text);
}

static bool read_policy(const char *text, tonemap_options *options) {
  options->policy = text;
  return weir_split_find_policy(text) ||
         arguments_refuse("%s must be static, history, queue, guided, frames or auto, not '%s'", "--policy", text);
}

// Reads an option with its value.
static bool read_value(const char *name, const char *value, tonemap_options *options) {
  bool good;
  if (arguments_read_tone(name, value, &options->tone, &good)) return good;
  if (strcmp(name, "--policy") == 0) return read_policy(value, options);
  if (strcmp(name, "--shares") == 0) return read_shares(value, options);
  if (strcmp(name, "--crop") == 0) return arguments_read_size(name, value, &options->crop_width, &options->crop_height);
  if (strcmp(name, "--frames") == 0) return arguments_read_whole(name, value, 1000, &options->frames);
  if (strcmp(name, "--devices") == 0) options->devices = value;
  if (strcmp(name, "--plot") == 0) options->plot = value;
  if (strcmp(name, "--plot") == 0 && !arguments_ends_with(value, ".svg")) {
    return arguments_refuse("%s must end in .svg, not '%s'", "the file of --plot", value);
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
  } switches[] = {{"--check", &options->check},
                  {"--serial", &options->serial},
                  {"--efficiency", &options->efficiency},
                  {"--resident", &options->resident}};
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
    if (strcmp(name, switches[i].name) != 0) continue;
    *switches[i].value = true;
    return true;
  }
  for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++) {
    if (strcmp(name, with_value[i]) != 0) continue;
    const char *value = argv[*index];
    if (!value) return arguments_refuse("%s needs a value%s", name, "");
    ++*index;
    return read_value(name, value, options);
  }
  if (name[0] == '-' && name[1] != '\0') return arguments_refuse("unknown argument '%s'%s", name, "");
  if (options->out) return arguments_refuse("unknown argument '%s': there are two files already%s", name, "");
  *(options->in ? &options->out : &options->in) = name;
  return true;
}

static bool options_agree(tonemap_options *options) {
  if (!options->in) return arguments_refuse("%s%s", "no picture was named", "");
  if (options->out && !arguments_ends_with(options->out, ".png")) {
    return arguments_refuse("%s must end in .png, not '%s'", "the output's name", options->out);
  }
  if (options->serial && (options->check || options->efficiency || options->plot)) {
    return arguments_refuse("%s%s", "--serial goes without --check, --efficiency and --plot", "");
  }
  if (!options->policy) options->policy = options->share_count > 0 ? "static" : "auto";
  arguments_settle_tone(&options->tone);
  return true;
}

bool options_read(int argc, char **argv, tonemap_options *out_options, int *out_exit_code) {
  *out_options = (tonemap_options){.devices = "cpu", .frames = 1, .tone = arguments_tone_default};
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
