// SPDX-License-Identifier: Apache-2.0
#version 450
// words[i] = words[i] * factor + value
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Words { uint words[]; };
layout(push_constant) uniform Values { uint factor, value; } values;

void main() {
  uint i = gl_GlobalInvocationID.x;
  words[i] = words[i] * values.factor + values.value;
}
