// SPDX-License-Identifier: Apache-2.0
#version 450
// Every texel of a 2D image of floats: 10 y + x + add.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, r32f) writeonly uniform image2D image;
layout(push_constant) uniform Values { float add; } values;

void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (all(lessThan(at, imageSize(image)))) imageStore(image, at, vec4(float(10 * at.y + at.x) + values.add));
}
