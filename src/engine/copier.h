// SPDX-License-Identifier: Apache-2.0
//
// Which device makes a copy or fill.
#ifndef WEIR_ENGINE_COPIER_H
#define WEIR_ENGINE_COPIER_H

#include "engine/submission.h"

// The device that copies these bytes of a buffer, which the copy reads or writes; NULL: the host does. Takes the context's lock.
weir_device *weir__copier_of(const weir__submission *by, weir_context *context, const weir_buffer *buffer,
                             uint64_t offset, uint64_t bytes, bool reads);

// Whether the device can copy between the buffers, or fill one (`from` is NULL), as far as they are images, or wrapped memory of a
// device. What it cannot, the host can.
bool weir__copier_can(const weir_device *device, const weir_buffer *to, uint64_t to_offset, const weir_buffer *from,
                      uint64_t from_offset, uint32_t pattern);

#endif // WEIR_ENGINE_COPIER_H
