// SPDX-License-Identifier: Apache-2.0
#version 450
// product[i] = first[i] * second[i]
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer First { float first[]; };
layout(binding = 1) readonly buffer Second { float second[]; };
layout(binding = 2) writeonly buffer Product { float product[]; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < product.length()) product[i] = first[i] * second[i];
}
