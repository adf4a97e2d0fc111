// SPDX-License-Identifier: Apache-2.0
#include "weir/reduce.h"

weir_arg weir_commutes(weir_buffer *buffer) {
  return weir_commutes_range(buffer, 0, WEIR_WHOLE);
}

weir_arg weir_commutes_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return (weir_arg){.mode = WEIR_COMMUTE, .buffer = buffer, .offset = offset, .bytes = bytes};
}

weir_arg weir_reduces(weir_buffer *buffer, const weir_reduction *reduction) {
  return weir_reduces_range(buffer, 0, WEIR_WHOLE, reduction);
}

weir_arg weir_reduces_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes, const weir_reduction *reduction) {
  return (weir_arg){.mode = WEIR_REDUCE, .buffer = buffer, .offset = offset, .bytes = bytes, .value = reduction};
}
