// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/api.h"

#include "cuda_api_facts.h"

const cuda_fact *cuda_facts_ours(size_t *out_count) {
  *out_count = sizeof FACTS / sizeof FACTS[0];
  return FACTS;
}
