// SPDX-License-Identifier: Apache-2.0
#version 450
layout(binding = 0) buffer Out { uint result; } outs[2];
void main() { outs[1].result = 1; }
