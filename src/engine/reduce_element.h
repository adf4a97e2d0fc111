// SPDX-License-Identifier: Apache-2.0
//
// What Weir knows of reductions' elements: identities, and how the host combines them.
#ifndef WEIR_ENGINE_REDUCE_ELEMENT_H
#define WEIR_ENGINE_REDUCE_ELEMENT_H

#include "weir/reduce.h"

enum { WEIR__IDENTITY_BYTES = 16 };

// What is told to the functions below as a value.
typedef struct weir__reduce_work {
  uint64_t bytes;
  uint32_t operation, type;
  unsigned char identity[WEIR__IDENTITY_BYTES]; // as often as it fits
} weir__reduce_work;

// Bytes of an element; 0: there is no such type, or operation, or size of an identity.
uint32_t weir__reduce_element_bytes(const weir_reduction *reduction);

// The identity, as often as it fits.
void weir__reduce_identity(const weir_reduction *reduction, unsigned char identity[WEIR__IDENTITY_BYTES]);

// Host tasks. Arguments: the target, the source, and a weir__reduce_work.
void weir__reduce_combine(const weir_work *work);

// The same without a source: fills the target with identities.
void weir__reduce_clear(const weir_work *work);

#endif // WEIR_ENGINE_REDUCE_ELEMENT_H
