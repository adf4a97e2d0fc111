// SPDX-License-Identifier: Apache-2.0
//
// Images of an OpenCL device: as bytes for the host, copies and other devices; as images for kernels. test_opencl_images [MEMORY]:
// what the rest of the device's storage is, as in WEIR_OPENCL_MEMORY.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault_loader.h"
#include "leaks.h"
#include "weir/graph.h"
#include "weir/opencl.h"
#include "weir/vulkan.h"

enum { WIDTH = 37, HEIGHT = 11, DEPTH = 3, TEXELS = WIDTH * HEIGHT, TYPES = WEIR_IMAGE_UNORM8 + 1 };

static const char source[] =
    "__kernel void store(write_only image2d_t to, float add) {\n"
    "  int x = get_global_id(0), y = get_global_id(1);\n"
    "  write_imagef(to, (int2)(x, y), (float4)(x + 100 * y + add, 0, 0, 1));\n"
    "}\n"
    "__kernel void twice(read_only image2d_t from, write_only image2d_t to) {\n"
    "  const sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "  write_imagef(to, at, 2 * read_imagef(from, texel, at));\n"
    "}\n"
    "__kernel void sample(__global float *to, read_only image2d_t from, sampler_t how, __global const float2 *places,\n"
    "                     read_only image2d_t other, sampler_t others, float factor) {\n"
    "  int i = get_global_id(0);\n"
    "  to[i] = factor * read_imagef(from, how, places[i]).x + read_imagef(other, others, places[i]).x;\n"
    "}\n"
    "__kernel void line(write_only image1d_t to) {\n"
    "  write_imageui(to, (int)get_global_id(0), (uint4)(3 * get_global_id(0), 7, 0, 0));\n"
    "}\n"
    "__kernel void solid(write_only image3d_t to) {\n"
    "  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);\n"
    "  write_imagei(to, at, (int4)(at.x + 50 * at.y - 1000 * at.z, 1, 2, 3));\n"
    "}\n"
    "__kernel void add_up(__global float *words, float add) { words[get_global_id(0)] += add; }\n";

static const char bad_sampler[] = "__kernel void wrong(sampler_t how, read_only image2d_t from) {}\n";

static const char *memory = "objects";
static weir_context *context;
static weir_device *device;

static void good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

static void refused(weir_status status, weir_status expected, const char *text) {
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
  assert_int_equal(status, expected);
}

static int open_context(void **state) {
  (void)state;
  good(weir_context_create(&(weir_context_options){.devices = "opencl,cpu:1", .queues = 3}, &context));
  device = weir_context_device(context, 0);
  return 0;
}

static int close_context(void **state) {
  (void)state;
  weir_context_release(context);
  if (fault_loader_live() == 0) return 0;
  fprintf(stderr, "%lld objects are left\n", (long long)fault_loader_live());
  return -1;
}

static weir_kernel *make_kernel(const char *entry) {
  weir_kernel *kernel;
  good(weir_kernel_create(context, entry, &kernel));
  good(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source}, &(weir_opencl_launch){.entry = entry}));
  return kernel;
}

static void run(weir_kernel *kernel, weir_arg *args, uint32_t count, uint32_t x, uint32_t y, uint32_t z) {
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .groups = {x, y, z}};
  good(weir_submit(context, &task, NULL));
}

static weir_buffer *make_image(const weir_image_info *info) {
  weir_buffer *image;
  good(weir_image_create(device, info, &image));
  return image;
}

static weir_image_info plane(void) {
  return (weir_image_info){
      .dimensions = 2, .width = WIDTH, .height = HEIGHT, .type = WEIR_IMAGE_FLOAT32, .channels = 1, .storage = true};
}

static void expect_plane(const float *found, float factor, float add) {
  for (int y = 0; y < HEIGHT; y++) {
    for (int x = 0; x < WIDTH; x++) {
      float wanted = factor * ((float)(x + 100 * y) + add);
      if (found[y * WIDTH + x] != wanted)
        fail_msg("texel %d, %d: %g, not %g", x, y, (double)found[y * WIDTH + x], (double)wanted);
    }
  }
}

// An image is zero at first; bytes go to it and come back, by way of the host and of a buffer.
static void goes_round(const weir_image_info *info, uint32_t texel_bytes) {
  uint64_t bytes =
      (uint64_t)texel_bytes * info->width * (info->height > 0 ? info->height : 1) * (info->depth > 0 ? info->depth : 1);
  weir_buffer *image = make_image(info), *buffer, *second = make_image(info);
  assert_int_equal(weir_buffer_bytes(image), bytes);
  good(weir_buffer_create(context, bytes + 256, &buffer));
  unsigned char *in = malloc(bytes), *out = malloc(bytes);
  assert_non_null(in);
  assert_non_null(out);
  memset(out, 1, bytes);
  good(weir_copy_out(image, 0, bytes, out, NULL));
  good(weir_finish(context));
  for (uint64_t i = 0; i < bytes; i++) assert_int_equal(out[i], 0);
  // Bytes that no kind of float or number makes something else of.
  for (uint64_t i = 0; i < bytes; i++) in[i] = (unsigned char)((i * 7 + i / 256) % 60);
  good(weir_copy_in(image, 0, bytes, in, NULL));
  good(weir_copy(buffer, 256, image, 0, bytes, NULL));
  good(weir_copy(second, 0, buffer, 256, bytes, NULL));
  if (bytes % 4 == 0) good(weir_fill(image, 0, WEIR_WHOLE, 0, NULL));
  good(weir_copy(image, 0, second, 0, bytes, NULL));
  good(weir_copy_out(image, 0, bytes, out, NULL));
  good(weir_finish(context));
  assert_memory_equal(out, in, bytes);
  free(in);
  free(out);
  weir_buffer_release(image);
  weir_buffer_release(second);
  weir_buffer_release(buffer);
}

static void every_format(void **state) {
  (void)state;
  static const uint32_t channel_bytes[] = {4, 2, 4, 4, 2, 2, 1, 1, 1};
  uint32_t made = 0;
  for (uint32_t type = 0; type < TYPES; type++) {
    for (uint32_t channels = 1; channels <= 4; channels *= 2) {
      for (uint32_t dimensions = 1; dimensions <= 3; dimensions++) {
        weir_image_info info = {.dimensions = dimensions,
                                .width = WIDTH,
                                .height = dimensions > 1 ? HEIGHT : 0,
                                .depth = dimensions > 2 ? DEPTH : 0,
                                .type = (weir_image_type)type,
                                .channels = channels,
                                .storage = made % 2 == 0,
                                .sampled = true};
        weir_buffer *image;
        weir_status status = weir_image_create(device, &info, &image);
        if (status == WEIR_ERROR_UNAVAILABLE) continue; // and the text says what there is
        good(status);
        weir_buffer_release(image);
        goes_round(&info, channel_bytes[type] * channels);
        made++;
      }
    }
  }
  assert_true(made >= 20);
}

static void kernels_store_and_load(void **state) {
  (void)state;
  const weir_image_info info = plane();
  weir_kernel *store = make_kernel("store"), *twice = make_kernel("twice");
  weir_buffer *first = make_image(&info), *second = make_image(&info);
  float found[TEXELS], add = 5;
  weir_arg stores[] = {weir_writes(first), weir_value(&add, sizeof add)};
  weir_arg doubles[] = {weir_reads(first), weir_writes(second)};
  run(store, stores, 2, WIDTH, HEIGHT, 1);
  run(twice, doubles, 2, WIDTH, HEIGHT, 1);
  add = 9;
  run(store, stores, 2, WIDTH, HEIGHT, 1);
  good(weir_copy_out(second, 0, WEIR_WHOLE, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 2, 5);
  good(weir_copy_out(first, 0, WEIR_WHOLE, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 1, 9);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_kernel_release(store);
  weir_kernel_release(twice);
}

static void lines_and_solids(void **state) {
  (void)state;
  weir_kernel *line = make_kernel("line"), *solid = make_kernel("solid");
  const weir_image_info of_line = {
      .dimensions = 1, .width = WIDTH, .type = WEIR_IMAGE_UINT32, .channels = 4, .storage = true};
  const weir_image_info of_solid = {.dimensions = 3,
                                    .width = WIDTH,
                                    .height = HEIGHT,
                                    .depth = DEPTH,
                                    .type = WEIR_IMAGE_INT32,
                                    .channels = 4,
                                    .storage = true};
  weir_buffer *a = make_image(&of_line), *b = make_image(&of_solid);
  static uint32_t words[WIDTH][4];
  static int32_t numbers[DEPTH][HEIGHT][WIDTH][4];
  weir_arg first[] = {weir_writes(a)}, second[] = {weir_writes(b)};
  run(line, first, 1, WIDTH, 1, 1);
  run(solid, second, 1, WIDTH, HEIGHT, DEPTH);
  good(weir_copy_out(a, 0, WEIR_WHOLE, words, NULL));
  good(weir_copy_out(b, 0, WEIR_WHOLE, numbers, NULL));
  good(weir_finish(context));
  for (uint32_t x = 0; x < WIDTH; x++) {
    assert_int_equal(words[x][0], 3 * x);
    assert_int_equal(words[x][1], 7);
  }
  for (int z = 0; z < DEPTH; z++) {
    for (int y = 0; y < HEIGHT; y++) {
      for (int x = 0; x < WIDTH; x++) assert_int_equal(numbers[z][y][x][0], x + 50 * y - 1000 * z);
    }
  }
  weir_buffer_release(a);
  weir_buffer_release(b);
  weir_kernel_release(line);
  weir_kernel_release(solid);
}

// Each sampler is that of the image before it: linear or not, repeated or not.
static void samplers(void **state) {
  (void)state;
  enum { SIDE = 4, PLACES = 3 };
  weir_kernel *sample = make_kernel("sample");
  const weir_image_info smooth = {.dimensions = 2,
                                  .width = SIDE,
                                  .height = SIDE,
                                  .type = WEIR_IMAGE_FLOAT32,
                                  .channels = 4,
                                  .sampled = true,
                                  .linear = true,
                                  .repeat = true};
  weir_image_info sharp = smooth;
  sharp.linear = sharp.repeat = false;
  float texels[SIDE][SIDE][4] = {{{0}}}, found[PLACES], factor = 1000;
  for (int y = 0; y < SIDE; y++) {
    for (int x = 0; x < SIDE; x++) texels[y][x][0] = (float)(x * x + 1);
  }
  // Between texels 1 and 2; far outside, at texel 1 if it is repeated, else at the edge; in the middle of texel 3.
  const float places[PLACES][2] = {{0.5f, 0.125f}, {1.375f, 0.125f}, {0.875f, 0.875f}};
  const float of_smooth[PLACES] = {3.5f, 2, 10}, of_sharp[PLACES] = {5, 10, 10};
  weir_buffer *a = make_image(&smooth), *b = make_image(&sharp), *to, *at;
  good(weir_buffer_create(context, sizeof found, &to));
  good(weir_buffer_create(context, sizeof places, &at));
  good(weir_copy_in(a, 0, sizeof texels, texels, NULL));
  good(weir_copy_in(b, 0, sizeof texels, texels, NULL));
  good(weir_copy_in(at, 0, sizeof places, places, NULL));
  for (int turn = 0; turn < 2; turn++) {
    weir_arg args[] = {weir_writes(to), weir_reads(turn == 0 ? a : b), weir_reads(at), weir_reads(turn == 0 ? b : a),
                       weir_value(&factor, sizeof factor)};
    run(sample, args, 5, PLACES, 1, 1);
    good(weir_copy_out(to, 0, sizeof found, found, NULL));
    good(weir_finish(context));
    for (int i = 0; i < PLACES; i++) {
      float wanted = turn == 0 ? 1000 * of_smooth[i] + of_sharp[i] : 1000 * of_sharp[i] + of_smooth[i];
      float off = found[i] - wanted;
      if (off > 1 || off < -1) fail_msg("turn %d, place %d: %g, not %g", turn, i, (double)found[i], (double)wanted);
    }
  }
  weir_buffer_release(a);
  weir_buffer_release(b);
  weir_buffer_release(to);
  weir_buffer_release(at);
  weir_kernel_release(sample);
}

static void halve(const weir_work *work) {
  float *texels = work->args[0];
  for (int i = 0; i < TEXELS; i++) texels[i] /= 2;
}

// A task of another device finds the image's bytes, and what it writes comes back.
static void between_devices(void **state) {
  (void)state;
  const weir_image_info info = plane();
  weir_kernel *store = make_kernel("store"), *twice = make_kernel("twice");
  weir_buffer *first = make_image(&info), *second = make_image(&info);
  float found[TEXELS], add = 1;
  weir_arg stores[] = {weir_writes(first), weir_value(&add, sizeof add)};
  weir_arg halves[] = {weir_updates(first)};
  weir_arg doubles[] = {weir_reads(first), weir_writes(second)};
  run(store, stores, 2, WIDTH, HEIGHT, 1);
  good(weir_submit(context, &(weir_task){.host = halve, .args = halves, .arg_count = 1}, NULL));
  run(twice, doubles, 2, WIDTH, HEIGHT, 1);
  good(weir_copy_out(second, 0, WEIR_WHOLE, found, NULL));
  good(weir_finish(context));
  expect_plane(found, 1, 1);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_kernel_release(store);
  weir_kernel_release(twice);
}

static void graphs(void **state) {
  (void)state;
  const weir_image_info info = plane();
  weir_graph *graph;
  weir_kernel *store = make_kernel("store"), *twice = make_kernel("twice");
  weir_buffer *first = make_image(&info), *second = make_image(&info), *third = make_image(&info);
  float found[TEXELS], add = 3;
  weir_arg stores[] = {weir_writes(first), weir_value(&add, sizeof add)};
  weir_arg doubles[] = {weir_reads(first), weir_writes(second)};
  good(weir_graph_create(context, NULL, &graph));
  const weir_task one = {.kernel = store, .args = stores, .arg_count = 2, .groups = {WIDTH, HEIGHT}};
  const weir_task two = {.kernel = twice, .args = doubles, .arg_count = 2, .groups = {WIDTH, HEIGHT}};
  good(weir_graph_add(graph, &one, NULL));
  good(weir_graph_add(graph, &two, NULL));
  good(weir_graph_copy(graph, third, 0, second, 0, WEIR_WHOLE, NULL));
  good(weir_graph_copy_out(graph, third, 0, WEIR_WHOLE, found, NULL));
  good(weir_graph_fill(graph, third, 0, WEIR_WHOLE, 0, NULL));
  refused(weir_graph_fill(graph, third, 0, WEIR_WHOLE, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "only 0 fills it");
  for (int i = 0; i < 3; i++) {
    memset(found, 0, sizeof found);
    good(weir_graph_launch(graph, NULL));
    good(weir_finish(context));
    expect_plane(found, 2, 3);
  }
  weir_graph_release(graph);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_buffer_release(third);
  weir_kernel_release(store);
  weir_kernel_release(twice);
}

static void bad_images(void **state) {
  (void)state;
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  weir_buffer *image;
  weir_image_info info = plane();
  refused(weir_image_create(NULL, &info, &image), invalid, "the device is NULL");
  refused(weir_image_create(weir_context_device(context, 1), &info, &image), invalid,
          "cpu:1 is no Vulkan or OpenCL device");
  refused(weir_image_create(device, &info, NULL), invalid, "out_buffer is NULL");
  refused(weir_image_create(device, NULL, &image), invalid, "the info is NULL");
  info.channels = 3;
  refused(weir_image_create(device, &info, &image), invalid, "3 channels");
  info = plane();
  info.width = 1u << 31;
  refused(weir_image_create(device, &info, &image), invalid, "2147483648 x 11 x 1 texels; opencl:0 allows ");
  unsetenv("WEIR_OPENCL_MEMORY");
  weir_context *plain;
  info = plane();
  good(weir_context_create(&(weir_context_options){.devices = "opencl"}, &plain));
  if (strstr(weir_device_information(weir_context_device(plain, 0))->description, "the host's memory") != NULL)
    refused(weir_image_create(weir_context_device(plain, 0), &info, &image), WEIR_ERROR_UNAVAILABLE,
            "opencl:0 works in the host's memory");
  weir_context_release(plain);
  setenv("WEIR_OPENCL_MEMORY", memory, 1);
}

// What the device does not offer is refused with what it does.
static void formats_that_are_missing(void **state) {
  (void)state;
  weir_buffer *image;
  const weir_image_info info = plane();
  fault_loader_few_formats(true);
  refused(weir_image_create(
              device,
              &(weir_image_info){
                  .dimensions = 2, .width = 4, .height = 4, .type = WEIR_IMAGE_INT16, .channels = 2, .storage = true},
              &image),
          WEIR_ERROR_UNAVAILABLE, "opencl:0 has no storage images of format rg16i in 2 dimensions; it has r32f, rgba8");
  good(weir_image_create(device, &info, &image));
  weir_buffer_release(image);
  fault_loader_few_formats(false);
}

static void expect_refusal(weir_kernel *kernel, weir_arg *args, uint32_t count, const char *text) {
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .label = "wrong"};
  refused(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, text);
}

static void bad_uses(void **state) {
  (void)state;
  weir_image_info info = plane();
  weir_kernel *store = make_kernel("store"), *add_up = make_kernel("add_up"), *line = make_kernel("line"),
              *sample = make_kernel("sample"), *wrong;
  weir_buffer *image = make_image(&info), *buffer, *sampled;
  info.storage = false;
  info.sampled = true;
  sampled = make_image(&info);
  good(weir_buffer_create(context, weir_buffer_bytes(image), &buffer));
  float add = 0;
  weir_arg of_buffer[] = {weir_writes(buffer), weir_value(&add, sizeof add)};
  expect_refusal(store, of_buffer, 2, "task 'wrong' (tag 0), argument 0, buffer ");
  expect_refusal(store, of_buffer, 2, "the kernel has an image there, and this is no image of opencl:0");
  weir_arg of_image[] = {weir_updates(image), weir_value(&add, sizeof add)};
  expect_refusal(add_up, of_image, 2, "the kernel has no image there, and this is one");
  expect_refusal(line, of_image, 1, "an image of 1 dimensions there, and this one has 2");
  weir_arg reads[] = {weir_reads(image), weir_value(&add, sizeof add)};
  expect_refusal(store, reads, 2, "the task only reads it, and the kernel writes it");
  weir_arg part[] = {weir_writes_range(image, 0, 64), weir_value(&add, sizeof add)};
  expect_refusal(store, part, 2, "which is an image of 1628 bytes and used whole");
  weir_arg unwritten[] = {weir_writes(sampled), weir_value(&add, sizeof add)};
  expect_refusal(store, unwritten, 2, "the kernel writes it, and the image was not created for that");
  weir_arg samples[] = {weir_writes(buffer), weir_reads(sampled), weir_reads(buffer), weir_reads(image),
                        weir_value(&add, sizeof add)};
  expect_refusal(sample, samples, 5, "argument 3, buffer ");
  expect_refusal(sample, samples, 5, "the kernel has a sampler for it, and the image was not created to be sampled");
  expect_refusal(sample, samples, 4, "4 arguments; the OpenCL kernel 'sample' has 5");
  weir_context *other;
  weir_buffer *foreign;
  info.storage = true;
  good(weir_context_create(&(weir_context_options){.devices = "opencl,cpu:1"}, &other));
  good(weir_image_create(weir_context_device(other, 0), &info, &foreign));
  weir_arg strange[] = {weir_writes(foreign), weir_value(&add, sizeof add)};
  expect_refusal(store, strange, 2, "another context");
  weir_buffer_release(foreign);
  weir_context_release(other);
  good(weir_kernel_create(context, "wrong", &wrong));
  refused(weir_kernel_set_opencl(wrong, &(weir_opencl_code){.source = bad_sampler},
                                 &(weir_opencl_launch){.entry = "wrong"}),
          WEIR_ERROR_INVALID_ARGUMENT, "argument 0 is a sampler_t, which must follow its image");
  weir_kernel_release(wrong);
  weir_kernel_release(store);
  weir_kernel_release(add_up);
  weir_kernel_release(line);
  weir_kernel_release(sample);
  weir_buffer_release(image);
  weir_buffer_release(sampled);
  weir_buffer_release(buffer);
}

static void released_at_once(void **state) {
  (void)state;
  const weir_image_info info = plane();
  weir_kernel *store = make_kernel("store");
  int64_t before = fault_loader_live();
  for (int i = 0; i < 50; i++) {
    float add = (float)i;
    weir_buffer *image = make_image(&info);
    weir_arg args[] = {weir_writes(image), weir_value(&add, sizeof add)};
    run(store, args, 2, WIDTH, HEIGHT, 1);
    weir_buffer_release(image);
  }
  good(weir_finish(context));
  weir_buffer_release(make_image(&info)); // lets go of the others
  good(weir_finish(context));
  assert_true(fault_loader_live() - before <= 2);
  weir_kernel_release(store);
}

// A driver that tells nothing of a kernel's arguments: what they are given is right all the same.
static void arguments_that_are_not_known(void **state) {
  (void)state;
  const weir_image_info info = plane();
  fault_loader_fail("clGetKernelArgInfo", 1, -19);
  weir_kernel *twice = make_kernel("twice");
  assert_true(fault_loader_failed());
  fault_loader_fail("", 0, 0);
  weir_kernel *store = make_kernel("store"), *add_up = make_kernel("add_up");
  weir_buffer *first = make_image(&info), *second = make_image(&info), *sums;
  float found[TEXELS], sum[4], add = 4;
  good(weir_buffer_create(context, sizeof sum, &sums));
  good(weir_fill(sums, 0, WEIR_WHOLE, 0, NULL));
  weir_arg stores[] = {weir_writes(first), weir_value(&add, sizeof add)};
  weir_arg doubles[] = {weir_reads(first), weir_writes(second)};
  weir_arg adds[] = {weir_updates(sums), weir_value(&add, sizeof add)};
  run(store, stores, 2, WIDTH, HEIGHT, 1);
  run(twice, doubles, 2, WIDTH, HEIGHT, 1);
  run(add_up, adds, 2, 4, 1, 1);
  good(weir_copy_out(second, 0, WEIR_WHOLE, found, NULL));
  good(weir_copy_out(sums, 0, WEIR_WHOLE, sum, NULL));
  good(weir_finish(context));
  expect_plane(found, 2, 4);
  assert_true(sum[0] == add && sum[3] == add);
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_buffer_release(sums);
  weir_kernel_release(twice);
  weir_kernel_release(store);
  weir_kernel_release(add_up);
}

static void failing_calls(void **state) {
  (void)state;
  static const char *const functions[] = {"clGetSupportedImageFormats", "clCreateSampler", "clCreateImage",
                                          "clRetainMemObject"};
  weir_image_info info = plane();
  weir_buffer *image;
  weir_event *event;
  float texels[TEXELS];
  info.sampled = true;
  int64_t before = fault_loader_live();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    fault_loader_fail(functions[i], 1, -6);
    assert_int_equal(weir_image_create(device, &info, &image), WEIR_ERROR_OUT_OF_MEMORY);
    assert_null(image);
    assert_true(fault_loader_failed());
    assert_int_equal(fault_loader_live(), before);
  }
  image = make_image(&info);
  good(weir_finish(context));
  fault_loader_fail("clEnqueueReadImage", 1, -5);
  good(weir_copy_out(image, 0, WEIR_WHOLE, texels, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_OUT_OF_MEMORY);
  weir_event_release(event);
  fault_loader_fail("", 0, 0);
  assert_int_not_equal(weir_finish(context), WEIR_OK);
  weir_buffer_release(image);
}

static void nothing_leaked(void **state) {
  (void)state;
  check_leaks();
}

int main(int argc, char **argv) {
  fault_loader_use_or_skip(FAULT_LOADER);
  if (argc > 1) memory = argv[1];
  setenv("WEIR_OPENCL_MEMORY", memory, 1);
#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, open_context, close_context)
  const struct CMUnitTest tests[] = {
      WITH_CONTEXT(every_format),
      WITH_CONTEXT(kernels_store_and_load),
      WITH_CONTEXT(lines_and_solids),
      WITH_CONTEXT(samplers),
      WITH_CONTEXT(between_devices),
      WITH_CONTEXT(graphs),
      WITH_CONTEXT(bad_images),
      WITH_CONTEXT(formats_that_are_missing),
      WITH_CONTEXT(bad_uses),
      WITH_CONTEXT(released_at_once),
      WITH_CONTEXT(arguments_that_are_not_known),
      WITH_CONTEXT(failing_calls),
      cmocka_unit_test(nothing_leaked),
  };
  return cmocka_run_group_tests_name(memory, tests, NULL, NULL);
}
