// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_ARB_gpu_shader_int64 : require
// Specialization constants of all widths, a work-group whose size they give, and push constants with a layout.
layout(local_size_x_id = 10, local_size_y_id = 11, local_size_z = 2) in;
layout(constant_id = 0) const uint length = 3;
layout(constant_id = 1) const bool flag = false;
layout(constant_id = 2) const double factor = 1.0;
layout(constant_id = 3) const int64_t large = 5;
const uint twice = 2 * length;

struct Inner {
  vec3 position;
  float weights[3];
};
layout(push_constant) uniform Values {
  mat3x4 turn;     // at 0, 3 columns of 16 bytes
  Inner inner;     // at 48: position, weights with a stride of 4 from 60, to 72, padded to 80
  mat2 small[2];   // at 80, two of 2 columns of 8 bytes
  float last;      // at 112
} values;
layout(binding = 0) buffer Out { double result[]; };

shared float scratch[twice];

void main() {
  scratch[gl_LocalInvocationIndex % twice] = values.last;
  barrier();
  double sum = factor * double(large) + double(scratch[0]);
  if (flag) sum += double(values.turn[0].x + values.inner.weights[2] + values.small[1][1].y);
  result[gl_GlobalInvocationID.x] = sum;
}
