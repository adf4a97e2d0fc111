// SPDX-License-Identifier: Apache-2.0
//
// `weir info`: what this machine has, and why a device is missing.
#include "info.h"

#include <string.h>
#include <unistd.h>

#include "base/machine.h"
#include "cli.h"

typedef struct findings {
  json_t *devices;
  weir__table *table;
} findings;

static void add_device(void *user, const char *kind, bool available, const char *text) {
  findings *found = user;
  weir__table_cell(found->table, "%s", kind);
  weir__table_cell(found->table, "%s", available ? "yes" : "no");
  weir__table_cell(found->table, "%s", text);
  json_t *device =
      json_pack("{s:s, s:b, s:o}", "kind", kind, "available", (int)available, "text", weir__json_text(text));
  if (strcmp(kind, "vulkan") == 0) json_object_set_new(device, "devices", weir__info_vulkan_json());
  json_array_append_new(found->devices, device);
}

int weir__info_main(int argc, char **argv) {
  bool as_json = false;
  const weir__cli_option options[] = {{"json", WEIR__CLI_FLAG, &as_json, NULL, "print JSON", 0, 0}};
  const weir__cli_command command = {
      .name = "info",
      .arguments = "",
      .summary = "Shows the devices that Weir can use on this machine, and why others are missing.",
      .details =
          "JSON: {version, cpus, cpus_online, devices: [{kind, available, text}]}. That of Vulkan also has devices:\n"
          "[{name, type, driver, api, device_bytes, host_bytes, usable, families: [{index, flags, queues,\n"
          "timestamp_bits}]}], in the order of their names: vulkan:0, vulkan:1.",
      .options = options,
      .option_count = 1,
  };
  char **arguments;
  size_t count;
  int exit_code;
  if (!weir__cli_parse(&command, argc, argv, &arguments, &count, &exit_code)) return exit_code;

  findings found = {json_array(), weir__table_create()};
  if (!found.devices || !found.table) {
    weir__cli_error("info", "no memory");
    json_decref(found.devices);
    weir__table_destroy(found.table);
    return WEIR__EXIT_FAILED;
  }
  weir__table_column(found.table, "device", "", false);
  weir__table_column(found.table, "usable", "", false);
  weir__table_column(found.table, "what was found", "", false);
  weir_probe(add_device, &found);
  int cpus = (int)weir__machine_cores(), online = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (as_json) {
    exit_code = weir__cli_print_json("info", json_pack("{s:s, s:i, s:i, s:O}", "version", weir_version(), "cpus", cpus,
                                                       "cpus_online", online, "devices", found.devices));
  } else {
    printf("weir %s, %d of %d CPUs usable\n\n", weir_version(), cpus, online);
    bool printed = weir__table_print(found.table, stdout) && weir__info_vulkan_print(stdout);
    exit_code = printed ? WEIR__EXIT_OK : WEIR__EXIT_FAILED;
  }
  json_decref(found.devices);
  weir__table_destroy(found.table);
  return exit_code;
}
