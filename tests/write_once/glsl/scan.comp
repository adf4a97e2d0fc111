// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in forms.c.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
shared uint sums[2][64];

void main() {
  uint item = gl_LocalInvocationID.x, from = 0;
  sums[0][item] = data[gl_GlobalInvocationID.x];
  barrier();
  for (uint step = 1; step < 64; step *= 2) {
    sums[1 - from][item] = sums[from][item] + (item < step ? 0 : sums[from][item - step]);
    barrier();
    from = 1 - from;
  }
  if (gl_WorkGroupID.x != 1) data[gl_GlobalInvocationID.x] = sums[from][item];
}
