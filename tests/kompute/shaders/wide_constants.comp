// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_ARB_gpu_shader_int64 : require
// Specialization constants of 64 bits.
layout(local_size_x = 1) in;
layout(constant_id = 0) const double factor = 1;
layout(constant_id = 1) const int64_t number = 1;
layout(constant_id = 2) const uint64_t large = 1;
layout(binding = 0) buffer Results { double real; int64_t integer; uint64_t natural; };

void main() {
  real = factor;
  integer = number;
  natural = large;
}
