// SPDX-License-Identifier: Apache-2.0
//
// The kernel of rig.h: a work-group is a word.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) writeonly buffer First { uint first[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Second { uint second[]; };
layout(std430, set = 0, binding = 2) readonly buffer A { uint a[]; };
layout(std430, set = 0, binding = 3) readonly buffer B { uint b[]; };
layout(push_constant) uniform Value { uint seed, fails; };

void main() {
  uint i = gl_WorkGroupID.x;
  uint mixed = (a[i] ^ seed) * 2654435761u + (b[15 - i] >> 3);
  first[i] = mixed;
  second[i] = (mixed ^ b[i]) * 40503u + i;
}
