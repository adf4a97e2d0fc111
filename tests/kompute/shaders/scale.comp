// SPDX-License-Identifier: Apache-2.0
#version 450
// numbers[i] = numbers[i] * factor + add
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint factor = 1;
layout(binding = 0) buffer Numbers { uint numbers[]; };
layout(push_constant) uniform Values { uint add; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < numbers.length()) numbers[i] = numbers[i] * factor + add;
}
