// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan loader in front of the real one (libvulkan.so.1): a shared library that Weir loads when the environment
// variable WEIR_VULKAN_LOADER names it, and that a test links with to control it. It lets chosen calls of a device fail,
// counts objects, and can show other kinds of memory than the device has.
#ifndef WEIR_TESTS_VULKAN_INTERPOSER_H
#define WEIR_TESTS_VULKAN_INTERPOSER_H

#include <stdint.h>

#define INTERPOSER_API __attribute__((visibility("default")))

// From now on the `n`th call (1: the next; 0: none) of the function `name` returns `result`, a VkResult. `name` NULL: of
// any function that can fail, but those that ask or wait for a semaphore's value, as how many there are is a matter of
// time. After VK_ERROR_DEVICE_LOST all calls that can return that do so, and nothing runs any more. Forgets what was
// counted.
INTERPOSER_API void interposer_fail(const char *name, uint64_t n, int result);
// The same, and of the calls that come next as many fail as make it `times`.
INTERPOSER_API void interposer_fail_times(const char *name, uint64_t n, uint64_t times, int result);

// From now on all semaphores have the value UINT64_MAX, as on a device of Direct3D 12's that was removed. Ends with
// interposer_fail.
INTERPOSER_API void interposer_remove(void);

// Name of the function that failed; NULL: none has.
INTERPOSER_API const char *interposer_failed(void);

// Objects of devices that were made and not destroyed, devices among them.
INTERPOSER_API int64_t interposer_live(void);

// Times that an object was destroyed though a submission whose end only an idle queue tells could still run.
INTERPOSER_API uint64_t interposer_destroyed_early(void);

// Times that something was destroyed which a call that failed had left as its result. Vulkan does not say what that is.
INTERPOSER_API uint64_t interposer_undefined_used(void);

// Barriers in front of kernels, in command buffers that were submitted since interposer_fail.
INTERPOSER_API uint64_t interposer_barriers(void);

// The environment variable WEIR_INTERPOSER_MEMORY, read at the first call, says what memory is shown in place of memory
// that is the device's and the host's at once: "discrete" (memory that only the device reaches, and the host's), "bar"
// (the host also writes the device's).

#endif // WEIR_TESTS_VULKAN_INTERPOSER_H
