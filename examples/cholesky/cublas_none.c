// SPDX-License-Identifier: Apache-2.0
//
// In place of cublas.c where the headers of cuBLAS and cuSOLVER were not found.
#include <stdio.h>

#include "cublas.h"

cublas_library *cublas_open(weir_context *context, int rows) {
  (void)context, (void)rows;
  fprintf(stderr,
          "cholesky: this program was built without cuBLAS: the headers cublas_v2.h and cusolverDn.h were missing\n");
  return NULL;
}

weir_status cublas_set(cublas_library *library, weir_kernel *kernel, const char *name) {
  (void)library, (void)kernel, (void)name;
  return WEIR_ERROR_UNAVAILABLE;
}

void cublas_close(cublas_library *library) {
  (void)library;
}
