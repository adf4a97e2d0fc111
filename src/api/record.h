// SPDX-License-Identifier: Apache-2.0
//
// A program that records itself without a call: the environment variable WEIR_TRACE names a file, which gets what each
// context did when that is released, or when the program ends without that.
#ifndef WEIR_API_RECORD_H
#define WEIR_API_RECORD_H

#include "engine/context.h"

// Whether WEIR_TRACE names a file. A name that is of no use is told on stderr, once.
bool weir__record_wanted(void);

// The context is there, and its tasks are to be recorded if they are wanted. Without memory for that: told on stderr.
void weir__record_open(weir_context *context);

// Saves what the context did, whose tasks are all done, if it was opened.
void weir__record_close(weir_context *context);

#endif // WEIR_API_RECORD_H
