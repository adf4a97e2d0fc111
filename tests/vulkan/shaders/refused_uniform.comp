// SPDX-License-Identifier: Apache-2.0
#version 450
layout(binding = 0) uniform Block { uint number; } block;
layout(binding = 1) buffer Out { uint result; };
void main() { result = block.number; }
