// SPDX-License-Identifier: Apache-2.0
#version 450
layout(binding = 0, r32f) uniform imageBuffer texels;
void main() { imageStore(texels, 0, vec4(1)); }
