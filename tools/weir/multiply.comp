// SPDX-License-Identifier: Apache-2.0
//
// The kernel of `weir bench sequences` on Vulkan devices. multiply.inc holds what glslangValidator makes of it; tools/shaders/make_words.py
// makes that anew.
#version 450
layout(local_size_x = 256) in;
layout(std430, set = 0, binding = 0) buffer Product { float product[]; };
layout(std430, set = 0, binding = 1) readonly buffer First { float first[]; };
layout(std430, set = 0, binding = 2) readonly buffer Second { float second[]; };
layout(push_constant) uniform Values { uint count; };

void main() {
  uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint i = gl_GlobalInvocationID.x;
  while (i < count) {
    product[i] = first[i] * second[i];
    if (count - i <= stride) return; // the sum below would not fit
    i += stride;
  }
}
