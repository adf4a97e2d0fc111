// SPDX-License-Identifier: Apache-2.0
#include "vulkan_ways.h"

static gpu_stat once(double us) {
  return (gpu_stat){us, us, us};
}

// The first submission on each queue of a family, and the second.
static void family_rows(const vulkan_family *family) {
  double first[VULKAN_MOST_QUEUES], second[VULKAN_MOST_QUEUES], start = gpu_now_us();
  vulkan_commands commands;
  vulkan_commands_create(family, &commands);
  vulkan_row('i', once(gpu_now_us() - start), "us", "%s: create a command pool and a command buffer", family->name);
  vulkan_begin(&commands);
  if (vulkan_computes(family)) {
    vk.CmdBindPipeline(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, vulkan_touch_pipeline(0, false, 32));
    vk.CmdDispatch(commands.buffer, 1, 1, 1);
  }
  vulkan_end(&commands);
  for (uint32_t q = 0; q < family->queue_count; q++) {
    first[q] = vulkan_run(family->queues[q], commands.buffer);
    second[q] = vulkan_run(family->queues[q], commands.buffer);
  }
  vulkan_row('i', once(first[0]), "us", "%s: first submission on its first queue", family->name);
  vulkan_row('i', once(second[0]), "us", "%s: second submission there", family->name);
  if (family->queue_count > 1) {
    vulkan_row('i', gpu_statistics(first + 1, family->queue_count - 1), "us",
               "%s: first submission on its other %u queues", family->name, family->queue_count - 1);
    vulkan_row('i', gpu_statistics(second + 1, family->queue_count - 1), "us", "%s: second submission there",
               family->name);
  }
  vulkan_commands_destroy(&commands);
}

static void memory_rows(VkDeviceSize bytes) {
  for (int again = 0; again < 2; again++) {
    double start = gpu_now_us();
    vulkan_buffer buffer;
    if (!vulkan_buffer_create(bytes, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &buffer)) {
      vulkan_row_missing('i', "not enough memory", "allocate %.0f MiB of device memory", (double)bytes / (1 << 20));
      return;
    }
    double middle = gpu_now_us();
    vulkan_buffer_destroy(&buffer);
    vulkan_row('i', once(middle - start), "us", "allocate %.0f MiB of device memory%s", (double)bytes / (1 << 20),
               again ? ", again" : "");
    vulkan_row('i', once(gpu_now_us() - middle), "us", "    free it");
  }
}

static void pipeline_rows(void) {
  static const uint32_t threads[] = {32, 64, 128, 256};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    double start = gpu_now_us();
    vulkan_touch_pipeline(4, false, threads[i]);
    vulkan_row('i', once(gpu_now_us() - start), "us", "create a pipeline, %u threads%s", threads[i],
               i > 0 ? ", of the same module" : "");
  }
}

void vulkan_ways_first(void) {
  vulkan_row('i', once(card.load_us), "us", "load libvulkan");
  vulkan_row('i', once(card.instance_us), "us", "create an instance");
  vulkan_row('i', once(card.device_us), "us", "create a device with all its queues");
  for (uint32_t f = 0; f < card.family_count; f++) family_rows(&card.families[f]);
  memory_rows((VkDeviceSize)(options.quick ? 16 : 256) << 20);
  memory_rows((VkDeviceSize)1 << 20);
  pipeline_rows();
}
