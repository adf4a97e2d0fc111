// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in forms.c.
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer In { float ins[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float outs[]; };
layout(push_constant) uniform Values { int rows, columns; } of;
shared float tile[16][17];

void main() {
  ivec2 local = ivec2(gl_LocalInvocationID.xy), group = ivec2(gl_WorkGroupID.xy) * 16;
  int row = group.y + local.y, column = group.x + local.x;
  if (row < of.rows && column < of.columns) tile[local.y][local.x] = ins[row * of.columns + column];
  barrier();
  column = group.x + local.y;
  row = group.y + local.x;
  if (row < of.rows && column < of.columns) outs[column * of.rows + row] = tile[local.x][local.y];
}
