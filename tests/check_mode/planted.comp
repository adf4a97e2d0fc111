// SPDX-License-Identifier: Apache-2.0
//
// The kernel of planted.h: a work-group is a word. It does not change `from`.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer In { uint from[]; };
layout(std430, set = 0, binding = 1) buffer Out { uint to[]; };
layout(push_constant) uniform Value { uint kind, words; };

void main() {
  uint i = gl_WorkGroupID.x;
  uint result = from[i] * 3u + 1u;
  if (kind == 1 && i >= words - 4) return;
  if (kind == 2) result += to[i];
  to[i] = result;
  if (kind == 3 && i == 0) to[words] = 7;
  if (kind == 4 && i == 0) to[int(words) - int(words) - 1] = 7;
  if (kind == 6 && i == 5) to[i] = from[words] ^ 1u;
  if (kind == 7 && i == 5) to[i] = to[words + 1] ^ 1u;
}
