// SPDX-License-Identifier: Apache-2.0
#version 450
layout(binding = 0, r32f) uniform image2DArray layers;
void main() { imageStore(layers, ivec3(0), vec4(1)); }
