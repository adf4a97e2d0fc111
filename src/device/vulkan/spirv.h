// SPDX-License-Identifier: Apache-2.0
//
// What a SPIR-V module declares, read from its words: nothing is trusted, and nothing beyond the module is read.
// Source: the SPIR-V specification 1.6, sections 2.3 (physical layout) and 3.
#ifndef WEIR_DEVICE_VULKAN_SPIRV_H
#define WEIR_DEVICE_VULKAN_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/vulkan.h"

enum {
  WEIR__SPIRV_MOST_BINDINGS = 1024,
  WEIR__SPIRV_MOST_CAPABILITIES = 64,
  WEIR__SPIRV_MOST_CONSTANTS = 256,
  WEIR__SPIRV_MOST_MEMBERS = 64,
};

// All else that a shader may declare is refused: uniform and texel buffers, samplers or sampled images by themselves, cubes,
// layers, several samples, arrays of bindings.
typedef enum weir__spirv_kind {
  WEIR__SPIRV_STORAGE_BUFFER,
  WEIR__SPIRV_STORAGE_IMAGE,
  WEIR__SPIRV_SAMPLED_IMAGE, // with its sampler: sampler1D to sampler3D
} weir__spirv_kind;

typedef struct weir__spirv_binding {
  uint32_t binding;
  weir__spirv_kind kind;
  bool declared;       // false: a gap, which counts as a storage buffer that the shader ignores
  bool reads, writes;  // false where NonReadable, NonWritable say so, and where no instruction does it
  bool stores;         // an instruction of the entry point's own functions writes this binding, and no other
  uint32_t dimensions; // of an image: 1, 2, 3
  uint32_t format;     // of a storage image: the SPIR-V image format
} weir__spirv_binding;

typedef struct weir__spirv_constant {
  uint32_t id;    // SpecId
  uint32_t bytes; // 4, also for bool; 8; 2 and 1 for small types
} weir__spirv_constant;

// A member of the push-constant block.
typedef struct weir__spirv_member {
  uint32_t offset, bytes;
} weir__spirv_member;

// What one entry point declares.
typedef struct weir__spirv {
  uint32_t version;       // of SPIR-V: 0x10500 for 1.5
  uint32_t local_size[3]; // with the given specialization constants
  bool has_size_ids;      // the size is said with LocalSizeId, which is newer than the rest
  uint32_t push_bytes;    // of the push-constant block, from byte 0; 0: none
  uint32_t member_count;  // of the push-constant block; 0 also if it has too many
  weir__spirv_member members[WEIR__SPIRV_MOST_MEMBERS]; // by offset
  bool has_addresses;     // the code may reach buffers by addresses, so what it does with bindings is not known
  uint64_t shared_bytes;  // of variables in work-group memory, as far as their types tell, with the given constants
  uint32_t binding_count; // of set 0, one more than the last; bindings[i].binding is i. Other sets are refused
  weir__spirv_binding bindings[WEIR__SPIRV_MOST_BINDINGS];
  uint32_t constant_count;
  weir__spirv_constant constants[WEIR__SPIRV_MOST_CONSTANTS];
  uint32_t capability_count;
  uint32_t capabilities[WEIR__SPIRV_MOST_CAPABILITIES]; // SpvCapability
} weir__spirv;

// Reads what the entry point (NULL: "main") declares, with these specialization constants. Before SPIR-V 1.4 an entry point
// does not list what it uses: there all of the module's bindings and push constants count. False: `reason` says what is wrong,
// with the word at which it was seen. Any thread.
bool weir__spirv_read(const void *words, uint64_t bytes, const char *entry, const weir_vulkan_constant *constants,
                      uint32_t constant_count, weir__spirv *out_module, char *reason, size_t size);

#endif // WEIR_DEVICE_VULKAN_SPIRV_H
