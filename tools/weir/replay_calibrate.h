// SPDX-License-Identifier: Apache-2.0
//
// How far a kernel that spins counts in a microsecond, measured.
#ifndef WEIR_TOOLS_WEIR_REPLAY_CALIBRATE_H
#define WEIR_TOOLS_WEIR_REPLAY_CALIBRATE_H

#include "weir/weir.h"

// Gives a kernel code that counts to `count` in one group.
typedef weir_status (*weir__set_spin)(const void *user, uint64_t count, weir_kernel *kernel);

// Counts in a microsecond: two spins, one twice as long, which takes some 50 ms. On a machine that is busy with other things they
// are repeated until the second takes about twice as long as the first. Counts stay below about `most`.
weir_status weir__calibrate_spin(weir_context *context, weir__set_spin set, const void *user, uint64_t most,
                                 double *out_per_us);

#endif // WEIR_TOOLS_WEIR_REPLAY_CALIBRATE_H
