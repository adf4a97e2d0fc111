// SPDX-License-Identifier: Apache-2.0
#version 450
// to = 2 from, and the numbers of a buffer as well.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, r32f) readonly uniform image2D from;
layout(binding = 1, r32f) writeonly uniform image2D to;
layout(binding = 2) buffer Numbers { float numbers[]; };

void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(from);
  if (!all(lessThan(at, size))) return;
  float number = imageLoad(from, at).r;
  imageStore(to, at, vec4(2 * number));
  numbers[at.y * size.x + at.x] += number;
}
