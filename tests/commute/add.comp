// SPDX-License-Identifier: Apache-2.0
//
// A kernel of adding.h.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(std430, set = 0, binding = 1) buffer To { uint to[]; };
layout(push_constant) uniform Value { uint factor, more; };

void main() {
  uint i = gl_WorkGroupID.x;
  to[i] += from[i] * factor + more;
}
