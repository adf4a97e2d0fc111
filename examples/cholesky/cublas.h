// SPDX-License-Identifier: Apache-2.0
//
// The four kernels on CUDA as calls of cuBLAS and cuSOLVER, each on whole tiles by columns, with the arguments of kernels.h.
// The libraries are loaded at run time.
#ifndef CHOLESKY_CUBLAS_H
#define CHOLESKY_CUBLAS_H

#include <weir/weir.h>

// The libraries, and a handle of each for every lane of each device.
typedef struct cublas_library cublas_library;

// Loads the libraries for the context's devices, which are CUDA's, and sees how much scratch memory a tile with `rows` rows
// takes. NULL: prints why not.
cublas_library *cublas_open(weir_context *context, int rows);

// Gives the kernel of this name ("potrf", "trsm", "syrk" or "gemm") its code.
weir_status cublas_set(cublas_library *library, weir_kernel *kernel, const char *name);

// Destroys the handles, after the last task of the kernels. `library` may be NULL.
void cublas_close(cublas_library *library);

#endif // CHOLESKY_CUBLAS_H
