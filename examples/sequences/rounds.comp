// SPDX-License-Identifier: Apache-2.0
#version 450
// Many rounds of a random number generator on each number: work that takes a while. Mesa's driver for the CPU, lavapipe,
// leaves a loop after 65535 rounds; a card does as many as it is asked for.
layout(local_size_x = 1) in;
layout(push_constant) uniform Values { uint rounds; };
layout(binding = 0) buffer Numbers { uint numbers[]; };

void main() {
  uint number = numbers[gl_GlobalInvocationID.x];
  for (uint i = 0; i < rounds; i++) number = number * 1664525u + 1013904223u;
  numbers[gl_GlobalInvocationID.x] = number;
}
