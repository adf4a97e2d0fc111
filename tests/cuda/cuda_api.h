// SPDX-License-Identifier: Apache-2.0
//
// The facts of the CUDA interface that Weir relies on, as one source per header lists them: cuda_api_ours.c with Weir's
// declarations, cuda_api_theirs.c with the vendor's.
#ifndef WEIR_TESTS_CUDA_API_H
#define WEIR_TESTS_CUDA_API_H

#include <stddef.h>

typedef struct cuda_fact {
  const char *name;
  long long value;
} cuda_fact;

const cuda_fact *cuda_facts_ours(size_t *out_count);
const cuda_fact *cuda_facts_theirs(size_t *out_count);

#endif // WEIR_TESTS_CUDA_API_H
