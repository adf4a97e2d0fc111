// SPDX-License-Identifier: Apache-2.0
#version 450
// sum[i] = a[i] + b[i] for i < count
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer Sum { float sum[]; };
layout(push_constant) uniform Values { uint count; } values;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < values.count) sum[i] = a[i] + b[i];
}
