// SPDX-License-Identifier: Apache-2.0
#version 450
layout(binding = 0) uniform samplerCube sky;
layout(binding = 1) buffer Out { vec4 result; };
void main() { result = texture(sky, vec3(1)); }
