// SPDX-License-Identifier: Apache-2.0
#version 450
// Needs 64-bit floats, and has work-groups, shared memory and push constants of sizes that tests compare with limits.
layout(local_size_x = 32, local_size_y = 4) in;
layout(binding = 0) buffer Numbers { double numbers[]; };
layout(push_constant) uniform Values { double factor; uint count; uint unused; } values;
shared double scratch[128];

void main() {
  uint i = gl_LocalInvocationIndex;
  scratch[i] = numbers[i];
  barrier();
  if (i < values.count) numbers[i] = scratch[127 - i] * values.factor;
}
