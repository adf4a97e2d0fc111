// SPDX-License-Identifier: Apache-2.0
#version 450
// Takes all frequencies above a limit out of the spectrum of a square image.
layout(local_size_x = 64) in;
layout(binding = 0) buffer Spectrum { vec2 spectrum[]; };
layout(push_constant) uniform Values { uint size; uint limit; } values;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= values.size * values.size) return;
  uint x = i % values.size, y = i / values.size;
  if (min(x, values.size - x) > values.limit || min(y, values.size - y) > values.limit) spectrum[i] = vec2(0);
}
