// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in boxes_kernels.c.
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1) buffer To { uint to[]; };
struct Part { uint width, pitch, rows, slice_pitch, slices; };
layout(push_constant) uniform Shape { Part from_part, to_part; uint seed, updates; } shape;

uint boxes_at(Part part, uint index) {
  uint row = index / part.width, slice = row / part.rows;
  return slice * part.slice_pitch + (row - slice * part.rows) * part.pitch + index % part.width;
}

void main() {
  uint count = shape.to_part.width * shape.to_part.rows * shape.to_part.slices;
  uint sources = shape.from_part.width * shape.from_part.rows * shape.from_part.slices;
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    uint at = boxes_at(shape.to_part, i), source = (i * 7 + shape.seed) % sources;
    uint word = from[boxes_at(shape.from_part, source)] * 2654435761u + i + shape.seed;
    if (shape.updates != 0) word += to[at] * 40503u;
    to[at] = word ^ (word >> 15);
  }
}
