// SPDX-License-Identifier: Apache-2.0
// What spin_device.comp and spin_subgroup.comp share; NOW reads the clock.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SHARED_WORDS = 1;

layout(buffer_reference) writeonly buffer Sink {
  uint value;
};

// With `keep` 0 nothing is written. That it might be keeps the compiler from dropping the loop and the shared memory.
layout(push_constant) uniform Parameters {
  uint ticks;
  uint keep;
  Sink sink;
};

shared uint scratch[SHARED_WORDS];

void main() {
  uint start = NOW, limit = ticks;
  if (keep != 0) {
    scratch[gl_LocalInvocationIndex % SHARED_WORDS] = start;
    barrier();
    limit += scratch[(gl_LocalInvocationIndex + 1) % SHARED_WORDS];
  }
  uint passed = 0;
  while (passed < limit) passed = NOW - start;
  if (keep != 0) sink.value = passed;
}
