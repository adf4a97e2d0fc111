// SPDX-License-Identifier: Apache-2.0
//
// Uses up to four buffers, and does nothing unless told to: what a dispatch costs to record and to run.
#version 450

layout(local_size_x_id = 0) in;

layout(push_constant) uniform Parameters {
  uint work;
};

#if BUFFERS >= 1
layout(binding = 0) buffer Out {
  uint result;
};
#endif
#if BUFFERS >= 2
layout(binding = 1) readonly buffer In1 {
  uint first;
};
#endif
#if BUFFERS >= 4
layout(binding = 2) readonly buffer In2 {
  uint second;
};
layout(binding = 3) readonly buffer In3 {
  uint third;
};
#endif

void main() {
#if BUFFERS >= 1
  if (work == 0) return;
  uint sum = work;
#if BUFFERS >= 2
  sum += first;
#endif
#if BUFFERS >= 4
  sum += second + third;
#endif
  result = sum;
#endif
}
