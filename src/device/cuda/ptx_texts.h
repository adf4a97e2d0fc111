// SPDX-License-Identifier: Apache-2.0
//
// What PTX texts say, read once in a process: a program that makes one context after the other gives each the same code.
#ifndef WEIR_DEVICE_CUDA_PTX_TEXTS_H
#define WEIR_DEVICE_CUDA_PTX_TEXTS_H

#include "device/cuda/ptx.h"

enum { WEIR__PTX_TEXTS_KEPT = 64 }; // texts that are kept, used or not; where all are used, others are not kept

// The entries of a text, which are read if they are not known. NULL: there are none, or no memory. They stay until they are
// given back by as many calls of weir__ptx_give_back (NULL is allowed). Any thread.
const weir__ptx_entry *weir__ptx_take(const char *text, size_t bytes);
void weir__ptx_give_back(const weir__ptx_entry *entries);

#endif // WEIR_DEVICE_CUDA_PTX_TEXTS_H
