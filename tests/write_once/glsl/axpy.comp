// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in forms.c.
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform Values { float a; } values;

void main() {
  uint i = gl_GlobalInvocationID.x;
  precise float sum = values.a * x[i] + y[i];
  y[i] = sum;
}
