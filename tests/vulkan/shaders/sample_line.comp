// SPDX-License-Identifier: Apache-2.0
#version 450
// found[i] is the image at places[i].
layout(local_size_x = 64) in;
layout(binding = 0) uniform sampler1D image;
layout(binding = 1) readonly buffer Places { vec4 places[]; };
layout(binding = 2) writeonly buffer Found { vec4 found[]; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < found.length()) found[i] = textureLod(image, places[i].x, 0);
}
