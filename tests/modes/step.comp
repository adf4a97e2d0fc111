// SPDX-License-Identifier: Apache-2.0
//
// The kernel of test_run.c: to[i] = from[i] * factor + term.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer From { uint from[]; };
layout(std430, set = 0, binding = 1) buffer To { uint to[]; };
layout(push_constant) uniform Value { uint factor, term; };

void main() {
  uint i = gl_WorkGroupID.x;
  to[i] = from[i] * factor + term;
}
