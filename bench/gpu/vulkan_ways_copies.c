// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "vulkan_ways.h"

enum { MEBIBYTE = 1 << 20 };

static void memory_facts(void) {
  static const struct {
    VkMemoryPropertyFlags flag;
    const char *name;
  } flags[] = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "device "},
               {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, "host-visible "},
               {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, "coherent "},
               {VK_MEMORY_PROPERTY_HOST_CACHED_BIT, "cached "}};
  for (uint32_t h = 0; h < card.memory.memoryHeapCount; h++)
    vulkan_fact('h', "heap", "%u: %.0f MiB%s", h, (double)card.memory.memoryHeaps[h].size / MEBIBYTE,
                card.memory.memoryHeaps[h].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT ? ", device" : "");
  for (uint32_t t = 0; t < card.memory.memoryTypeCount; t++) {
    char text[96] = "";
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
      if (card.memory.memoryTypes[t].propertyFlags & flags[f].flag) strcat(text, flags[f].name);
    }
    vulkan_fact('h', "memory type", "%u: heap %u, %s(flags %#x)", t, card.memory.memoryTypes[t].heapIndex, text,
                card.memory.memoryTypes[t].propertyFlags);
  }
}

// Copies of `bytes` each, many in a command buffer where they are small.
static void copy_rows(const vulkan_family *family, const vulkan_buffer *from, const vulkan_buffer *to,
                      VkDeviceSize bytes, const char *name) {
  uint32_t copies = (uint32_t)(64 * MEBIBYTE / bytes);
  if (copies > 64) copies = 64;
  if (options.quick) copies = 1;
  for (int many = 0; many < 2; many++) {
    vulkan_commands commands;
    vulkan_commands_create(family, &commands);
    vulkan_begin(&commands);
    for (uint32_t i = 0; i < (many ? copies : 1); i++)
      vk.CmdCopyBuffer(commands.buffer, from->buffer, to->buffer, 1, &(VkBufferCopy){bytes * i, bytes * i, bytes});
    vulkan_end(&commands);
    gpu_stat time = vulkan_sample_run(&commands);
    if (many) {
      double base = vulkan_computes(family) ? vulkan_empty_us(family) : 0, work = (double)bytes * copies * 1e-3;
      if (time.low < 2 * base) base = 0; // too short to tell apart
      gpu_stat rate = {work / (time.median - base), work / (time.high - base), work / (time.low - base)};
      vulkan_row('h', rate, "GB/s", "%s: copy %s, %u x %.0f KiB", family->name, name, copies, (double)bytes / 1024);
    } else {
      vulkan_row('h', time, "us", "%s: copy %s, %.0f KiB, until seen", family->name, name, (double)bytes / 1024);
    }
    vulkan_commands_destroy(&commands);
  }
}

static void family_rows(const vulkan_family *family, VkDeviceSize most) {
  const VkMemoryPropertyFlags device = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  vulkan_buffer near, other, far;
  bool has = vulkan_buffer_create(most, device, 0, &near);
  bool has_other = vulkan_buffer_create(most, device, 0, &other);
  bool has_far = vulkan_buffer_create(most, seen | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, device, &far) ||
                 vulkan_buffer_create(most, seen, 0, &far);
  for (VkDeviceSize bytes = 64 << 10; has && has_other && has_far && bytes <= most; bytes *= options.quick ? 4 : 32) {
    copy_rows(family, &far, &near, bytes, "host to device");
    copy_rows(family, &near, &far, bytes, "device to host");
    copy_rows(family, &near, &other, bytes, "device to device");
  }
  if (!has || !has_other || !has_far) vulkan_row_missing('h', "not enough memory", "%s: copies", family->name);
  vulkan_buffer_destroy(&near);
  vulkan_buffer_destroy(&other);
  vulkan_buffer_destroy(&far);
}

typedef struct host_copy {
  void *to;
  const void *from;
  size_t bytes;
} host_copy;

static double host_copy_once(void *argument) {
  const host_copy *copy = argument;
  double start = gpu_now_us();
  memcpy(copy->to, copy->from, copy->bytes);
  return (double)copy->bytes * 1e-3 / (gpu_now_us() - start);
}

// What memcpy gives in memory of a kind.
static void mapped_rows(VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted, const char *name, size_t bytes) {
  vulkan_buffer buffer;
  if (!vulkan_buffer_create(bytes, wanted | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, unwanted, &buffer)) {
    vulkan_row_missing('h', "there is no such memory", "memcpy with memory that is %s", name);
    return;
  }
  char *own = gpu_memory(bytes, 1);
  memset(own, 1, bytes);
  host_copy to = {buffer.mapped, own, bytes}, from = {own, buffer.mapped, bytes > MEBIBYTE ? MEBIBYTE : bytes};
  vulkan_row('h', vulkan_sample(host_copy_once, &to), "GB/s", "memcpy to memory that is %s, %.0f MiB", name,
             (double)bytes / MEBIBYTE);
  vulkan_row('h', vulkan_sample(host_copy_once, &from), "GB/s", "memcpy from it, %.0f MiB",
             (double)from.bytes / MEBIBYTE);
  free(own);
  vulkan_buffer_destroy(&buffer);
}

void vulkan_ways_copies(void) {
  VkDeviceSize most = (options.quick ? 1 : 64) * MEBIBYTE;
  const VkMemoryPropertyFlags device = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  memory_facts();
  for (uint32_t f = 0; f < card.family_count; f++) family_rows(&card.families[f], most);
  mapped_rows(device, 0, "device and host-visible", most);
  mapped_rows(cached, device, "host-visible and cached", most);
  mapped_rows(0, device | cached, "host-visible and not cached", most);
}
