// SPDX-License-Identifier: Apache-2.0
#version 450
layout(binding = 0) uniform sampler only;
layout(binding = 1) uniform texture2D plane;
layout(binding = 2) buffer Out { vec4 result; };
void main() { result = texture(sampler2D(plane, only), vec2(0)); }
