// SPDX-License-Identifier: Apache-2.0
#version 450
// A solid of bytes: (x, y, z, 7), added to what is there.
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(binding = 0, rgba8ui) uniform uimage3D image;

void main() {
  ivec3 at = ivec3(gl_GlobalInvocationID);
  if (all(lessThan(at, imageSize(image)))) imageStore(image, at, imageLoad(image, at) + uvec4(at, 7));
}
