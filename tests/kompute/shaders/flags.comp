// SPDX-License-Identifier: Apache-2.0
#version 450
// Booleans: in buffers GLSL stores them as 32-bit integers.
layout(local_size_x = 1) in;
layout(constant_id = 0) const bool turned = false;
layout(binding = 0) buffer Flags { uint flags[]; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  bool flag = flags[i] != 0;
  flags[i] = uint(flag != turned);
}
