// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in forms.c.
layout(local_size_x = 64, local_size_y = 2) in;
layout(set = 0, binding = 0) readonly buffer In { float ins[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float outs[]; };
shared float sums[128];

void main() {
  uint item = gl_LocalInvocationIndex;
  float mine = ins[gl_WorkGroupID.x * 128 + item];
  precise float difference = mine - mine * 0.5;
  sums[item] = difference;
  barrier();
  for (uint stride = 64; stride > 0; stride /= 2) {
    if (item < stride) sums[item] += sums[item + stride];
    barrier();
  }
  if (item == 0) outs[gl_WorkGroupID.x] = sums[0];
}
