// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <nvrtc.h>

#include "cuda_api_facts.h"

#if CUDA_VERSION >= 12040 // since then the header has all that Weir uses
const cuda_fact *cuda_facts_theirs(size_t *out_count) {
  *out_count = sizeof FACTS / sizeof FACTS[0];
  return FACTS;
}

// The list of functions, with the vendor's types in place of api.h: each must have the type that the vendor declares.
#define WEIR_DEVICE_CUDA_API_H
#include "device/cuda/symbols.h"

#define SAME_TYPE(result, symbol, parameters)                                                                          \
  _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), result(*) parameters), "the type of a function");
#define DRIVER(member, symbol, need, parameters) SAME_TYPE(CUresult, symbol, parameters)
#define COMPILER(member, symbol, need, parameters) SAME_TYPE(nvrtcResult, symbol, parameters)
WEIR__CUDA_SYMBOLS(DRIVER)
WEIR__NVRTC_SYMBOLS(COMPILER)
#else
const cuda_fact *cuda_facts_theirs(size_t *out_count) {
  *out_count = 0;
  return FACTS;
}
#endif
