// SPDX-License-Identifier: Apache-2.0
#version 450
// The kernel of this name in forms.c.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { uint ins[]; };
layout(set = 0, binding = 1) buffer Counts { uint counts[]; };
layout(set = 0, binding = 2) buffer Extremes { int extremes[]; };
layout(set = 0, binding = 3) buffer Product { uint product[]; };
shared uint part[8];

void main() {
  uint item = gl_LocalInvocationID.x;
  if (item < 8) part[item] = 0;
  barrier();
  uint number = ins[gl_GlobalInvocationID.x];
  atomicAdd(part[number % 8], 1);
  atomicMin(extremes[0], int(number));
  atomicMax(extremes[1], int(number));
  uint seen = atomicAdd(product[0], 0), expected;
  do {
    expected = seen;
    seen = atomicCompSwap(product[0], expected, expected * (2 * number + 1));
  } while (seen != expected);
  barrier();
  if (item >= 8) return;
  atomicAdd(counts[item], part[item]);
  atomicMin(counts[8], part[item]);
  atomicMax(counts[9], part[item]);
}
