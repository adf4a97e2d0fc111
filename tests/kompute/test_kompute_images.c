// SPDX-License-Identifier: Apache-2.0
//
// kp::Image: images of Kompute's types and numbers of channels, made, filled, sampled and stored to, copied and read back.
#include "kompute.h"
#include "texels_float.spv.h"
#include "texels_int.spv.h"
#include "texels_uint.spv.h"

enum { WIDTH = 13, HEIGHT = 5, TEXELS = WIDTH * HEIGHT, MOST_BYTES = TEXELS * 16 };

typedef struct texel_format {
  weir_image_type type;
  uint32_t bytes; // of a channel
  const weir_vulkan_code *code;
} texel_format;

static weir_buffer *make_image(const texel_format *format, uint32_t channels) {
  weir_buffer *image;
  const weir_image_info info = {.dimensions = 2,
                                .width = WIDTH,
                                .height = HEIGHT,
                                .type = format->type,
                                .channels = channels,
                                .storage = true,
                                .sampled = true};
  good(weir_image_create(weir_context_device(context, 0), &info, &image));
  assert_int_equal(weir_buffer_bytes(image), TEXELS * format->bytes * channels);
  return image;
}

static void record_texels(weir_graph *sequence, const texel_format *format, weir_buffer *from, weir_buffer *to) {
  const weir_arg args[] = {weir_reads(from), weir_writes(to)};
  weir_kernel *kernel = make_kernel("texels", format->code, NULL, 0);
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {WIDTH, HEIGHT}};
  good(weir_graph_add(sequence, &task, NULL));
}

// Small whole numbers in each type.
static void set_channel(void *channels, uint32_t index, const texel_format *format, int32_t number) {
  const float real = (float)number;
  const void *from = format->type == WEIR_IMAGE_FLOAT32 ? (const void *)&real : (const void *)&number;
  memcpy((char *)channels + (size_t)index * format->bytes, from, format->bytes); // the lower bytes come first
}

static void check_format(const texel_format *format, uint32_t channels) {
  unsigned char before[MOST_BYTES], after[MOST_BYTES], wanted[MOST_BYTES];
  const uint64_t bytes = (uint64_t)TEXELS * format->bytes * channels;
  for (uint32_t i = 0; i < TEXELS * channels; i++) {
    const uint32_t texel = i / channels, place = texel % WIDTH + texel / WIDTH;
    set_channel(before, i, format, (int32_t)(i % 100));
    set_channel(wanted, i, format, (int32_t)(i % 100 + 1 + place));
  }
  weir_graph *sequence = make_sequence();
  weir_buffer *from = make_image(format, channels), *to = make_image(format, channels);
  good(weir_graph_copy_in(sequence, from, 0, WEIR_WHOLE, before, NULL));
  record_texels(sequence, format, from, to);
  good(weir_graph_copy_out(sequence, to, 0, WEIR_WHOLE, after, NULL));
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  assert_memory_equal(after, wanted, bytes);
}

static void check_type(weir_image_type type, uint32_t bytes, const weir_vulkan_code *code) {
  const texel_format format = {type, bytes, code};
  for (uint32_t channels = 1; channels <= 4; channels *= 2) check_format(&format, channels);
}

static void images_of_floats(void **state) {
  (void)state;
  check_type(WEIR_IMAGE_FLOAT32, 4, CODE(texels_float));
}

static void images_of_ints(void **state) {
  (void)state;
  check_type(WEIR_IMAGE_INT32, 4, CODE(texels_int));
  check_type(WEIR_IMAGE_UINT32, 4, CODE(texels_uint));
}

static void images_of_shorts(void **state) {
  (void)state;
  check_type(WEIR_IMAGE_INT16, 2, CODE(texels_int));
  check_type(WEIR_IMAGE_UINT16, 2, CODE(texels_uint));
}

static void images_of_chars(void **state) {
  (void)state;
  check_type(WEIR_IMAGE_INT8, 1, CODE(texels_int));
  check_type(WEIR_IMAGE_UINT8, 1, CODE(texels_uint));
}

static void images_without_data(void **state) {
  (void)state;
  unsigned char bytes[TEXELS], zeros[TEXELS] = {0};
  memset(bytes, 7, sizeof bytes);
  weir_buffer *image = make_image(&(texel_format){.type = WEIR_IMAGE_UINT8, .bytes = 1}, 1);
  good(weir_copy_out(image, 0, WEIR_WHOLE, bytes, NULL));
  good(weir_finish(context));
  assert_memory_equal(bytes, zeros, sizeof bytes);
}

// Images and buffers, and images and images, in both directions.
static void images_are_copied(void **state) {
  (void)state;
  const texel_format ints = {WEIR_IMAGE_UINT32, 4, CODE(texels_uint)};
  uint32_t from[TEXELS], to[TEXELS];
  for (uint32_t i = 0; i < TEXELS; i++) from[i] = i * i;
  weir_buffer *images[4], *buffer;
  for (int i = 0; i < 4; i++) images[i] = make_image(&ints, 1);
  good(weir_buffer_create(context, sizeof from, &buffer));
  weir_graph *sequence = make_sequence();
  good(weir_graph_copy_in(sequence, buffer, 0, WEIR_WHOLE, from, NULL));
  good(weir_graph_copy(sequence, images[0], 0, buffer, 0, sizeof from, NULL));
  record_texels(sequence, &ints, images[0], images[1]);
  good(weir_graph_copy(sequence, images[2], 0, images[1], 0, sizeof from, NULL));
  record_texels(sequence, &ints, images[2], images[3]);
  good(weir_graph_copy(sequence, buffer, 0, images[3], 0, sizeof from, NULL));
  good(weir_graph_copy_out(sequence, buffer, 0, WEIR_WHOLE, to, NULL));
  for (int round = 0; round < 2; round++) {
    good(weir_graph_evaluate(sequence, WEIR_FOREVER));
    for (uint32_t i = 0; i < TEXELS; i++) assert_int_equal(to[i], from[i] + 2 * (1 + i % WIDTH + i / WIDTH));
  }
}

static void wrong_images_are_refused(void **state) {
  (void)state;
  weir_buffer *image;
  weir_device *device = weir_context_device(context, 0);
  weir_image_info info = {.dimensions = 2, .width = 4, .height = 4, .channels = 3, .storage = true};
  refused(weir_image_create(device, &info, &image), WEIR_ERROR_INVALID_ARGUMENT, "3");
  assert_null(image);
  info = (weir_image_info){.dimensions = 2, .height = 4, .channels = 1, .storage = true};
  refused(weir_image_create(device, &info, &image), WEIR_ERROR_INVALID_ARGUMENT, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      KOMPUTE_TEST(images_of_floats),         KOMPUTE_TEST(images_of_ints),      KOMPUTE_TEST(images_of_shorts),
      KOMPUTE_TEST(images_of_chars),          KOMPUTE_TEST(images_without_data), KOMPUTE_TEST(images_are_copied),
      KOMPUTE_TEST(wrong_images_are_refused),
  };
  kompute_skip_without_device();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
