// SPDX-License-Identifier: Apache-2.0
//
// result[i] = a[i] + b[i], by one work-group.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) writeonly buffer Result { uint result[]; };
layout(std430, set = 0, binding = 1) readonly buffer First { uint a[]; };
layout(std430, set = 0, binding = 2) readonly buffer Second { uint b[]; };

void main() {
  for (uint i = gl_LocalInvocationID.x; i < result.length(); i += gl_WorkGroupSize.x) result[i] = a[i] + b[i];
}
