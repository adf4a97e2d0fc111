// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in forms.c.
layout(local_size_x = 4, local_size_y = 3, local_size_z = 2) in;
layout(set = 0, binding = 0) writeonly buffer Out { int outs[]; };

void main() {
  uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize, id = gl_GlobalInvocationID;
  uint item = (id.z * size.y + id.y) * size.x + id.x;
  for (uint d = 0; d < 3; d++)
    outs[item * 3 + d] = int(gl_LocalInvocationID[d] + 10 * gl_WorkGroupID[d] + 100 * gl_NumWorkGroups[d] +
                             1000 * gl_WorkGroupSize[d]);
}
