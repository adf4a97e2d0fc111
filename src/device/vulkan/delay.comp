// SPDX-License-Identifier: Apache-2.0
//
// A kernel of one group that takes some time: see overlap.h. delay.inc holds what glslangValidator makes of it;
// tools/shaders/make_words.py makes that anew.
#version 450
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) buffer Result { uint result; };
layout(push_constant) uniform Values { uint rounds; };

void main() {
  uint value = gl_LocalInvocationIndex;
  for (uint i = 0; i < rounds; i++) value = value * 1664525 + 1013904223;
  if (value == 0) result = 1; // so that the rounds are not left out
}
