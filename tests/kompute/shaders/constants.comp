// SPDX-License-Identifier: Apache-2.0
#version 450
// Specialization constants of the types of 32 bits, one of which keeps the shader's value.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const int number = 1;
layout(constant_id = 2) const uint large = 2;
layout(constant_id = 3) const float factor = 3;
layout(constant_id = 4) const bool flag = false;
layout(constant_id = 5) const uint kept = 77;
layout(binding = 0) buffer Results { float results[]; };

void main() {
  if (gl_GlobalInvocationID.x != 0) return;
  results[0] = float(number);
  results[1] = float(large);
  results[2] = factor;
  results[3] = float(flag);
  results[4] = float(kept);
  results[5] = float(gl_WorkGroupSize.x);
}
