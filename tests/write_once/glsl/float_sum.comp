// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in forms.c. Its sums are exact in any order.
layout(local_size_x = 32, local_size_y = 2) in;
layout(set = 0, binding = 0) readonly buffer In { float ins[]; };
layout(set = 0, binding = 1) buffer Sum { uint sum[]; };

void main() {
  float mine = ins[gl_WorkGroupID.x * 64 + gl_LocalInvocationIndex];
  uint seen = atomicAdd(sum[0], 0), expected;
  do {
    expected = seen;
    seen = atomicCompSwap(sum[0], expected, floatBitsToUint(uintBitsToFloat(expected) + mine));
  } while (seen != expected);
}
