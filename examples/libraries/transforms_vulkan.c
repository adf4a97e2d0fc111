// SPDX-License-Identifier: Apache-2.0
#include "transforms.h"

#include <stdio.h>
#include <stdlib.h>
#include <weir/enqueue.h>
#include <weir/vulkan.h>

#include "fft.h"
#include "lowpass.spv.h"
#include "require.h"

enum { GROUP = 64 };

typedef struct image {
  vulkan_buffer memory;
  fft *plan; // of this memory: VkFFT's descriptor sets name it
} image;

struct transforms {
  vulkan_device vulkan;
  char name[32];
  weir_context *context;
  uint32_t size, count;
  image images[];
};

const char transforms_library[] = "VkFFT";

// VkFFT uses the queue for its plans, before Weir does.
static void create_image(transforms *all, image *made) {
  made->memory = vulkan_buffer_create(&all->vulkan, TRANSFORMS_BYTES(all->size));
  made->plan = fft_create(&all->vulkan, made->memory.buffer, all->size);
  if (made->plan != NULL) return;
  fprintf(stderr, "VkFFT makes no plan\n");
  exit(1);
}

transforms *transforms_open(uint32_t size, uint32_t images, char *why, size_t why_bytes) {
  transforms *all = calloc(1, sizeof *all + images * sizeof *all->images);
  if (all == NULL) exit(1);
  if (!vulkan_device_open(&all->vulkan)) {
    snprintf(why, why_bytes, "there is no Vulkan device");
    free(all);
    return NULL;
  }
  all->size = size;
  all->count = images;
  for (uint32_t i = 0; i < images; i++) create_image(all, &all->images[i]);
  vulkan_device_register(&all->vulkan, all->name, sizeof all->name);
  require(weir_context_create(&(weir_context_options){.devices = all->name}, &all->context));
  return all;
}

weir_context *transforms_context(transforms *all) {
  return all->context;
}

// The caller's objects live longer than the context.
void transforms_close(transforms *all) {
  require(weir_context_release(all->context));
  require(weir_vulkan_unregister(all->name));
  for (uint32_t i = 0; i < all->count; i++) {
    fft_destroy(all->images[i].plan);
    vulkan_buffer_destroy(&all->vulkan, &all->images[i].memory);
  }
  vulkan_device_close(&all->vulkan);
  free(all);
}

weir_buffer *transforms_buffer(transforms *all, uint32_t number) {
  weir_buffer *buffer;
  require(weir_buffer_wrap_vulkan(weir_context_device(all->context, 0), (uint64_t)all->images[number].memory.buffer, 0,
                                  TRANSFORMS_BYTES(all->size), &buffer));
  return buffer;
}

static weir_status transform(const weir_enqueue *call) {
  const uint32_t *inverse = call->args[1].value;
  int error = fft_record(call->user, call->queue, *inverse != 0);
  if (error == 0) return WEIR_OK;
  char text[32];
  snprintf(text, sizeof text, "VkFFT: error %d", error);
  weir_enqueue_fail(call, text);
  return WEIR_ERROR_TASK_FAILED;
}

void transforms_set_transform(transforms *all, weir_kernel *kernel) {
  (void)all;
  require(weir_kernel_set_enqueue(kernel, "vulkan", &(weir_enqueue_code){.function = transform}));
}

void *transforms_user(transforms *all, uint32_t number) {
  return all->images[number].plan;
}

// The end of the open task submits what was recorded, behind all that the task depends on.
bool transforms_call(transforms *all, weir_buffer *buffer, uint32_t number, bool inverse) {
  weir_open_task *open;
  const weir_enqueue *call;
  const weir_arg arg = weir_updates(buffer);
  require(
      weir_task_begin(all->context, &(weir_task){.args = &arg, .arg_count = 1, .label = "transform"}, &open, &call));
  int error = fft_record(all->images[number].plan, call->queue, inverse);
  require(error == 0 ? weir_task_end(open, NULL, 0, NULL)
                     : weir_task_abandon(open, WEIR_ERROR_TASK_FAILED, "VkFFT failed"));
  return true;
}

void transforms_set_lowpass(transforms *all, weir_kernel *kernel) {
  require(weir_kernel_set_vulkan(kernel, &(weir_vulkan_code){lowpass_spv, sizeof lowpass_spv},
                                 &(weir_vulkan_launch){.groups = {all->size * all->size / GROUP}}, 1));
}
