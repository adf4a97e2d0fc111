// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in split_kernels.c.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer In { uint ins[]; };
layout(set = 0, binding = 1) writeonly buffer Out { uint outs[]; };
layout(push_constant) uniform Values { int work; } values;

void main() {
  for (int k = 0; k < values.work; k++) {
    uint i = (gl_WorkGroupID.x * uint(values.work) + uint(k)) * 256 + gl_LocalInvocationID.x;
    uint x = ins[i];
    outs[i] = (x ^ (x >> 7)) + 1u;
  }
}
