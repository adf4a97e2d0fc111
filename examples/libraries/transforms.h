// SPDX-License-Identifier: Apache-2.0
//
// A device with a library of Fourier transforms: cuFFT on CUDA (transforms_cuda.c), VkFFT on Vulkan
// (transforms_vulkan.c). Functions that fail print why and end the program, unless they say otherwise.
#ifndef WEIR_EXAMPLES_TRANSFORMS_H
#define WEIR_EXAMPLES_TRANSFORMS_H

#include <stdbool.h>
#include <weir/weir.h>

// Bytes of an image of complex floats.
#define TRANSFORMS_BYTES(size) ((uint64_t)(size) * (size)*2 * sizeof(float))

typedef struct transforms transforms;

// The library's name.
extern const char transforms_library[];

// Opens the device and the library for images of `size` x `size` complex floats, and a context on the device. NULL: the
// machine lacks one of them, and `why` (`why_bytes` long) says which.
transforms *transforms_open(uint32_t size, uint32_t images, char *why, size_t why_bytes);
weir_context *transforms_context(transforms *all);

// Releases the context, too. All buffers and graphs have been released.
void transforms_close(transforms *all);

// The memory of an image.
weir_buffer *transforms_buffer(transforms *all, uint32_t image);

// Sets the kernel's code: argument 0 is an image, which is transformed in place, argument 1 a uint32_t: whether back.
// The task's `user` is what transforms_user returns.
void transforms_set_transform(transforms *all, weir_kernel *kernel);
void *transforms_user(transforms *all, uint32_t image);

// Transforms an image by an open task, in the calling thread's own code. False: not with this library; nothing was done.
// No task that transforms the image is in flight.
bool transforms_call(transforms *all, weir_buffer *buffer, uint32_t image, bool inverse);

// Sets the kernel's code: it takes all frequencies above a limit out of a spectrum, and scales it if the library does
// not, so that the transform back gives the image. Arguments: the image, its size and the limit (uint32_t).
void transforms_set_lowpass(transforms *all, weir_kernel *kernel);

#endif // WEIR_EXAMPLES_TRANSFORMS_H
