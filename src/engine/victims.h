// SPDX-License-Identifier: Apache-2.0
//
// Which buffers give way first in the memory of a device: those that are expected not to be used for longest.
//
// DESIGN. What is used last is the best to lose (Belady, 1966). When that is, the past has to tell: tasks in flight keep their buffers
// anyway. A buffer is expected again after the longer of its last two gaps between uses, since programs sweep over their
// data, or go to and fro, and use some of it several times at once. What has not come by then, or came only once so far, is
// expected after three quarters of the time that it is gone already. So without a second use the least recently used goes
// first. In a second sweep what was just used goes first, as the part is less than all: what the first one left is needed soon.
// What would have to be copied out, and back, counts half.
// Uses are noticed by searches alone, so programs whose buffers fit pay nothing for this.
#ifndef WEIR_ENGINE_VICTIMS_H
#define WEIR_ENGINE_VICTIMS_H

#include "engine/context.h"

enum { WEIR__VICTIMS = 128 }; // of one search

typedef struct weir__victim {
  weir_buffer *buffer;
  uint64_t away; // how long it is expected not to be used, in tasks; twice that if it need not be copied
} weir__victim;

typedef struct weir__victims {
  weir_context *context;
  uint32_t space;
  uint16_t lost; // the spaces of devices that are lost
  uint32_t count;
  weir__victim list[WEIR__VICTIMS]; // nothing in flight uses them; the longest away first
  uint64_t leaving;                 // bytes of buffers that are being copied home
  uint64_t busy;                    // bytes of buffers that other tasks in flight use
  double busy_away;                 // how long these are expected to be away afterwards: the mean by bytes
} weir__victims;

// Searches the buffers in the space of a device, without those that the submission which was checked last names. The lock is held.
void weir__victims_find(weir_context *context, uint32_t space, weir__victims *out_victims);

// Whether the buffer has storage in the space that it may lose: nobody uses it, nor does the submission that asks.
bool weir__may_lose(const weir_context *context, weir_buffer *buffer, uint32_t space);

// Whether some of its contents are there alone, or else only in spaces that are lost.
bool weir__is_needed(const weir_buffer *buffer, uint32_t space, uint16_t lost);

#endif // WEIR_ENGINE_VICTIMS_H
