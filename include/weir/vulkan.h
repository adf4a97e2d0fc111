// SPDX-License-Identifier: Apache-2.0
//
// Weir on Vulkan: kernels as SPIR-V compute shaders, and sharing of devices, memory and semaphores with other Vulkan
// code.
//
// A context has the Vulkan devices that its list of devices names: "vulkan" or "vulkan:0", "vulkan:1", in the order of
// the Vulkan loader. The loader is found at run time; neither building nor linking needs anything of Vulkan. `weir
// info` says what a machine has, with its families of queues, or lacks.
//
// Binding model: a task's arguments, in order, become the shader's bindings.
// - Buffers, in order, are the storage buffers `layout(set = 0, binding = 0, 1, 2, ...)`. The range of the task is
//   bound, so index 0 of the shader's array is the range's first byte. The range's offset in its buffer must be a
//   multiple of the device's alignment for storage buffers, 16 to 256 bytes, which the error's text has.
// - Values, in order and without gaps, are the push constants, as many bytes as the shader's block has.
// - Images (weir/image.h) are buffers whose binding the shader declares as an image. The image must have as many
//   dimensions; for a storage image with a declared format, also this format.
// Weir refuses a task with more or fewer buffers or bytes of values than the shader declares, and a task that only
// reads a buffer which the shader writes. Weir finds the shader's reads and writes in its instructions, so `readonly`
// and `writeonly` are not needed. A binding below the last one that the shader or its compiler leaves out still takes a
// buffer, which is ignored.
// Weir refuses shaders with other sets, arrays of bindings, uniform buffers, texel buffers, and samplers and sampled
// images apart from each other. Uniform data that exceeds the push constants goes into a storage buffer.
//
// Weir checks the declarations of a module. It trusts the instructions, as Vulkan drivers do: spirv-val checks them.
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
  uint32_t queues;         // number of queues
  uint32_t timestamp_bits; // significant bits of a timestamp; 0: the queues have no timestamps
  uint64_t reserved[2];    // 0
} weir_vulkan_family;

// A device of the machine, whether or not Weir can use it.
typedef struct weir_vulkan_description {
  char name[256];
  char driver[512];           // name and version of the driver; "" before Vulkan 1.2
  const char *type;           // "discrete", "integrated", "virtual", "cpu" or "other"; static
  uint32_t version[3];        // of Vulkan: 1, 3, 230
  uint64_t device_bytes;      // its own memory, all heaps together
  uint64_t host_bytes;        // memory of the host that it can use
  uint32_t group_threads;     // most work-items of a work-group
  uint32_t groups[3];         // most work-groups of a dispatch in x, y, z
  uint32_t shared_bytes;      // most shared memory of a work-group
  uint32_t push_bytes;        // most bytes of push constants
  uint32_t storage_alignment; // of a range's offset in its buffer, in bytes
  bool usable;                // whether Weir can use it
  char reason[320];           // why Weir cannot use it
  uint32_t family_count;
  weir_vulkan_family families[WEIR_VULKAN_MOST_FAMILIES]; // by index of the family
} weir_vulkan_description;

// Counts the devices that the Vulkan loader lists: "vulkan:0" to "vulkan:N-1". The first call loads the drivers, which
// may take a second.
// Errors: UNAVAILABLE (no loader, or no device that Weir can use; the text says which).
WEIR_API weir_status weir_vulkan_device_count(uint32_t *out_count);

// Describes the device at an index.
// Errors: INVALID_ARGUMENT (no such index), UNAVAILABLE, OUT_OF_MEMORY.
WEIR_API weir_status weir_vulkan_device_describe_sized(uint32_t index, weir_vulkan_description *out_description,
                                                       size_t description_size);
static inline weir_status weir_vulkan_device_describe(uint32_t index_, weir_vulkan_description *out_description_) {
  return weir_vulkan_device_describe_sized(index_, out_description_, sizeof *out_description_);
}

// ---------------------------------------------------------------------------------------------------------------
// Kernels

// Code of a kernel: SPIR-V, as `glslangValidator -V` or `glslc` writes it.
typedef struct weir_vulkan_code {
  const void *words; // copied
  uint64_t bytes;    // a multiple of 4
} weir_vulkan_code;

// A specialization constant of the shader.
typedef struct weir_vulkan_constant {
  uint32_t id;    // constant_id
  uint32_t bytes; // 8 for 64-bit types; 4 for all others, bool (0 or 1) and smaller types included
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
  const char *entry;                     // name of the entry point; NULL: "main"
  uint32_t groups[3];                    // work-groups in x, y, z; all 0: the task's
  const weir_vulkan_constant *constants; // copied; other constants keep the shader's values
  uint32_t constant_count;
  // If `value` is not NULL, these `value_bytes` bytes are the push constants in place of the task's values. They are
  // copied. If the shader declares no buffers, none are bound.
  const void *value;
  uint32_t value_bytes;
  uint64_t reserved[2]; // 0
} weir_vulkan_launch;

// Gives a kernel its code for the context's Vulkan devices: `count` dispatches that run one after another, each of
// which sees what the one before wrote. Pipelines are created at once, and shared by kernels with the same code and
// constants. The shader sets its work-group size, by local_size_x and so on or by specialization constants. With
// `count` 0 and `code` NULL a task of the kernel dispatches nothing, and keeps its place in the order.
// Errors: INVALID_ARGUMENT (no SPIR-V; no such entry point; a work-group, push constants or a capability beyond the
// device's, which the text has; tasks in flight that use the kernel's code for Vulkan), UNAVAILABLE (the context has no
// Vulkan device), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_vulkan_sized(weir_kernel *kernel, const weir_vulkan_code *code, size_t code_size,
                                                  const weir_vulkan_launch *launches, uint32_t count);
static inline weir_status weir_kernel_set_vulkan(weir_kernel *kernel_, const weir_vulkan_code *code_,
                                                 const weir_vulkan_launch *launches_, uint32_t count_) {
  return weir_kernel_set_vulkan_sized(kernel_, code_, sizeof *code_, launches_, count_);
}

// ---------------------------------------------------------------------------------------------------------------
// Sharing with other Vulkan code
//
// Vulkan objects are passed as numbers and pointers, so this header needs no Vulkan header: a VkBuffer or VkSemaphore
// as uint64_t; a VkInstance, VkPhysicalDevice or VkDevice as void *. They belong to the VkDevice that Weir uses, so
// sharing begins with a device of the caller's.

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
  // The VkDeviceCreateInfo of `device`. Weir reads the features that it enables, and lets shaders use no others.
  // timelineSemaphore must be enabled.
  const void *create_info;
  // Queues that Weir may use, at least one of which computes. Weir takes those that compute in this order.
  const weir_vulkan_queue *queues;
  uint32_t queue_count;
  // Called around each use of a queue, for queues that the caller uses, too; on any thread. They must not call Weir.
  // Both NULL: the queues are Weir's alone as long as a context uses the device.
  void (*lock)(void *user, weir_vulkan_queue queue);
  void (*unlock)(void *user, weir_vulkan_queue queue);
  void *user; // passed to `lock` and `unlock`
} weir_vulkan_handles;

// Registers a device of the caller's, for one context at a time. `out_name` gets its name, "vulkan:shared1" and so on,
// for weir_context_options.devices; a `size` of 32 bytes is enough. After the call nothing that `handles` points to is
// needed, except `user`.
// Errors: INVALID_ARGUMENT (a handle is missing; a queue that the device does not have; no queue that computes; `size`
// too small), UNAVAILABLE (Vulkan older than 1.2; no timeline semaphores), OUT_OF_MEMORY.
WEIR_API weir_status weir_vulkan_register_sized(const weir_vulkan_handles *handles, size_t handles_size, char *out_name,
                                                uint64_t size);
static inline weir_status weir_vulkan_register(const weir_vulkan_handles *handles_, char *out_name_, uint64_t size_) {
  return weir_vulkan_register_sized(handles_, sizeof *handles_, out_name_, size_);
}

// Removes a registered device. The caller must call it before it destroys the device.
// Errors: INVALID_ARGUMENT (no such name, or a context uses the device).
WEIR_API weir_status weir_vulkan_unregister(const char *name);

// Creates a buffer on a VkBuffer that the caller owns: `bytes` bytes from byte `offset` on. The VkBuffer is bound to
// memory, and has the usages STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST. The families of all queues that Weir uses
// share it concurrently, unless there is one family only. `offset` is a multiple of the device's alignment for storage
// buffers. Weir orders the uses of the buffer, and never renames or moves it. Bytes that tasks of other devices write
// are copied back after these tasks; other devices with memory of their own only read it. Weir does not detect buffers
// that share bytes of a VkBuffer.
// Errors: INVALID_ARGUMENT, OUT_OF_RANGE (it leaves the VkBuffer), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_wrap_vulkan(weir_device *device, uint64_t vk_buffer, uint64_t offset, uint64_t bytes,
                                             weir_buffer **out_buffer);

// Makes Weir forget a wrapped VkBuffer. The caller must call it before it destroys the VkBuffer, after all tasks that
// use it are done and its buffers were released.
// Errors: INVALID_ARGUMENT (it was not wrapped).
WEIR_API weir_status weir_vulkan_forget_buffer(weir_device *device, uint64_t vk_buffer);

// Orders later tasks, on all devices, after the moment at which a timeline semaphore reaches `value`. Earlier tasks are
// not affected. The call does not wait. Cancelling the context ends the wait for a value that never comes.
WEIR_API weir_status weir_vulkan_wait_semaphore(weir_device *device, uint64_t semaphore, uint64_t value);

// Makes an external event (weir/external.h) that is done when a timeline semaphore reaches `value`. The caller releases
// it. The call does not wait. Tasks that come after it are submitted once the host has seen the value, since a queue
// that waits would hold back other tasks; what was written before the semaphore was signalled is visible to them:
// before the event is done, Weir submits an empty batch that waits for the value, which is reached, to each queue that
// it uses. So the semaphore must stay valid until these queues were idle once after that (vkQueueWaitIdle), or the
// context was released.
// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
WEIR_API weir_status weir_vulkan_import_semaphore(weir_device *device, uint64_t semaphore, uint64_t value,
                                                  weir_event **out_event);

// Sets a timeline semaphore to `value` when the task of `event` is done; if `event` is NULL, when all tasks submitted
// so far are done. A failed task counts as done. The call does not wait. Values must grow, as Vulkan demands. A lost
// device signals nothing any more.
WEIR_API weir_status weir_vulkan_signal_semaphore(weir_device *device, uint64_t semaphore, uint64_t value,
                                                  weir_event *event);

#ifdef __cplusplus
}
#endif
#endif // WEIR_VULKAN_H
