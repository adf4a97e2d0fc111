// SPDX-License-Identifier: Apache-2.0
#version 450
// Bindings of every kind, with a gap at 3.
layout(local_size_x = 4, local_size_y = 2) in;
layout(binding = 0) buffer Unqualified { uint numbers[]; } from; // only read, though it does not say so
layout(binding = 1, r32f) uniform writeonly image2D plane;
layout(binding = 2) uniform sampler3D volume;
layout(binding = 4) buffer Counter { uint count; } counter;
layout(binding = 5) buffer Stored { uint numbers[]; } stored;
layout(binding = 6, rgba8ui) uniform uimage1D line;
layout(binding = 7) buffer Untouched { uint numbers[]; } untouched; // only its length is asked for
layout(binding = 8, r32ui) uniform uimage3D bins;

void main() {
  uint i = gl_GlobalInvocationID.x;
  vec4 color = texture(volume, vec3(0.5));
  imageStore(plane, ivec2(i, 0), color);
  atomicAdd(counter.count, from.numbers[i]);
  stored.numbers[i] = i + uint(untouched.numbers.length());
  uvec4 old = imageLoad(line, int(i));
  imageStore(line, int(i), old + 1u);
  imageAtomicAdd(bins, ivec3(0), 1u);
}
