// SPDX-License-Identifier: Apache-2.0
//
// Calls of a library as tasks: images are filtered in the frequency domain, with transforms by VkFFT, on a Vulkan
// device.
//
//   spectrum [ROUNDS]
//
// A transform is a task whose code is an enqueue function: VkFFT records it into the command buffer that Weir has open.
// Between the two transforms of an image is a kernel of Weir's own. Weir puts the barriers between them, and none
// between images, which so overlap. All that is a graph: the functions are called when it is recorded, and the
// recording is submitted ROUNDS times.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/enqueue.h>
#include <weir/graph.h>
#include <weir/vulkan.h>

#include "fft.h"
#include "lowpass.spv.h"

enum { SIZE = 64, TEXELS = SIZE * SIZE, BYTES = TEXELS * 8, IMAGES = 4, LIMIT = 8, GROUP = 64, NO_DEVICE = 3 };

static const double TURN = 6.283185307179586;

typedef struct image {
  vulkan_buffer memory;
  weir_buffer *buffer;
  fft *plan; // of this memory: VkFFT's descriptor sets name it
  float texels[TEXELS][2];
} image;

typedef struct program {
  vulkan_device vulkan;
  char name[32];
  weir_context *context;
  weir_kernel *transform, *lowpass;
  image images[IMAGES];
} program;

static void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

// A transform of argument 0, by the plan that is the task's `user`; argument 1 says whether back.
static weir_status transform(const weir_enqueue *call) {
  const uint32_t *inverse = call->args[1].value;
  int error = fft_record(call->user, call->queue, *inverse != 0);
  if (error == 0) return WEIR_OK;
  char text[32];
  snprintf(text, sizeof text, "VkFFT: error %d", error);
  weir_enqueue_fail(call, text);
  return WEIR_ERROR_TASK_FAILED;
}

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
  require(weir_buffer_wrap_vulkan(weir_context_device(p->context, 0), (uint64_t)made->memory.buffer, 0, BYTES,
                                  &made->buffer));
  require(weir_copy_in(made->buffer, 0, BYTES, made->texels, NULL));
}

static void make_kernels(program *p) {
  require(weir_kernel_create(p->context, "transform", &p->transform));
  require(weir_kernel_set_enqueue(p->transform, "vulkan", &(weir_enqueue_code){.function = transform}));
  require(weir_kernel_create(p->context, "lowpass", &p->lowpass));
  require(weir_kernel_set_vulkan(p->lowpass, &(weir_vulkan_code){lowpass_spv, sizeof lowpass_spv},
                                 &(weir_vulkan_launch){.groups = {TEXELS / GROUP}}, 1));
}

static void add_transform(program *p, weir_graph *graph, image *of, uint32_t inverse) {
  const weir_arg args[] = {weir_updates(of->buffer), weir_value(&inverse, sizeof inverse)};
  const weir_task task = {.kernel = p->transform, .args = args, .arg_count = 2, .user = of->plan};
  require(weir_graph_add(graph, &task, NULL));
}

static void add_image(program *p, weir_graph *graph, image *of) {
  const uint32_t size = SIZE, limit = LIMIT;
  const weir_arg args[] = {weir_updates(of->buffer), weir_value(&size, sizeof size), weir_value(&limit, sizeof limit)};
  add_transform(p, graph, of, 0);
  require(weir_graph_add(graph, &(weir_task){.kernel = p->lowpass, .args = args, .arg_count = 3}, NULL));
  add_transform(p, graph, of, 1);
}

// VkFFT uses the queue for its plans, before Weir does.
static int open_program(program *p) {
  if (!vulkan_device_open(&p->vulkan)) return 0;
  for (int i = 0; i < IMAGES; i++) {
    p->images[i].memory = vulkan_buffer_create(&p->vulkan, BYTES);
    p->images[i].plan = fft_create(&p->vulkan, p->images[i].memory.buffer, SIZE);
    if (p->images[i].plan != NULL) continue;
    fprintf(stderr, "VkFFT makes no plan\n");
    exit(1);
  }
  vulkan_device_register(&p->vulkan, p->name, sizeof p->name);
  require(weir_context_create(&(weir_context_options){.devices = p->name}, &p->context));
  make_kernels(p);
  for (int i = 0; i < IMAGES; i++) make_image(p, i);
  return 1;
}

// The caller's objects live longer than the context.
static void close_program(program *p) {
  require(weir_context_release(p->context));
  require(weir_vulkan_unregister(p->name));
  for (int i = 0; i < IMAGES; i++) {
    fft_destroy(p->images[i].plan);
    vulkan_buffer_destroy(&p->vulkan, &p->images[i].memory);
  }
  vulkan_device_close(&p->vulkan);
}

int main(int argc, char **argv) {
  static program p;
  int rounds = argc > 1 ? atoi(argv[1]) : 3;
  float worst = 0;
  weir_graph *graph;
  if (!open_program(&p)) {
    printf("there is no Vulkan device\n");
    return NO_DEVICE;
  }
  require(weir_graph_create(p.context, NULL, &graph));
  for (int i = 0; i < IMAGES; i++) add_image(&p, graph, &p.images[i]);
  for (int i = 0; i < rounds; i++) require(weir_graph_launch(graph, NULL));
  for (int i = 0; i < IMAGES; i++) require(weir_copy_out(p.images[i].buffer, 0, BYTES, p.images[i].texels, NULL));
  require(weir_finish(p.context));
  for (int i = 0; i < IMAGES; i++)
    for (int j = 0; j < TEXELS; j++) worst = fmaxf(worst, fabsf(p.images[i].texels[j][0] - slow(i, j)));
  bool good = rounds == 0 || worst < 1e-4f;
  printf("%d images, filtered %d times with VkFFT: %s\n", IMAGES, rounds, good ? "right" : "wrong");
  if (!good) printf("one texel is off by %g\n", (double)worst);
  require(weir_graph_release(graph));
  close_program(&p);
  return !good;
}
