// SPDX-License-Identifier: Apache-2.0
//
// Fourier transforms by VkFFT, which is C++.
#ifndef WEIR_EXAMPLES_FFT_H
#define WEIR_EXAMPLES_FFT_H

#include "vulkan_device.h"

#ifdef __cplusplus
extern "C" {
#endif

// A plan for transforms in place of `size` x `size` complex floats in a VkBuffer.
typedef struct fft fft;

// NULL: VkFFT refuses. Work of its own goes to the device's queue, and is done afterwards.
fft *fft_create(vulkan_device *device, VkBuffer buffer, uint32_t size);
void fft_destroy(fft *plan);

// Records a transform. 0, or VkFFT's error.
int fft_record(fft *plan, VkCommandBuffer commands, bool inverse);

#ifdef __cplusplus
}
#endif
#endif // WEIR_EXAMPLES_FFT_H
