// SPDX-License-Identifier: Apache-2.0
//
// The kernel of test_pipeline_random.c: a work-group is a word.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer Words { uint words[]; };
layout(push_constant) uniform Value { uint seed, fails; };

void main() {
  uint i = gl_WorkGroupID.x;
  words[i] = (words[i] ^ seed) * 2654435761u + i;
}
