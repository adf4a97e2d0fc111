// SPDX-License-Identifier: Apache-2.0
//
// Strided arguments.
#include "weir/box.h"

static weir_arg make(weir_mode mode, weir_buffer *buffer, uint64_t offset, const weir_box *box) {
  return (weir_arg){.mode = mode, .shape = WEIR_BOX, .buffer = buffer, .offset = offset, .value = box};
}

weir_arg weir_reads_box(weir_buffer *buffer, uint64_t offset, const weir_box *box) {
  return make(WEIR_READ, buffer, offset, box);
}

weir_arg weir_writes_box(weir_buffer *buffer, uint64_t offset, const weir_box *box) {
  return make(WEIR_WRITE, buffer, offset, box);
}

weir_arg weir_updates_box(weir_buffer *buffer, uint64_t offset, const weir_box *box) {
  return make(WEIR_READ_WRITE, buffer, offset, box);
}
