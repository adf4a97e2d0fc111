// SPDX-License-Identifier: Apache-2.0
#version 450
layout(set = 1, binding = 3) buffer Out { uint result; };
void main() { result = 1; }
