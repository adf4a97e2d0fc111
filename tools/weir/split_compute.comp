// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in split_kernels.c.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer In { uint ins[]; };
layout(set = 0, binding = 1) writeonly buffer Out { uint outs[]; };
layout(push_constant) uniform Values { int work; } values;

uint step_of(uint x) {
  x ^= x << 13;
  x ^= x >> 17;
  return x ^ (x << 5);
}

void main() {
  uint x = ins[gl_GlobalInvocationID.x];
  for (int k = 0; k < values.work; k++) x = step_of(step_of(step_of(step_of(x))));
  outs[gl_GlobalInvocationID.x] = x;
}
