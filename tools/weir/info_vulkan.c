// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "info.h"
#include "weir/vulkan.h"

static uint32_t count_devices(void) {
  uint32_t count = 0;
  return weir_vulkan_device_count(&count) == WEIR_OK ? count : 0;
}

static json_t *family_json(uint32_t index, const weir_vulkan_family *family) {
  json_t *flags = json_array();
  if (family->graphics) json_array_append_new(flags, json_string("graphics"));
  if (family->compute) json_array_append_new(flags, json_string("compute"));
  if (family->transfer) json_array_append_new(flags, json_string("transfer"));
  if (family->sparse) json_array_append_new(flags, json_string("sparse"));
  return json_pack("{s:i, s:o, s:i, s:i}", "index", (int)index, "flags", flags, "queues", (int)family->queues,
                   "timestamp_bits", (int)family->timestamp_bits);
}

static json_t *device_json(const weir_vulkan_description *device) {
  char version[64];
  snprintf(version, sizeof version, "%u.%u.%u", device->version[0], device->version[1], device->version[2]);
  json_t *families = json_array();
  for (uint32_t i = 0; i < device->family_count; i++)
    json_array_append_new(families, family_json(i, &device->families[i]));
  json_t *object = json_pack("{s:o, s:s, s:o, s:s, s:I, s:I, s:b, s:o}", "name", weir__json_text(device->name), "type",
                             device->type, "driver", weir__json_text(device->driver), "api", version, "device_bytes",
                             (json_int_t)device->device_bytes, "host_bytes", (json_int_t)device->host_bytes, "usable",
                             (int)device->usable, "families", families);
  if (!device->usable) json_object_set_new(object, "reason", weir__json_text(device->reason));
  return object;
}

json_t *weir__info_vulkan_json(void) {
  json_t *devices = json_array();
  uint32_t count = count_devices();
  for (uint32_t i = 0; i < count; i++) {
    weir_vulkan_description device;
    if (weir_vulkan_device_describe(i, &device) == WEIR_OK) json_array_append_new(devices, device_json(&device));
  }
  return devices;
}

static void add_device(weir__table *table, uint32_t index, const weir_vulkan_description *device) {
  weir__table_cell(table, "vulkan:%u", index);
  weir__table_cell(table, "%s", device->name);
  weir__table_cell(table, "%s", device->type);
  weir__table_cell(table, "%u.%u.%u", device->version[0], device->version[1], device->version[2]);
  weir__table_cell(table, "%s", device->driver);
  weir__table_cell(table, "%.1f", (double)device->device_bytes / 1e9);
  weir__table_cell(table, "%.1f", (double)device->host_bytes / 1e9);
  weir__table_cell(table, "%s", device->usable ? "yes" : device->reason);
}

static void add_families(weir__table *table, uint32_t index, const weir_vulkan_description *device) {
  for (uint32_t i = 0; i < device->family_count; i++) {
    const weir_vulkan_family *family = &device->families[i];
    weir__table_cell(table, "vulkan:%u", index);
    weir__table_cell(table, "%u", i);
    weir__table_cell(table, "%u", family->queues);
    weir__table_cell(table, "%s", family->graphics ? "yes" : "no");
    weir__table_cell(table, "%s", family->compute ? "yes" : "no");
    weir__table_cell(table, "%s", family->transfer ? "yes" : "no");
    weir__table_cell(table, "%u", family->timestamp_bits);
  }
}

bool weir__info_vulkan_print(FILE *out) {
  uint32_t count = count_devices();
  if (count == 0) return true;
  weir__table *devices = weir__table_create(), *families = weir__table_create();
  bool printed = false;
  if (devices != NULL && families != NULL) {
    static const char *const DEVICE_COLUMNS[] = {"device", "name", "type", "Vulkan", "driver"};
    for (size_t i = 0; i < sizeof DEVICE_COLUMNS / sizeof DEVICE_COLUMNS[0]; i++)
      weir__table_column(devices, DEVICE_COLUMNS[i], "", false);
    weir__table_column(devices, "own memory", "GB", true);
    weir__table_column(devices, "host memory", "GB", true);
    weir__table_column(devices, "usable", "", false);
    weir__table_column(families, "device", "", false);
    weir__table_column(families, "family", "", true);
    weir__table_column(families, "queues", "", true);
    weir__table_column(families, "graphics", "", false);
    weir__table_column(families, "compute", "", false);
    weir__table_column(families, "transfer", "", false);
    weir__table_column(families, "timestamps", "bits", true);
    for (uint32_t i = 0; i < count; i++) {
      weir_vulkan_description device;
      if (weir_vulkan_device_describe(i, &device) != WEIR_OK) continue;
      add_device(devices, i, &device);
      add_families(families, i, &device);
    }
    printed = fputs("\n", out) != EOF && weir__table_print(devices, out) && fputs("\n", out) != EOF &&
              weir__table_print(families, out);
  }
  weir__table_destroy(devices);
  weir__table_destroy(families);
  return printed;
}
