// SPDX-License-Identifier: Apache-2.0
//
// Images: as bytes for the host, copies and other devices; as images for shaders.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "add.spv.h"
#include "base/allocate.h"
#include "image_double.spv.h"
#include "image_line.spv.h"
#include "image_solid.spv.h"
#include "image_store.spv.h"
#include "rig.h"
#include "sample_line.spv.h"
#include "sample_plane.spv.h"
#include "sample_space.spv.h"
#include "weir/graph.h"
#include "weir/vulkan.h"

enum { WIDTH = 37, HEIGHT = 11, TEXELS = WIDTH * HEIGHT, BYTES = TEXELS * 4, TYPES = WEIR_IMAGE_UNORM8 + 1 };

static weir_context *context;
static weir_device *device, *cpu;

#define KERNEL(name) make_kernel(#name, name##_spv, sizeof name##_spv)

static void good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

static void refused(weir_status status, weir_status expected, const char *text) {
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
  assert_int_equal(status, expected);
}

static int create(void **state) {
  (void)state;
  good(weir_context_create(&(weir_context_options){.devices = "vulkan,cpu:1", .queues = 3}, &context));
  device = weir_context_device(context, 0);
  cpu = weir_context_device(context, 1);
  return 0;
}

static int destroy(void **state) {
  (void)state;
  weir_context_release(context);
  return 0;
}

static weir_kernel *make_kernel(const char *name, const void *words, size_t bytes) {
  weir_kernel *kernel;
  good(weir_kernel_create(context, name, &kernel));
  good(weir_kernel_set_vulkan(kernel, &(weir_vulkan_code){words, bytes}, &(weir_vulkan_launch){0}, 1));
  return kernel;
}

static weir_buffer *make_image(const weir_image_info *info) {
  weir_buffer *image;
  good(weir_image_create(device, info, &image));
  return image;
}

static weir_buffer *make_plane(void) {
  return make_image(&(weir_image_info){
      .dimensions = 2, .width = WIDTH, .height = HEIGHT, .type = WEIR_IMAGE_FLOAT32, .channels = 1, .storage = true});
}

static weir_buffer *make_buffer(uint64_t bytes) {
  weir_buffer *buffer;
  good(weir_buffer_create(context, bytes, &buffer));
  return buffer;
}

static weir_status try_to_run(weir_kernel *kernel, const weir_arg *args, uint32_t count) {
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .groups = {8, 8}, .device = device};
  return weir_submit(context, &task, NULL);
}

static void run(weir_kernel *kernel, const weir_arg *args, uint32_t count) {
  good(try_to_run(kernel, args, count));
}

static void store(weir_kernel *kernel, weir_buffer *image, float add) {
  const weir_arg args[] = {weir_writes(image), weir_value(&add, sizeof add)};
  run(kernel, args, 2);
}

static void expect_plane(const float *found, float factor, float add) {
  for (int y = 0; y < HEIGHT; y++) {
    for (int x = 0; x < WIDTH; x++) {
      float wanted = factor * ((float)(10 * y + x) + add), number = found[y * WIDTH + x];
      if (number != wanted) fail_msg("texel %d, %d is %g, not %g", x, y, (double)number, (double)wanted);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes

// Copies all bytes in, to a second image, to a buffer, and out.
static void goes_round(const weir_image_info *info) {
  weir_buffer *first = make_image(info), *second = make_image(info);
  uint64_t bytes = weir_buffer_bytes(first);
  weir_buffer *between = make_buffer(bytes);
  unsigned char *sent = malloc(bytes), *found = malloc(bytes);
  assert_true(sent != NULL && found != NULL);
  for (uint64_t i = 0; i < bytes; i++) sent[i] = (unsigned char)(i * 7 % 61 + 1); // no NaN among the floats
  good(weir_copy_out(first, 0, bytes, found, NULL));
  good(weir_finish(context));
  for (uint64_t i = 0; i < bytes; i++) assert_int_equal(found[i], 0);
  good(weir_copy_in(first, 0, WEIR_WHOLE, sent, NULL));
  good(weir_copy(second, 0, first, 0, bytes, NULL));
  good(weir_copy(between, 0, second, 0, bytes, NULL));
  good(weir_fill(between, 0, 4, 0x01020304, NULL));
  good(weir_copy(first, 0, between, 0, bytes, NULL));
  good(weir_copy_out(first, 0, bytes, found, NULL));
  good(weir_finish(context));
  memset(sent, 4, 1);
  memset(sent + 1, 3, 1);
  memset(sent + 2, 2, 1);
  memset(sent + 3, 1, 1);
  assert_memory_equal(sent, found, bytes);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_buffer_release(between);
  free(sent);
  free(found);
}

static void every_format(void **state) {
  (void)state;
  static const uint64_t CHANNEL_BYTES[TYPES] = {4, 2, 4, 4, 2, 2, 1, 1, 1};
  uint32_t offered = 0;
  for (int type = 0; type < TYPES; type++) {
    for (uint32_t channels = 1; channels <= 4; channels *= 2) {
      for (int sampled = 0; sampled < 2; sampled++) {
        weir_image_info info = {.dimensions = 2,
                                .width = 13,
                                .height = 5,
                                .type = (weir_image_type)type,
                                .channels = channels,
                                .storage = !sampled,
                                .sampled = sampled};
        weir_buffer *image;
        weir_status status = weir_image_create(device, &info, &image);
        if (status == WEIR_ERROR_UNAVAILABLE) {
          print_message("%s\n", weir_last_error());
          continue;
        }
        good(status);
        assert_int_equal(weir_buffer_bytes(image), 13 * 5 * channels * CHANNEL_BYTES[type]);
        weir_buffer_release(image);
        offered++;
        for (info.dimensions = 1; info.dimensions <= 3; info.dimensions++) {
          info.height = info.dimensions > 1 ? 6 : 0;
          info.depth = info.dimensions > 2 ? 3 : 0;
          goes_round(&info);
        }
      }
    }
  }
  assert_true(offered >= 20); // those that every device has to offer are more
}

// What does not begin at a texel, and images of different shapes, are copied all the same.
static void copies_that_do_not_fit(void **state) {
  (void)state;
  weir_image_info info = {.dimensions = 1, .width = 12, .type = WEIR_IMAGE_FLOAT32, .channels = 4, .storage = true};
  weir_buffer *line = make_image(&info), *buffer = make_buffer(400);
  info = (weir_image_info){
      .dimensions = 2, .width = 12, .height = 2, .type = WEIR_IMAGE_UINT16, .channels = 4, .sampled = true};
  weir_buffer *plane = make_image(&info);
  uint32_t numbers[100], found[48], *pinned;
  for (uint32_t i = 0; i < 100; i++) numbers[i] = i + 1;
  good(weir_copy_in(buffer, 0, 400, numbers, NULL));
  good(weir_copy(line, 0, buffer, 4 * 3, 192, NULL));
  good(weir_copy(plane, 0, line, 0, 192, NULL));
  good(weir_copy(buffer, 4 * 5, plane, 0, 192, NULL));
  good(weir_copy_out(buffer, 4 * 5, 192, found, NULL));
  good(weir_finish(context));
  for (uint32_t i = 0; i < 48; i++) assert_int_equal(found[i], i + 4);
  good(weir_host_allocate(device, 800, (void **)&pinned));
  for (uint32_t i = 0; i < 100; i++) pinned[i] = 1000 + i;
  for (uint32_t offset = 0; offset < 4; offset += 3) { // one that is aligned as texels, one that is not
    good(weir_copy_in(line, 0, 192, pinned + offset, NULL));
    good(weir_copy_out(line, 0, 192, pinned + 100 + offset, NULL));
    good(weir_finish(context));
    for (uint32_t i = 0; i < 48; i++) assert_int_equal(pinned[100 + offset + i], 1000 + offset + i);
  }
  good(weir_fill(line, 0, WEIR_WHOLE, 0x12345678, NULL));
  good(weir_copy_out(line, 0, 192, found, NULL));
  good(weir_finish(context));
  for (uint32_t i = 0; i < 48; i++) assert_int_equal(found[i], 0x12345678);
  weir_buffer_release(line);
  weir_buffer_release(plane);
  weir_buffer_release(buffer);
  weir_host_free(device, pinned);
}

// ---------------------------------------------------------------------------------------------------------------
// Shaders

// Kernels that store and load, in an order that only Weir keeps, many times over.
static void storage_images(void **state) {
  (void)state;
  weir_kernel *stores = KERNEL(image_store), *doubles = KERNEL(image_double);
  weir_buffer *first = make_plane(), *second = make_plane(), *numbers = make_buffer(BYTES);
  float found[TEXELS];
  good(weir_fill(numbers, 0, BYTES, 0, NULL));
  for (int round = 0; round < 20; round++) {
    const weir_arg args[] = {weir_reads(first), weir_writes(second), weir_updates(numbers)};
    store(stores, first, (float)round);
    run(doubles, args, 3);
  }
  good(weir_copy_out(second, 0, BYTES, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 2, 19);
  good(weir_copy_out(numbers, 0, BYTES, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 20, 9.5F);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_buffer_release(numbers);
  weir_kernel_release(stores);
  weir_kernel_release(doubles);
}

static void lines_and_solids(void **state) {
  (void)state;
  enum { LENGTH = 300, SIDE = 9 };
  weir_kernel *line_kernel = KERNEL(image_line), *solid_kernel = KERNEL(image_solid);
  weir_image_info info = {.dimensions = 1, .width = LENGTH, .type = WEIR_IMAGE_UINT32, .channels = 1, .storage = true};
  weir_buffer *line = make_image(&info);
  info = (weir_image_info){.dimensions = 3,
                           .width = SIDE,
                           .height = SIDE + 1,
                           .depth = SIDE + 2,
                           .type = WEIR_IMAGE_UINT8,
                           .channels = 4,
                           .storage = true};
  weir_buffer *solid = make_image(&info);
  uint32_t numbers[LENGTH];
  uint8_t texels[SIDE + 2][SIDE + 1][SIDE][4];
  for (int i = 0; i < 3; i++) {
    const weir_arg line_args[] = {weir_updates(line)};
    good(weir_submit(context, &(weir_task){.kernel = line_kernel, .args = line_args, .arg_count = 1, .groups = {8}},
                     NULL));
    const weir_arg args[] = {weir_updates(solid)};
    good(weir_submit(context, &(weir_task){.kernel = solid_kernel, .args = args, .arg_count = 1, .groups = {3, 3, 3}},
                     NULL));
  }
  good(weir_copy_out(line, 0, sizeof numbers, numbers, NULL));
  good(weir_copy_out(solid, 0, sizeof texels, texels, NULL));
  good(weir_finish(context));
  for (uint32_t i = 0; i < LENGTH; i++) assert_int_equal(numbers[i], 3 * i);
  for (int z = 0; z < SIDE + 2; z++)
    for (int y = 0; y < SIDE + 1; y++)
      for (int x = 0; x < SIDE; x++)
        assert_true(texels[z][y][x][0] == 3 * x && texels[z][y][x][1] == 3 * y && texels[z][y][x][2] == 3 * z &&
                    texels[z][y][x][3] == 21);
  weir_buffer_release(line);
  weir_buffer_release(solid);
  weir_kernel_release(line_kernel);
  weir_kernel_release(solid_kernel);
}

typedef struct vec4 {
  float x, y, z, w;
} vec4;

// Samples an image at some places.
static void sample(weir_kernel *kernel, weir_buffer *image, const vec4 *places, uint32_t count, vec4 *found) {
  weir_buffer *asked = make_buffer(count * sizeof *places), *answers = make_buffer(count * sizeof *found);
  const weir_arg args[] = {weir_reads(image), weir_reads(asked), weir_writes(answers)};
  good(weir_copy_in(asked, 0, count * sizeof *places, places, NULL));
  run(kernel, args, 3);
  good(weir_copy_out(answers, 0, count * sizeof *found, found, NULL));
  good(weir_finish(context));
  weir_buffer_release(asked);
  weir_buffer_release(answers);
}

static void expect_near(float found, float wanted) {
  if (found < wanted - 0.01F || found > wanted + 0.01F) fail_msg("%g, not %g", (double)found, (double)wanted);
}

static void sampled_images(void **state) {
  (void)state;
  weir_kernel *lines = KERNEL(sample_line), *planes = KERNEL(sample_plane), *spaces = KERNEL(sample_space);
  const float texels[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const uint8_t bytes[] = {0, 51, 102, 255};
  const vec4 places[] = {{0.125F, 0.25F, 0.25F, 0},
                         {0.25F, 0.25F, 0.25F, 0},
                         {0.125F, 0.5F, 0.25F, 0},
                         {1.125F, 0.25F, 0.25F, 0},
                         {0.125F, 0.25F, 0.5F, 0}};
  vec4 found[5];
  weir_image_info info = {.dimensions = 2,
                          .width = 4,
                          .height = 2,
                          .type = WEIR_IMAGE_FLOAT32,
                          .channels = 1,
                          .sampled = true,
                          .linear = true};
  weir_buffer *plane = make_image(&info);
  good(weir_copy_in(plane, 0, sizeof texels, texels, NULL));
  sample(planes, plane, places, 4, found);
  expect_near(found[0].x, 0);
  expect_near(found[1].x, 0.5F); // between two texels
  expect_near(found[2].x, 2);
  expect_near(found[3].x, 3); // beyond the edge
  weir_buffer_release(plane);

  info.repeat = true;
  info.linear = false;
  plane = make_image(&info);
  good(weir_copy_in(plane, 0, sizeof texels, texels, NULL));
  sample(planes, plane, places, 4, found);
  expect_near(found[0].x, 0);
  assert_true(found[1].x == 0 || found[1].x == 1);
  expect_near(found[3].x, 0); // the first once more
  weir_buffer_release(plane);

  info = (weir_image_info){
      .dimensions = 1, .width = 4, .type = WEIR_IMAGE_UNORM8, .channels = 1, .sampled = true, .linear = true};
  weir_buffer *line = make_image(&info);
  good(weir_copy_in(line, 0, sizeof bytes, bytes, NULL));
  sample(lines, line, places, 4, found);
  expect_near(found[0].x, 0);
  expect_near(found[1].x, 0.1F);
  expect_near(found[3].x, 1);
  weir_buffer_release(line);

  info = (weir_image_info){.dimensions = 3,
                           .width = 2,
                           .height = 2,
                           .depth = 2,
                           .type = WEIR_IMAGE_FLOAT32,
                           .channels = 1,
                           .sampled = true,
                           .linear = true};
  weir_buffer *space = make_image(&info);
  good(weir_copy_in(space, 0, sizeof texels, texels, NULL));
  sample(spaces, space, places, 5, found);
  expect_near(found[0].x, 0);
  expect_near(found[2].x, 1);
  expect_near(found[4].x, 2);
  weir_buffer_release(space);
  weir_kernel_release(lines);
  weir_kernel_release(planes);
  weir_kernel_release(spaces);
}

static void halve(const weir_work *work) {
  float *numbers = work->args[0];
  for (int i = 0; i < TEXELS; i++) numbers[i] /= 2;
}

static void add_up(const weir_work *work) {
  const float *numbers = work->args[0];
  double *sum = work->user;
  for (int i = 0; i < TEXELS; i++) *sum += (double)numbers[i];
}

// Tasks of the CPU find the bytes, and what they write comes back.
static void between_devices(void **state) {
  (void)state;
  weir_kernel *stores = KERNEL(image_store), *doubles = KERNEL(image_double);
  weir_buffer *first = make_plane(), *second = make_plane(), *numbers = make_buffer(BYTES);
  double sum = 0, wanted = 0;
  float found[TEXELS];
  good(weir_fill(numbers, 0, BYTES, 0, NULL));
  store(stores, first, 4);
  const weir_arg reads[] = {weir_reads(first)}, updates[] = {weir_updates(first)};
  const weir_arg all[] = {weir_reads(first), weir_writes(second), weir_updates(numbers)};
  good(weir_submit(context, &(weir_task){.host = add_up, .user = &sum, .args = reads, .arg_count = 1}, NULL));
  good(weir_submit(context, &(weir_task){.host = halve, .args = updates, .arg_count = 1}, NULL));
  run(doubles, all, 3);
  good(weir_copy_out(second, 0, BYTES, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 1, 4);
  good(weir_copy_out(numbers, 0, BYTES, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 0.5F, 4);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) wanted += 10 * y + x + 4;
  assert_true(sum == wanted);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_buffer_release(numbers);
  weir_kernel_release(stores);
  weir_kernel_release(doubles);
}

// In graphs: kernels, copies with buffers, images and the caller's memory, zeros.
static void graphs(void **state) {
  (void)state;
  weir_kernel *stores = KERNEL(image_store), *doubles = KERNEL(image_double);
  weir_buffer *first = make_plane(), *second = make_plane(), *third = make_plane(), *numbers = make_buffer(BYTES + 64),
              *other = make_buffer(BYTES);
  float found[TEXELS], sent[TEXELS], add = 2;
  weir_graph *graph;
  uint32_t node;
  good(weir_graph_create(context, NULL, &graph));
  const weir_arg writes[] = {weir_writes(first), weir_value(&add, sizeof add)};
  const weir_arg all[] = {weir_reads(first), weir_writes(second), weir_updates_range(numbers, 0, BYTES)};
  good(
      weir_graph_add(graph, &(weir_task){.kernel = stores, .args = writes, .arg_count = 2, .groups = {8, 8, 1}}, NULL));
  good(weir_graph_fill(graph, numbers, 0, WEIR_WHOLE, 0, NULL));
  good(weir_graph_fill(graph, second, 0, WEIR_WHOLE, 0, NULL));
  good(weir_graph_add(graph, &(weir_task){.kernel = doubles, .args = all, .arg_count = 3, .groups = {8, 8, 1}}, &node));
  good(weir_graph_copy(graph, third, 0, second, 0, WEIR_WHOLE, NULL));
  good(weir_graph_copy(graph, numbers, 64, third, 0, WEIR_WHOLE, NULL));
  good(weir_graph_copy_in(graph, third, 0, WEIR_WHOLE, sent, NULL));
  good(weir_graph_copy_out(graph, third, 0, WEIR_WHOLE, found, NULL));
  for (int launch = 0; launch < 3; launch++) {
    for (int i = 0; i < TEXELS; i++) sent[i] = (float)(i + launch);
    good(weir_graph_launch(graph, NULL));
    good(weir_finish(context));
    for (int i = 0; i < TEXELS; i++) assert_true(found[i] == (float)(i + launch));
    good(weir_copy_out(numbers, 64, BYTES, found, NULL));
    good(weir_finish(context));
    expect_plane(found, 2, 2);
  }
  refused(weir_graph_fill(graph, first, 0, WEIR_WHOLE, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "only 0 fills it");
  refused(weir_graph_copy(graph, first, 0, numbers, 2, BYTES, NULL), WEIR_ERROR_INVALID_ARGUMENT, "begins at no texel");
  refused(weir_graph_replace_buffer(graph, first, third), WEIR_ERROR_INVALID_ARGUMENT, "is an image");
  const weir_arg wrong = weir_reads(other), right = weir_reads(third);
  refused(weir_graph_set_arg(graph, node, 0, &wrong), WEIR_ERROR_INVALID_ARGUMENT, "this is no image");
  good(weir_graph_set_arg(graph, node, 0, &right));
  good(weir_graph_launch(graph, NULL));
  good(weir_finish(context));
  good(weir_copy_out(second, 0, BYTES, found, NULL));
  good(weir_finish(context));
  for (int i = 0; i < TEXELS; i++) assert_true(found[i] == 2 * sent[i]); // what the launch before had left there
  weir_graph_release(graph);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_buffer_release(third);
  weir_buffer_release(numbers);
  weir_buffer_release(other);
  weir_kernel_release(stores);
  weir_kernel_release(doubles);
}

// An image whose buffer is released lives until its last user is done.
static void released_at_once(void **state) {
  (void)state;
  weir_kernel *stores = KERNEL(image_store);
  weir_buffer *kept = make_buffer(BYTES);
  float found[TEXELS];
  for (int round = 0; round < 40; round++) {
    weir_buffer *image = make_plane();
    store(stores, image, (float)round);
    good(weir_copy(kept, 0, image, 0, BYTES, NULL));
    weir_buffer_release(image);
  }
  good(weir_copy_out(kept, 0, BYTES, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 1, 39);
  weir_buffer_release(kept);
  weir_kernel_release(stores);
}

// Another Vulkan device gets an image's bytes by way of the host, and may not write to it.
static void two_devices(void **state) {
  (void)state;
  weir_context *first = context;
  weir_device *first_device = device;
  good(weir_context_create(&(weir_context_options){.devices = "vulkan:0,vulkan:0,cpu:1"}, &context));
  device = weir_context_device(context, 0);
  weir_device *other = weir_context_device(context, 1);
  weir_kernel *stores = KERNEL(image_store), *adds = KERNEL(add);
  weir_buffer *image = make_plane(), *plain = make_buffer(BYTES), *sum = make_buffer(BYTES);
  float found[TEXELS];
  uint32_t count = TEXELS;
  store(stores, image, 1);
  good(weir_copy(plain, 0, image, 0, BYTES, NULL));
  weir_arg args[] = {weir_reads(image), weir_reads(plain), weir_writes(sum), weir_value(&count, sizeof count)};
  weir_task task = {.kernel = adds, .args = args, .arg_count = 4, .groups = {8}, .device = other};
  refused(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "an image of another device than vulkan:0");
  args[0] = weir_reads(plain);
  good(weir_submit(context, &task, NULL));
  good(weir_copy_out(sum, 0, BYTES, found, NULL));
  good(weir_copy(image, 0, sum, 0, BYTES, NULL));
  good(weir_finish(context));
  expect_plane(found, 2, 1);
  memset(found, 0, sizeof found);
  good(weir_copy_out(image, 0, BYTES, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 2, 1);
  weir_context_release(context);
  context = first;
  device = first_device;
}

// ---------------------------------------------------------------------------------------------------------------
// What is refused

static void bad_images(void **state) {
  (void)state;
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  const weir_image_info right = {
      .dimensions = 2, .width = 4, .height = 4, .type = WEIR_IMAGE_FLOAT32, .channels = 1, .storage = true};
  weir_image_info info = right;
  weir_buffer *image;
  refused(weir_image_create(device, &info, NULL), invalid, "out_buffer is NULL");
  refused(weir_image_create(device, NULL, &image), invalid, "the info is NULL");
  refused(weir_image_create(NULL, &info, &image), invalid, "the device is NULL");
  refused(weir_image_create(cpu, &info, &image), invalid, "cpu:1 is no Vulkan or OpenCL device");
#define WRONG(member, value, text)                                                                                     \
  info = right;                                                                                                        \
  info.member = value;                                                                                                 \
  refused(weir_image_create(device, &info, &image), invalid, text)
  WRONG(dimensions, 0, "1 to 3 dimensions");
  WRONG(dimensions, 4, "1 to 3 dimensions");
  WRONG(dimensions, 1, "4 x 4 x 0 texels in 1 dimension");
  WRONG(depth, 2, "4 x 4 x 2 texels in 2 dimensions");
  WRONG(width, 0, "a width of 0");
  WRONG(width, 1u << 30, "allows");
  WRONG(type, (weir_image_type)99, "no such type");
  WRONG(channels, 0, "1, 2 or 4 channels");
  WRONG(channels, 5, "1, 2 or 4 channels");
  WRONG(channels, 3, "3 channels; devices offer images of 1, 2 and 4");
  WRONG(storage, false, "neither store to it nor sample it");
  WRONG(linear, true, "what is not sampled");
#undef WRONG
  assert_null(image);
  // Integers are not mixed, on any device.
  info = (weir_image_info){
      .dimensions = 1, .width = 4, .type = WEIR_IMAGE_INT32, .channels = 1, .sampled = true, .linear = true};
  refused(weir_image_create(device, &info, &image), WEIR_ERROR_UNAVAILABLE,
          "no sampled (linearly) images of format r32i; it has ");
}

static void bad_uses(void **state) {
  (void)state;
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  weir_kernel *stores = KERNEL(image_store), *samples = KERNEL(sample_plane), *lines = KERNEL(image_line),
              *adds = KERNEL(add);
  const weir_image_info other_format = {
      .dimensions = 2, .width = 4, .height = 4, .type = WEIR_IMAGE_INT32, .channels = 1, .storage = true};
  weir_buffer *image = make_plane(), *buffer = make_buffer(BYTES), *numbers = make_image(&other_format);
  float add = 0;
  uint32_t count = 4;
  char bytes[BYTES];
  weir_arg args[] = {weir_writes_range(image, 0, 16), weir_value(&add, sizeof add), weir_writes(buffer),
                     weir_value(&count, sizeof count)};
  refused(try_to_run(stores, args, 2), invalid, "used whole");
  args[0] = weir_reads(image);
  refused(try_to_run(stores, args, 2), invalid, "declared as only read, but the code of kernel");
  args[0] = weir_writes(buffer);
  refused(try_to_run(stores, args, 2), invalid, "the shader has a 2D image there, and this is no image");
  args[0] = weir_writes(numbers);
  refused(try_to_run(stores, args, 2), invalid, "the shader's format is another one than the image's, which is r32i");
  weir_context *other;
  weir_buffer *foreign;
  good(weir_context_create(&(weir_context_options){.devices = "vulkan,cpu:1"}, &other));
  good(weir_image_create(weir_context_device(other, 0), &other_format, &foreign));
  args[0] = weir_writes(foreign);
  refused(try_to_run(stores, args, 2), invalid, "another context");
  weir_buffer_release(foreign);
  weir_context_release(other);
  args[0] = weir_updates(image);
  refused(try_to_run(lines, args, 1), invalid, "the shader has a 1D image there, and this one has 2 dimensions");
  args[0] = args[1] = weir_reads(image);
  refused(try_to_run(adds, args, 4), invalid, "the shader has a buffer there, and this is an image");
  args[1] = weir_reads(buffer);
  args[2] = weir_writes(buffer);
  refused(try_to_run(samples, args, 3), invalid, "the shader samples it, and the image was not created for that");
  refused(weir_copy_in(image, 4, 16, bytes, NULL), invalid, "copied whole");
  refused(weir_copy_out(image, 0, 16, bytes, NULL), invalid, "copied whole");
  refused(weir_copy(buffer, 0, image, 0, 16, NULL), invalid, "copied whole");
  refused(weir_copy(image, 0, buffer, 0, 16, NULL), invalid, "copied whole");
  refused(weir_copy(image, 4, buffer, 0, BYTES, NULL), WEIR_ERROR_OUT_OF_RANGE, "leave buffer");
  const weir_arg part[] = {weir_reads_range(image, 16, 16)};
  refused(weir_submit(context, &(weir_task){.host = halve, .args = part, .arg_count = 1}, NULL), invalid, "used whole");
  weir_buffer_release(image);
  args[0] = weir_writes(image);
  args[1] = weir_value(&add, sizeof add);
  refused(try_to_run(stores, args, 2), WEIR_ERROR_RELEASED, "was released before");
  weir_buffer_release(buffer);
  weir_buffer_release(numbers);
  weir_kernel_release(stores);
  weir_kernel_release(samples);
  weir_kernel_release(lines);
  weir_kernel_release(adds);
  good(weir_finish(context));
}

// An allocation that fails leaves nothing behind: the next image is as good as any.
static void no_memory(void **state) {
  (void)state;
  uint32_t failures = 0;
  weir_kernel *stores = KERNEL(image_store);
  for (uint64_t n = 1; n <= 12; n++) {
    const weir_image_info info = {
        .dimensions = 2, .width = WIDTH, .height = HEIGHT, .type = WEIR_IMAGE_FLOAT32, .channels = 1, .storage = true};
    weir_buffer *image;
    float found[TEXELS];
    weir__allocate_fail_at(n);
    weir_status status = weir_image_create(device, &info, &image);
    weir__allocate_fail_at(0);
    failures += status != WEIR_OK;
    if (status != WEIR_OK) {
      assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
      assert_null(image);
    }
    weir_finish(context); // the task that clears the image may have found no memory
    weir_buffer_release(image);
    image = make_plane();
    store(stores, image, (float)n);
    good(weir_copy_out(image, 0, BYTES, found, NULL));
    good(weir_finish(context));
    expect_plane(found, 1, (float)n);
    weir_buffer_release(image);
  }
  assert_true(failures >= 3); // the image, its memory, its chunk
  weir_kernel_release(stores);
}

int main(void) {
  rig_skip_without_device();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format),     cmocka_unit_test(copies_that_do_not_fit),
      cmocka_unit_test(storage_images),   cmocka_unit_test(lines_and_solids),
      cmocka_unit_test(sampled_images),   cmocka_unit_test(between_devices),
      cmocka_unit_test(graphs),           cmocka_unit_test(two_devices),
      cmocka_unit_test(released_at_once), cmocka_unit_test(bad_images),
      cmocka_unit_test(bad_uses),         cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests(tests, create, destroy);
}
