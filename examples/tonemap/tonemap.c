// SPDX-License-Identifier: Apache-2.0
//
// Maps a picture, or rectangles on a way through it, over the devices of a context, and shows what each device did.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "efficiency.h"
#include "frame.h"
#include "mapper.h"
#include "options.h"
#include "plot.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_MISSING = 3 };

static int exit_code_of(weir_status status) {
  if (status == WEIR_OK) return 0;
  if (status == WEIR_ERROR_UNAVAILABLE) return EXIT_MISSING;
  return status == WEIR_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_WRONG;
}

// Chooses the rectangle's size. False, with a message: it is not inside of the picture.
static bool choose_size(const tonemap_options *options, const picture *in, tone_crop *out_crop) {
  int divisor = options->frames > 1 ? 2 : 1;
  out_crop->width = options->crop_width > 0 ? options->crop_width : (in->width + divisor - 1) / divisor;
  out_crop->height = options->crop_height > 0 ? options->crop_height : (in->height + divisor - 1) / divisor;
  if (out_crop->width <= in->width && out_crop->height <= in->height) return true;
  fprintf(stderr, "tonemap: --crop %dx%d is larger than the picture, %dx%d\n", out_crop->width, out_crop->height,
          in->width, in->height);
  return false;
}

// Writes a frame, under the output's name or, one of several, with its number.
static bool write_frame(const tonemap_options *options, int frame, tone_crop crop, const uint8_t *pixels,
                        uint64_t stride) {
  if (!options->out) return true;
  char path[FRAME_MAX_PATH];
  if (!frame_path(options->out, frame, options->frames, path)) return false;
  return picture_write_png(path, crop.width, crop.height, pixels, stride);
}

static int run_serial(const tonemap_options *options, const picture *in, tone_crop crop, uint8_t *pixels) {
  for (int frame = 0; frame < options->frames; frame++) {
    frame_move(&crop, in, frame, options->frames);
    if (!reference_map(in, crop, options->tone.kind, options->tone.settings, pixels) ||
        !write_frame(options, frame, crop, pixels, (uint64_t)crop.width * 3)) {
      return EXIT_WRONG;
    }
  }
  return 0;
}

static void print_head(weir_context *context) {
  printf("frame    x    y       ms");
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    printf("  %-17s", weir_device_information(weir_context_device(context, i))->name);
  }
  printf("\n");
}

static void print_frame(int frame, tone_crop crop, const mapper_report *report) {
  printf("%5d %4d %4d %8.2f", frame + 1, crop.x, crop.y, report->ms);
  for (uint32_t i = 0; i < report->round.device_count; i++) {
    const weir_split_device_round *device = &report->round.devices[i];
    printf("  %5.1f %% %6.2f ms%s", 100 * device->share, (double)device->busy_ns * 1e-6,
           device->failed ? " (failed)" : "");
  }
  printf("\n");
}

// Maps all frames. Returns an exit code.
static int run_frames(const tonemap_options *options, mapper *map, const picture *in, tone_crop crop, uint8_t *pixels,
                      uint8_t *expected, mapper_report *reports) {
  int wrong = 0;
  print_head(mapper_context(map));
  for (int frame = 0; frame < options->frames; frame++) {
    frame_move(&crop, in, frame, options->frames);
    weir_status status = mapper_map(map, in, crop.x, crop.y, pixels, &reports[frame]);
    if (status != WEIR_OK) return exit_code_of(status);
    print_frame(frame, crop, &reports[frame]);
    if (!write_frame(options, frame, crop, pixels, mapper_stride(map))) return EXIT_WRONG;
    if (!options->check) continue;
    if (!reference_map(in, crop, options->tone.kind, options->tone.settings, expected)) return EXIT_WRONG;
    if (!frame_equals(crop, pixels, mapper_stride(map), expected)) wrong++;
  }
  const weir_split_round *last = &reports[options->frames - 1].round;
  printf("policy %s: %s\n", options->policy, last->why);
  if (options->check) printf("%d of %d frames differ from the serial reference\n", wrong, options->frames);
  return wrong > 0 ? EXIT_WRONG : 0;
}

static bool draw(const tonemap_options *options, weir_context *context, const mapper_report *reports) {
  const char *names[ROWS_MAX_DEVICES];
  for (uint32_t i = 0; i < reports->round.device_count; i++) {
    names[i] = weir_device_information(weir_context_device(context, i))->name;
  }
  char title[200];
  const char *slash = strrchr(options->in, '/');
  snprintf(title, sizeof title, "%d frames of %.80s: rows cut over %.40s, policy %s", options->frames,
           slash ? slash + 1 : options->in, options->devices, reports[options->frames - 1].round.policy);
  return plot_write(options->plot, title, reports, options->frames, names);
}

static int run_on_devices(const tonemap_options *options, const picture *in, tone_crop crop, uint8_t *expected) {
  const mapper_options map_options = {.devices = options->devices,
                                      .policy = options->policy,
                                      .shares = options->shares,
                                      .share_count = options->share_count,
                                      .resident = options->resident,
                                      .kind = options->tone.kind,
                                      .settings = options->tone.settings,
                                      .width = crop.width,
                                      .height = crop.height};
  mapper *map;
  weir_status status = mapper_create(&map_options, &map);
  if (status != WEIR_OK) return exit_code_of(status);
  uint8_t *pixels = malloc((size_t)crop.height * mapper_stride(map));
  mapper_report *reports = calloc((size_t)options->frames, sizeof *reports);
  int exit_code = EXIT_WRONG;
  if (!pixels || !reports) fprintf(stderr, "tonemap: no memory\n");
  if (pixels && reports) exit_code = run_frames(options, map, in, crop, pixels, expected, reports);
  if (exit_code == 0 && options->plot && !draw(options, mapper_context(map), reports)) exit_code = EXIT_WRONG;
  mapper_release(map);
  if (exit_code == 0 && options->efficiency) {
    exit_code = exit_code_of(efficiency_print(&map_options, reports->round.device_count, in, 0, 0, pixels));
  }
  free(pixels);
  free(reports);
  return exit_code;
}

int main(int argc, char **argv) {
  tonemap_options options;
  int exit_code;
  if (!options_read(argc, argv, &options, &exit_code)) return exit_code;
  setenv("POCL_AFFINITY", "1", 0); // parts of a CPU under PoCL keep to cores of their own
  picture in;
  if (!picture_read(options.in, &in)) return EXIT_WRONG;
  tone_crop crop = {0};
  exit_code = EXIT_USAGE;
  if (choose_size(&options, &in, &crop)) {
    uint8_t *expected = malloc((size_t)crop.width * (size_t)crop.height * 3);
    exit_code = EXIT_WRONG;
    if (!expected)
      fprintf(stderr, "tonemap: no memory\n");
    else if (options.serial)
      exit_code = run_serial(&options, &in, crop, expected);
    else
      exit_code = run_on_devices(&options, &in, crop, expected);
    free(expected);
  }
  picture_release(&in);
  if (exit_code == 0 && fflush(stdout) != 0) {
    fprintf(stderr, "tonemap: cannot write to standard output\n");
    exit_code = EXIT_WRONG;
  }
  return exit_code;
}
