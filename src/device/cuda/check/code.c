// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check/source.h"
#include "weir/cuda.h"

enum { THREADS = 256 };

const char *weir__check_code = weir__check_source;

weir_status weir__cuda_check_code(weir_kernel *kernel, const char *entry) {
  const weir_cuda_code code = {.source = weir__check_code};
  return weir_kernel_set_cuda(kernel, &code, &(weir_cuda_launch){.function = entry, .block = {THREADS, 1, 1}}, 1);
}
