// SPDX-License-Identifier: Apache-2.0
#version 450
// target[i] = target[i] * 3 + source[i] + value
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Target { uint target[]; };
layout(set = 0, binding = 1) readonly buffer Source { uint source[]; };
layout(push_constant) uniform Values { uint value; } values;

void main() {
  uint i = gl_GlobalInvocationID.x;
  target[i] = target[i] * 3 + source[i] + values.value;
}
