// SPDX-License-Identifier: Apache-2.0
#include "nccl_case.h"

#include <stdlib.h>

enum { MOST_COUNT = 1 << 10 };

static void (*wanted)(share *s);

static void run(share *s) {
  nccl_stub_reset();
  wanted(s);
  assert_int_equal(nccl_stub_live(), 0);
  assert_int_equal(nccl_stub_violations(), 0);
}

void nccl_run(const weir_context_options *options, void (*test)(share *s)) {
  weir_context_options own = options != NULL ? *options : (weir_context_options){0};
  if (own.devices == NULL) own.devices = "cpu:2,cuda:0,cuda:1";
  setenv("WEIR_NCCL", NCCL_STUB, 1);
  wanted = test;
  share_run_with(&own, run);
}

weir_nccl *nccl_make(const share *s) {
  weir_nccl *nccl;
  share_ok(weir_nccl_create(s->context, NULL, &nccl));
  return nccl;
}

void nccl_buffers(const share *s, uint32_t count, uint32_t first, uint32_t second, weir_buffer *out_buffers[2]) {
  for (int i = 0; i < 2; i++) out_buffers[i] = share_buffer(s, count);
  share_submit(s, s->set, s->cuda, out_buffers[0], count, first, NULL);
  share_submit(s, s->set, s->second, out_buffers[1], count, second, NULL);
}

void nccl_expect(weir_buffer *buffer, uint32_t count, uint32_t value, uint32_t step) {
  uint32_t numbers[MOST_COUNT];
  assert_true(count <= MOST_COUNT);
  share_ok(weir_read(buffer, 0, count * sizeof *numbers, numbers));
  for (uint32_t i = 0; i < count; i++) {
    if (numbers[i] != value + step * i) fail_msg("number %u is %u, not %u", i, numbers[i], value + step * i);
  }
}
