// SPDX-License-Identifier: Apache-2.0
//
// The kernel of rig.h: a work-group is a cell, x its column, y its row in the part.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer In { uint cells[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Out { uint result[]; };
layout(std430, set = 0, binding = 2) readonly buffer Table { uint table[16]; };
layout(push_constant) uniform Values {
  uint rows, width, reach, value;
  uint first, count, total, halo_before, halo_after, dimension, device, index;
};

uint mixed(uint a, uint b) {
  return (a ^ b) * 2654435761u + (a >> 15);
}

void main() {
  int column = int(gl_WorkGroupID.x), part_row = int(gl_WorkGroupID.y), row = int(first) + part_row;
  uint sum = 0;
  for (int other = row - int(reach); other <= row + int(reach); other++) {
    if (other < 0 || other >= int(rows)) continue;
    int here = (other - int(first) + int(halo_before)) * int(width) + column;
    sum = mixed(sum, cells[here] + uint(other - row));
  }
  result[part_row * int(width) + column] = mixed(sum + value, table[uint(row + column) % 16] + uint(row));
}
