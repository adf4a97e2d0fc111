// SPDX-License-Identifier: Apache-2.0
//
// Whether a device can run a shader: its capabilities, and the device's limits.
#ifndef WEIR_DEVICE_VULKAN_LIMITS_H
#define WEIR_DEVICE_VULKAN_LIMITS_H

#include "device/vulkan/driver.h"
#include "device/vulkan/spirv.h"

// False: `reason` says what the shader needs, and what the device offers in its place.
bool weir__vulkan_can_run(const weir__vulkan_facts *facts, const weir__spirv *module, char *reason, size_t size);

#endif // WEIR_DEVICE_VULKAN_LIMITS_H
