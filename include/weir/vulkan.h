// SPDX-License-Identifier: Apache-2.0
//
// Weir on Vulkan: kernels as SPIR-V compute shaders.
//
// A context has Vulkan devices when its list of devices names them: "vulkan" or "vulkan:0", "vulkan:1", in the order in
// which the Vulkan loader lists them. The loader is found at run time; nothing of Vulkan is needed to link. `weir info`
// says what a machine has, with its families of queues, or lacks.
//
// The binding model. A task's arguments, in order, become what the shader declares:
// - the buffers, in order, are the storage buffers `layout(set = 0, binding = 0, 1, 2, ...)`; a range that a task names is
//   bound as it is, so that index 0 of the shader's array is the range's first byte. The range's offset in its buffer must
//   be a multiple of the device's alignment for storage buffers (16 to 256 bytes; the refusal says how many);
// - the values, in order and without gaps, are the push constants, whose size must be that of the shader's block.
// What a shader declares must match: a task with too few or too many buffers, or bytes of values, is refused, and so is one that
// only reads a buffer which the shader writes. What it reads and writes Weir finds in its instructions, so that `readonly` and
// `writeonly` are not needed. A binding that the shader (or its compiler) leaves out below the last one still takes a buffer,
// which is ignored. Refused are shaders with other sets, arrays of bindings, uniform or texel buffers, or samplers and sampled
// images apart from each other; more uniform data than push constants can hold goes into a storage buffer.
//
// Weir checks what a module declares. Its instructions it trusts, as Vulkan's drivers do: spirv-val checks these.
#ifndef WEIR_VULKAN_H
#define WEIR_VULKAN_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------------------------
// The machine's devices and their queues

enum { WEIR_VULKAN_MOST_FAMILIES = 16 };

// A family of queues. Queues for graphics or compute can always copy.
typedef struct weir_vulkan_family {
  bool graphics, compute, transfer, sparse;
  uint32_t queues;         // how many there are
  uint32_t timestamp_bits; // that count in a timestamp; 0: its queues have no timestamps
} weir_vulkan_family;

// A device of the machine, whether or not Weir can use it.
typedef struct weir_vulkan_description {
  char name[256];
  char driver[512];           // its name and version; "" before Vulkan 1.2
  const char *type;           // "discrete", "integrated", "virtual", "cpu" or "other"; static
  uint32_t version[3];        // of Vulkan: 1, 3, 230
  uint64_t device_bytes;      // of its own memory, all heaps together
  uint64_t host_bytes;        // of the host's memory that it can use
  uint32_t group_threads;     // of a work-group, at most
  uint32_t groups[3];         // work-groups of a dispatch in x, y, z, at most
  uint32_t shared_bytes;      // of a work-group
  uint32_t push_bytes;        // of push constants
  uint32_t storage_alignment; // in bytes: of a range's offset in its buffer
  bool usable;
  char reason[320]; // why it is not usable
  uint32_t family_count;
  weir_vulkan_family families[WEIR_VULKAN_MOST_FAMILIES]; // by index of the family
} weir_vulkan_description;

// How many devices the Vulkan loader lists: "vulkan:0" to "vulkan:N-1". UNAVAILABLE: there is no loader, or no device that
// Weir can use, and the text says why. Loads the drivers on the first call, which may take a second. Any thread.
WEIR_API weir_status weir_vulkan_device_count(uint32_t *out_count);

// Describes one of them. Errors: INVALID_ARGUMENT (there is none of this index), UNAVAILABLE, OUT_OF_MEMORY. Any thread.
WEIR_API weir_status weir_vulkan_device_describe(uint32_t index, weir_vulkan_description *out_description);

// ---------------------------------------------------------------------------------------------------------------
// Kernels

// SPIR-V, as glslangValidator -V or glslc writes it.
typedef struct weir_vulkan_code {
  const void *words; // copied
  uint64_t bytes;    // a multiple of 4
} weir_vulkan_code;

// A specialization constant: its constant_id in the shader, and 8 bytes for 64-bit types, 4 for all others.
typedef struct weir_vulkan_constant {
  uint32_t id;
  uint32_t bytes; // 4 (also for bool, 0 or 1, and for smaller types) or 8
  union {
    int32_t i32;
    uint32_t u32;
    float f32;
    int64_t i64;
    uint64_t u64;
    double f64;
  };
} weir_vulkan_constant;

// One dispatch.
typedef struct weir_vulkan_launch {
  const char *entry;                     // NULL: "main"
  uint32_t groups[3];                    // work-groups; all 0: the task's
  const weir_vulkan_constant *constants; // copied; constants that are not named keep the shader's own values
  uint32_t constant_count;
  const void
      *value; // not NULL: the push constants are these `value_bytes` bytes, copied, in place of the task's values
  uint32_t value_bytes; // and no buffers are bound if the shader declares none
} weir_vulkan_launch;

// Gives a kernel its code for the context's Vulkan devices: dispatches that run one after another, each seeing what the one
// before it wrote. Pipelines are made at once, and shared by kernels with the same code and constants. Work-group sizes are
// the shader's, local_size_x and so on, or set by specialization constants. `count` 0 (and `code` NULL): a task of this
// kernel dispatches nothing, but keeps its place in the order.
// Errors: INVALID_ARGUMENT (no SPIR-V, no such entry point, a work-group, push constants or a capability beyond what the
// device offers: the text says what it does offer), UNAVAILABLE (the context has no Vulkan device), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_vulkan(weir_kernel *kernel, const weir_vulkan_code *code,
                                            const weir_vulkan_launch *launches, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif // WEIR_VULKAN_H
