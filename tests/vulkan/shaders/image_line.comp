// SPDX-License-Identifier: Apache-2.0
#version 450
// A line of unsigned numbers: each gets its index more.
layout(local_size_x = 64) in;
layout(binding = 0, r32ui) uniform uimage1D image;

void main() {
  int at = int(gl_GlobalInvocationID.x);
  if (at < imageSize(image)) imageStore(image, at, imageLoad(image, at) + uint(at));
}
