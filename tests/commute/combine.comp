// SPDX-License-Identifier: Apache-2.0
//
// The kernel that combines, of adding.h.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer To { uint to[]; };
layout(std430, set = 0, binding = 1) readonly buffer From { uint from[]; };

void main() {
  uint i = gl_WorkGroupID.x;
  to[i] += from[i];
}
