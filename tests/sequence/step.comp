// SPDX-License-Identifier: Apache-2.0
//
// data[i] = data[i] * 3 + value, by one work-group.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Values { uint value; };

void main() {
  for (uint i = gl_LocalInvocationID.x; i < data.length(); i += gl_WorkGroupSize.x) data[i] = data[i] * 3 + value;
}
