// SPDX-License-Identifier: Apache-2.0
//
// Runs the network of network.h on a few images: in order, as one queue would, and out of order.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "weights.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_MISSING = 3 };

static int exit_code_of(weir_status status) {
  if (status == WEIR_OK) return 0;
  if (status == WEIR_ERROR_UNAVAILABLE) return EXIT_MISSING;
  return status == WEIR_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_WRONG;
}

// The results of all images in one context.
typedef struct run {
  network_result *results; // per image; `us` is the median of the passes
  float *maps;             // theirs, one after another
} run;

static bool run_allocate(const dynroute_options *options, run *out_run) {
  size_t inputs = (size_t)options->inputs, count = (size_t)network_map_count(&options->shape);
  *out_run = (run){.results = calloc(inputs, sizeof(network_result)), .maps = malloc(inputs * count * sizeof(float))};
  if (!out_run->results || !out_run->maps) {
    fprintf(stderr, "dynroute: no memory\n");
    return false;
  }
  for (size_t i = 0; i < inputs; i++) out_run->results[i].map = out_run->maps + i * count;
  return true;
}

static void run_release(run *self) {
  free(self->results);
  free(self->maps);
}

static float *make_images(const dynroute_options *options) {
  size_t pixels = (size_t)options->shape.size * (size_t)options->shape.size;
  size_t planes = (size_t)options->inputs * NETWORK_IMAGE_CHANNELS;
  float *images = malloc(planes * pixels * sizeof(float));
  uint64_t random = options->shape.seed + 1;
  for (size_t plane = 0; images && plane < planes; plane++) {
    float brightness = random_number(&random);
    for (size_t i = 0; i < pixels; i++) images[plane * pixels + i] = brightness + random_number(&random);
  }
  return images;
}

static int compare_numbers(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

// Runs an image and takes the median of its times; the first pass, which sets things up, is not timed.
static bool run_image(network *net, const float *image, int passes, network_result *out_result) {
  double *times = malloc((size_t)passes * sizeof(double));
  bool good = times && network_run(net, image, out_result);
  for (int pass = 0; good && pass < passes; pass++) {
    good = network_run(net, image, out_result);
    times[pass] = out_result->us;
  }
  if (good) {
    qsort(times, (size_t)passes, sizeof(double), compare_numbers);
    out_result->us = times[passes / 2];
  }
  free(times);
  return good;
}

// Runs all images in a context of their own. Returns an exit code.
static int run_all(const dynroute_options *options, const char *devices, uint32_t flags, const float *images,
                   run *out_run) {
  network *net;
  weir_status status = network_create(&options->shape, devices, flags, options->issue, &net);
  if (status != WEIR_OK) return exit_code_of(status);
  size_t image_count = (size_t)NETWORK_IMAGE_CHANNELS * (size_t)options->shape.size * (size_t)options->shape.size;
  bool good = true;
  for (int i = 0; good && i < options->inputs; i++) {
    good = run_image(net, images + (size_t)i * image_count, options->passes, &out_run->results[i]);
  }
  network_release(net);
  return good ? 0 : EXIT_WRONG;
}

// Runs every image once more with a trace, and saves it.
static int save_timeline(const dynroute_options *options, const float *images, run *scratch) {
  network *net;
  weir_status status = network_create(&options->shape, options->devices, WEIR_CONTEXT_TRACE, options->issue, &net);
  if (status != WEIR_OK) return exit_code_of(status);
  size_t image_count = (size_t)NETWORK_IMAGE_CHANNELS * (size_t)options->shape.size * (size_t)options->shape.size;
  bool good = network_run(net, images, &scratch->results[0]);
  weir_trace_clear(network_context(net));
  for (int i = 0; good && i < options->inputs; i++) {
    good = network_run(net, images + (size_t)i * image_count, &scratch->results[i]);
  }
  if (good &&
      weir_trace_save(network_context(net), options->timeline, "Network with routing by its input") != WEIR_OK) {
    fprintf(stderr, "dynroute: %s\n", weir_last_error());
    good = false;
  }
  network_release(net);
  return good ? 0 : EXIT_WRONG;
}

static void print_times(const dynroute_options *options, const run *in_order, const run *out_of_order) {
  printf("%s: %d cells, %d channels of %d x %d\n", options->devices, options->shape.cells, options->shape.channels,
         options->shape.size, options->shape.size);
  printf("input  tasks     in order  out of order          branches of each cell\n");
  for (int i = 0; i < options->inputs; i++) {
    const network_result *result = &out_of_order->results[i];
    double serial = in_order->results[i].us;
    printf("%5d  %5u %9.1f us  %9.1f us  %5.2fx ", i, result->tasks, serial, result->us, serial / result->us);
    for (int cell = 0; cell < options->shape.cells; cell++) {
      printf(" %d", __builtin_popcount(result->routes[cell]));
    }
    printf("\n");
  }
}

// Compares results; `tolerance` 0: to the bit. Prints the outcome.
static bool compare(const dynroute_options *options, const run *a, const run *b, double tolerance, const char *what) {
  size_t count = (size_t)options->inputs * (size_t)network_map_count(&options->shape);
  bool same = memcmp(a->maps, b->maps, count * sizeof(float)) == 0, good = true;
  double greatest = 0;
  for (size_t i = 0; i < count; i++) {
    double expected = (double)b->maps[i], difference = fabs((double)a->maps[i] - expected);
    if (!(difference <= greatest)) greatest = difference;
    if (!(difference <= tolerance * fmax(1, fabs(expected)))) good = false;
  }
  for (int i = 0; i < options->inputs; i++) {
    if (memcmp(a->results[i].routes, b->results[i].routes, sizeof a->results[i].routes) != 0) good = false;
  }
  if (tolerance == 0) good = good && same;
  if (same) printf("%s: the same bits\n", what);
  if (!same) printf("%s: greatest difference %.2e: %s\n", what, greatest, good ? "within tolerance" : "WRONG");
  return good;
}

static int check(const dynroute_options *options, const float *images, const run *in_order, const run *out_of_order) {
  bool good = compare(options, out_of_order, in_order, 0, "out of order and in order");
  if (strncmp(options->devices, "cpu", 3) == 0) return good ? 0 : EXIT_WRONG;
  run cpu;
  dynroute_options once = *options;
  once.passes = 1;
  int exit_code = EXIT_WRONG;
  if (run_allocate(options, &cpu)) {
    exit_code = run_all(&once, "cpu", 0, images, &cpu);
    if (exit_code == 0) good = compare(options, out_of_order, &cpu, 1e-4, "this device and the CPU") && good;
  }
  run_release(&cpu);
  return exit_code != 0 ? exit_code : good ? 0 : EXIT_WRONG;
}

static int run_options(const dynroute_options *options, const float *images, run *in_order, run *out_of_order) {
  int exit_code = run_all(options, options->devices, WEIR_CONTEXT_IN_ORDER, images, in_order);
  if (exit_code == 0) exit_code = run_all(options, options->devices, 0, images, out_of_order);
  if (exit_code != 0) return exit_code;
  print_times(options, in_order, out_of_order);
  if (options->check) exit_code = check(options, images, in_order, out_of_order);
  if (exit_code == 0 && options->timeline) exit_code = save_timeline(options, images, in_order);
  return exit_code;
}

int main(int argc, char **argv) {
  dynroute_options options;
  int exit_code;
  if (!options_read(argc, argv, &options, &exit_code)) return exit_code;
  run in_order = {0}, out_of_order = {0};
  float *images = make_images(&options);
  exit_code = EXIT_WRONG;
  if (!images) fprintf(stderr, "dynroute: no memory\n");
  if (images && run_allocate(&options, &in_order) && run_allocate(&options, &out_of_order)) {
    exit_code = run_options(&options, images, &in_order, &out_of_order);
  }
  run_release(&in_order);
  run_release(&out_of_order);
  free(images);
  if (exit_code == 0 && fflush(stdout) != 0) {
    fprintf(stderr, "dynroute: cannot write to standard output\n");
    exit_code = EXIT_WRONG;
  }
  return exit_code;
}
