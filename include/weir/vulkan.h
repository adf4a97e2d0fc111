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
// which is ignored. Where the shader declares an image, the buffer must be one (weir/image.h), of as many dimensions and, for a
// storage image whose format is declared, of this format. Refused are shaders with other sets, arrays of bindings, uniform or texel
// buffers, or samplers and sampled images apart from each other; more uniform data than push constants can hold goes into a storage
// buffer.
//
// Weir checks what a module declares. Its instructions it trusts, as Vulkan's drivers do: spirv-val checks these.
#ifndef WEIR_VULKAN_H
#define WEIR_VULKAN_H

#include "weir/image.h"
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
  uint64_t reserved[2];    // 0
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
WEIR_API weir_status weir_vulkan_device_describe_sized(uint32_t index, weir_vulkan_description *out_description,
                                                       size_t description_size);
static inline weir_status weir_vulkan_device_describe(uint32_t index_, weir_vulkan_description *out_description_) {
  return weir_vulkan_device_describe_sized(index_, out_description_, sizeof *out_description_);
}

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
  uint64_t reserved[2]; // 0
} weir_vulkan_launch;

// Gives a kernel its code for the context's Vulkan devices: dispatches that run one after another, each seeing what the one
// before it wrote. Pipelines are made at once, and shared by kernels with the same code and constants. Work-group sizes are
// the shader's, local_size_x and so on, or set by specialization constants. `count` 0 (and `code` NULL): a task of this
// kernel dispatches nothing, but keeps its place in the order.
// Errors: INVALID_ARGUMENT (no SPIR-V, no such entry point, a work-group, push constants or a capability beyond what the
// device offers: the text says what it does offer), UNAVAILABLE (the context has no Vulkan device), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_vulkan_sized(weir_kernel *kernel, const weir_vulkan_code *code, size_t code_size,
                                                  const weir_vulkan_launch *launches, uint32_t count);
static inline weir_status weir_kernel_set_vulkan(weir_kernel *kernel_, const weir_vulkan_code *code_,
                                                 const weir_vulkan_launch *launches_, uint32_t count_) {
  return weir_kernel_set_vulkan_sized(kernel_, code_, sizeof *code_, launches_, count_);
}

// ---------------------------------------------------------------------------------------------------------------
// Sharing with other Vulkan code
//
// Vulkan's objects are passed as numbers and pointers, so that this header needs none of Vulkan's: a VkBuffer or VkSemaphore as
// uint64_t, a VkInstance, VkPhysicalDevice or VkDevice as void *. They belong to the VkDevice that Weir uses, so sharing begins
// with a device of the caller's.

// A queue of a caller's device.
typedef struct weir_vulkan_queue {
  uint32_t family, index;
} weir_vulkan_queue;

// A function of Vulkan, as vkGetInstanceProcAddr returns it.
typedef void (*weir_vulkan_function)(void);

// A device of the caller's.
typedef struct weir_vulkan_handles {
  weir_vulkan_function get_instance_proc_addr; // vkGetInstanceProcAddr
  void *instance, *physical_device, *device;
  uint32_t api_version; // of the instance, at least Vulkan 1.2
  const void
      *create_info; // the VkDeviceCreateInfo that `device` was made with: Weir reads the features that it enables,
                    // among which timelineSemaphore must be, and lets shaders use only those
  const weir_vulkan_queue *queues; // that Weir may use, of which one at least computes; those that compute come in the
  uint32_t queue_count;            // order in which Weir should use them
  // Called around each use of a queue, for queues that the caller uses as well; both NULL: as long as a context uses the
  // device, the queues are Weir's alone. Called on any thread; must not call Weir.
  void (*lock)(void *user, weir_vulkan_queue queue);
  void (*unlock)(void *user, weir_vulkan_queue queue);
  void *user;
} weir_vulkan_handles;

// Registers a device of the caller's, for one context at a time. All that `handles` points to is copied or needed during the
// call only, but for `user`. The device's name, "vulkan:shared1" and so on, is for weir_context_options.devices; `size` 32 is
// enough. Errors: INVALID_ARGUMENT (something is missing, a queue that the device does not have, no queue that computes,
// `size` too small), UNAVAILABLE (Vulkan older than 1.2, no timeline semaphores), OUT_OF_MEMORY. Any thread.
WEIR_API weir_status weir_vulkan_register_sized(const weir_vulkan_handles *handles, size_t handles_size, char *out_name,
                                                uint64_t size);
static inline weir_status weir_vulkan_register(const weir_vulkan_handles *handles_, char *out_name_, uint64_t size_) {
  return weir_vulkan_register_sized(handles_, sizeof *handles_, out_name_, size_);
}

// Forgets it, before the caller destroys the device. Errors: INVALID_ARGUMENT (no such name, or a context uses it).
WEIR_API weir_status weir_vulkan_unregister(const char *name);

// Creates a buffer on `bytes` bytes, from byte `offset` on, of a VkBuffer that the caller owns. Its usage has STORAGE_BUFFER,
// TRANSFER_SRC and TRANSFER_DST; it is bound to memory; it is shared concurrently by the families of all queues that Weir uses,
// unless these are of one family. `offset` is a multiple of the device's alignment for storage buffers. The buffer is tracked,
// never renamed or moved; what tasks of other devices write to it is copied back behind them (other devices with memory of their
// own only read it). Of buffers that share bytes Weir does not know that they do. Errors: INVALID_ARGUMENT, OUT_OF_RANGE (it leaves the VkBuffer), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_wrap_vulkan(weir_device *device, uint64_t vk_buffer, uint64_t offset, uint64_t bytes,
                                             weir_buffer **out_buffer);

// Forgets a VkBuffer that was wrapped, before the caller destroys it: when all tasks that use it are done, and its buffers
// were released. Errors: INVALID_ARGUMENT (it was not wrapped).
WEIR_API weir_status weir_vulkan_forget_buffer(weir_device *device, uint64_t vk_buffer);

// Orders Weir after other Vulkan code: tasks that are submitted from now on, to any device, start when the timeline semaphore
// has reached `value`. The caller does not wait; tasks that were submitted before go on. A wait for a value that never comes
// ends when the context is cancelled.
WEIR_API weir_status weir_vulkan_wait_semaphore(weir_device *device, uint64_t semaphore, uint64_t value);

// Orders other Vulkan code after Weir: the timeline semaphore is set to `value` when the task of `event` is done, or with
// `event` NULL all tasks submitted so far, whether they fail or not. The caller does not wait. Values must grow, as Vulkan says.
// A device that is lost signals nothing any more.
WEIR_API weir_status weir_vulkan_signal_semaphore(weir_device *device, uint64_t semaphore, uint64_t value,
                                                  weir_event *event);

#ifdef __cplusplus
}
#endif
#endif // WEIR_VULKAN_H
