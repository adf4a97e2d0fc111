// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes as a SPIR-V module. What is read must keep the promises of spirv.h.
#include <stdlib.h>
#include <string.h>

#include "device/vulkan/spirv.h"
#include "fuzz.h"

static void require(bool holds) {
  if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const weir_vulkan_constant CONSTANTS[] = {{.id = 0, .bytes = 4, .u32 = 7}, {.id = 2, .bytes = 8, .f64 = 0.5}};
  static weir__spirv module;
  char reason[512] = "";
  bool read = weir__spirv_read(data, size, NULL, CONSTANTS, 2, &module, reason, sizeof reason);
  require(read == (reason[0] == 0));
  require(read || strncmp(reason, "SPIR-V, word ", 13) == 0);
  if (!read) return 0;
  require(module.binding_count <= WEIR__SPIRV_MOST_BINDINGS);
  require(module.constant_count <= WEIR__SPIRV_MOST_CONSTANTS);
  require(module.capability_count <= WEIR__SPIRV_MOST_CAPABILITIES);
  for (int i = 0; i < 3; i++) require(module.local_size[i] > 0);
  for (uint32_t i = 0; i < module.binding_count; i++) {
    const weir__spirv_binding *binding = &module.bindings[i];
    require(binding->binding == i && binding->kind <= WEIR__SPIRV_SAMPLED_IMAGE);
    require(binding->declared || !(binding->reads || binding->writes));
    require((binding->kind != WEIR__SPIRV_STORAGE_BUFFER) == (binding->dimensions > 0));
    require(binding->dimensions <= 3);
  }
  return 0;
}
