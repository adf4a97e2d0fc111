// SPDX-License-Identifier: Apache-2.0
//
// Calls of a library as tasks: images are filtered in the frequency domain, with transforms by VkFFT on a Vulkan device
// (spectrum) or by cuFFT on a CUDA device (spectrum_cuda).
//
//   spectrum [ROUNDS]
//
// A transform is a task whose code is an enqueue function: the library puts it into the command buffer or the stream
// that Weir has open. Between the two transforms of an image is a kernel of Weir's own. Weir orders the three, and does
// not order images, which so overlap. All that is a graph: what the functions put there is recorded or captured, and
// launched ROUNDS times. VkFFT is called once more by open tasks: the program records its commands itself.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/graph.h>

#include "require.h"
#include "transforms.h"

enum { SIZE = 64, TEXELS = SIZE * SIZE, IMAGES = 4, LIMIT = 8, NO_DEVICE = 3 };

static const double TURN = 6.283185307179586;

typedef struct image {
  weir_buffer *buffer;
  float texels[TEXELS][2];
} image;

typedef struct program {
  transforms *library;
  weir_kernel *transform, *lowpass;
  image images[IMAGES];
} program;

// A slow wave, which the filter keeps, and a fast one, which it takes out.
static float slow(int number, int i) {
  return (float)cos(TURN * ((number + 1) * (i % SIZE) + 3 * (i / SIZE)) / SIZE);
}

static float fast(int i) {
  return (float)sin(TURN * (20 * (i % SIZE) + 11 * (i / SIZE)) / SIZE);
}

static void make_image(program *p, int number) {
  image *made = &p->images[number];
  for (int i = 0; i < TEXELS; i++) made->texels[i][0] = slow(number, i) + fast(i);
  made->buffer = transforms_buffer(p->library, (uint32_t)number);
  require(weir_copy_in(made->buffer, 0, sizeof made->texels, made->texels, NULL));
}

static void make_kernels(program *p) {
  weir_context *context = transforms_context(p->library);
  require(weir_kernel_create(context, "transform", &p->transform));
  transforms_set_transform(p->library, p->transform);
  require(weir_kernel_create(context, "lowpass", &p->lowpass));
  transforms_set_lowpass(p->library, p->lowpass);
}

static void add_transform(program *p, weir_graph *graph, int number, uint32_t inverse) {
  const weir_arg args[] = {weir_updates(p->images[number].buffer), weir_value(&inverse, sizeof inverse)};
  const weir_task task = {
      .kernel = p->transform, .args = args, .arg_count = 2, .user = transforms_user(p->library, (uint32_t)number)};
  require(weir_graph_add(graph, &task, NULL));
}

static void add_image(program *p, weir_graph *graph, int number) {
  const uint32_t size = SIZE, limit = LIMIT;
  const weir_arg args[] = {weir_updates(p->images[number].buffer), weir_value(&size, sizeof size),
                           weir_value(&limit, sizeof limit)};
  add_transform(p, graph, number, 0);
  require(weir_graph_add(graph, &(weir_task){.kernel = p->lowpass, .args = args, .arg_count = 3}, NULL));
  add_transform(p, graph, number, 1);
}

// The same once, without the graph and without functions, where the library can be called so.
static void call_image(program *p, int number) {
  const uint32_t size = SIZE, limit = LIMIT;
  weir_buffer *buffer = p->images[number].buffer;
  const weir_arg args[] = {weir_updates(buffer), weir_value(&size, sizeof size), weir_value(&limit, sizeof limit)};
  const weir_task lowpass = {.kernel = p->lowpass, .args = args, .arg_count = 3};
  if (!transforms_call(p->library, buffer, (uint32_t)number, false)) return;
  require(weir_submit(transforms_context(p->library), &lowpass, NULL));
  transforms_call(p->library, buffer, (uint32_t)number, true);
}

// How far the images are from the slow waves alone.
static float read_error(program *p) {
  float worst = 0;
  for (int i = 0; i < IMAGES; i++)
    require(weir_copy_out(p->images[i].buffer, 0, sizeof p->images[i].texels, p->images[i].texels, NULL));
  require(weir_finish(transforms_context(p->library)));
  for (int i = 0; i < IMAGES; i++)
    for (int j = 0; j < TEXELS; j++) worst = fmaxf(worst, fabsf(p->images[i].texels[j][0] - slow(i, j)));
  return worst;
}

int main(int argc, char **argv) {
  static program p;
  char why[256];
  int rounds = argc > 1 ? atoi(argv[1]) : 3;
  weir_graph *graph;
  p.library = transforms_open(SIZE, IMAGES, why, sizeof why);
  if (p.library == NULL) {
    printf("%s\n", why);
    return NO_DEVICE;
  }
  make_kernels(&p);
  for (int i = 0; i < IMAGES; i++) make_image(&p, i);
  require(weir_graph_create(transforms_context(p.library), NULL, &graph));
  for (int i = 0; i < IMAGES; i++) add_image(&p, graph, i);
  for (int i = 0; i < rounds; i++) require(weir_graph_launch(graph, NULL));
  require(weir_finish(transforms_context(p.library)));
  for (int i = 0; i < IMAGES && rounds > 0; i++) call_image(&p, i);
  float worst = read_error(&p);
  bool good = rounds == 0 || worst < 1e-4f;
  printf("%d images, filtered %d times with %s: %s\n", IMAGES, rounds, transforms_library, good ? "right" : "wrong");
  if (!good) printf("one texel is off by %g\n", (double)worst);
  require(weir_graph_release(graph));
  transforms_close(p.library);
  return !good || fflush(stdout) != 0;
}
