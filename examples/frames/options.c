// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <weir/pipeline.h>

static const char usage[] =
    "Maps the tones of a sequence of frames as a pipeline: several frames are in flight at once, each decoded from "
    "OpenEXR,\n"
    "mapped on a device, and encoded as PNG. Prints how many frames a second that makes, and one frame at a time.\n"
    "\n"
    "usage: tonemap-frames [OPTION...] IN.exr...\n"
    "  --frames N       frames, 1 to 1000, which take the files in turn (default 24)\n"
    "  --crop WxH       size of the frames: a rectangle on its way through the pictures, from the upper left corner to "
    "the\n"
    "                   lower right one (default: half of the sides of the first picture)\n"
    "  --lines N        frames in flight at most, 1 to 62 (default 4)\n"
    "  --devices LIST   devices; of several each frame goes to that which has the fewest frames (default cpu)\n"
    "  --out OUT.png    write the frames as OUT-0001.png, OUT-0002.png, ... (default: they are encoded and dropped)\n"
    "  --check          compare every frame with the serial reference\n"
    "  --rounds N       measure N times, 1 to 1000 (default 3)\n"
    "  --timeline FILE  write what ran when in the last round, as FILE.json: `weir timeline` makes a page of it\n"
    "  --operator NAME  durand (default) or reinhard; and its settings:\n"
    "  --radius N, --contrast X, --key X, --white X   as for tonemap\n"
    "  --help           this text\n"
    "\n"
    "Exit codes: 0 done, 1 a frame is wrong or failed, 2 bad usage, 3 a device is missing.\n";

static bool read_value(const char *name, const char *value, frames_options *options) {
  bool good;
  if (arguments_read_tone(name, value, &options->tone, &good)) return good;
  if (strcmp(name, "--frames") == 0) return arguments_read_whole(name, value, 1000, &options->frames);
  if (strcmp(name, "--lines") == 0) return arguments_read_whole(name, value, WEIR_PIPELINE_MOST_LINES, &options->lines);
  if (strcmp(name, "--rounds") == 0) return arguments_read_whole(name, value, 1000, &options->rounds);
  if (strcmp(name, "--crop") == 0) return arguments_read_size(name, value, &options->crop_width, &options->crop_height);
  if (strcmp(name, "--devices") == 0) options->devices = value;
  if (strcmp(name, "--out") == 0) options->out = value;
  if (strcmp(name, "--out") == 0 && !arguments_ends_with(value, ".png"))
    return arguments_refuse("%s must end in .png, not '%s'", "the output's name", value);
  if (strcmp(name, "--timeline") == 0) options->timeline = value;
  if (strcmp(name, "--timeline") == 0 && !arguments_ends_with(value, ".json"))
    return arguments_refuse("%s must end in .json, not '%s'", "the file of --timeline", value);
  return true;
}

// Reads what stands at argv[*index], and moves on past it. Names of files go to the front.
static bool read_argument(char **argv, int *index, frames_options *options) {
  static const char *const with_value[] = {"--frames",  "--lines",    "--rounds",   "--crop",
                                           "--devices", "--out",      "--timeline", "--operator",
                                           "--radius",  "--contrast", "--key",      "--white"};
  char *name = argv[(*index)++];
  if (strcmp(name, "--check") == 0) {
    options->check = true;
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
  options->files[options->file_count++] = name;
  return true;
}

bool options_read(int argc, char **argv, frames_options *out_options, int *out_exit_code) {
  *out_options = (frames_options){
      .files = argv, .devices = "cpu", .frames = 24, .lines = 4, .rounds = 3, .tone = arguments_tone_default};
  *out_exit_code = 2;
  for (int i = 1; i < argc;) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      *out_exit_code = 0;
      return false;
    }
    if (!read_argument(argv, &i, out_options)) return false;
  }
  arguments_settle_tone(&out_options->tone);
  return out_options->file_count > 0 || arguments_refuse("%s%s", "no picture was named", "");
}
