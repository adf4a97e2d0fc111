// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of the kernels of `weir split`, for every device and for plain loops. All of it is exact.
#ifndef WEIR_TOOLS_WEIR_SPLIT_STEPS_H
#define WEIR_TOOLS_WEIR_SPLIT_STEPS_H

// Four steps of a xorshift generator.
#define SPLIT_STEP(x) ((x) ^= (x) << 13, (x) ^= (x) >> 17, (x) ^= (x) << 5)
#define SPLIT_STEPS(x) (SPLIT_STEP(x), SPLIT_STEP(x), SPLIT_STEP(x), SPLIT_STEP(x))

// One number of the kernel that only moves.
#define SPLIT_MOVE(x) (((x) ^ ((x) >> 7)) + 1u)

#endif // WEIR_TOOLS_WEIR_SPLIT_STEPS_H
