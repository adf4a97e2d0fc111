// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 1) in;
layout(constant_id = 0) const float factor = 0;
layout(push_constant) uniform Values { float number; };
layout(binding = 0) buffer First { float first[]; };
layout(binding = 1) buffer Second { float second[]; };
layout(binding = 2) buffer Products { uint products[]; };
layout(binding = 3) buffer Sums { uint sums[]; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  products[i] += uint(first[i] * second[i]);
  sums[i] += uint(factor * number);
}
