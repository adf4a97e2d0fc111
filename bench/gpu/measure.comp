// SPDX-License-Identifier: Apache-2.0
//
// One thread looks at the two clocks that a shader can read. It waits for `steps` steps of the device's clock, then until
// `ticks` of it have passed; with neither it only reads it.
#version 450
#extension GL_EXT_shader_realtime_clock : require
#extension GL_ARB_shader_clock : require

layout(local_size_x = 1) in;

layout(push_constant) uniform Parameters {
  uint steps, ticks;
};

layout(binding = 0) writeonly buffer Out {
  uvec2 now;      // the device's clock at the start
  uint step_sum;  // of the steps that were seen
  uint step_low;  // the shortest one
  uint device;    // ticks of the device's clock in the second part
  uint subgroup;  // of the subgroup's
};

void main() {
  now = clockRealtime2x32EXT();
  uint start = clockRealtime2x32EXT().x, last = start, low = 0xffffffffu;
  for (uint i = 0; i < steps; i++) {
    uint next = last;
    while (next == last) next = clockRealtime2x32EXT().x;
    low = min(low, next - last);
    last = next;
  }
  step_sum = last - start;
  step_low = low;
  start = clockRealtime2x32EXT().x;
  uint other = clock2x32ARB().x, passed = 0;
  while (passed < ticks) passed = clockRealtime2x32EXT().x - start;
  device = passed;
  subgroup = clock2x32ARB().x - other;
}
