// SPDX-License-Identifier: Apache-2.0
#include "cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <weir/enqueue.h>

#include "tile_shape.h"

// The functions that are called, with the types of the libraries' headers.
#define BLAS_FUNCTIONS(X)                                                                                              \
  X(cublasCreate_v2) X(cublasDestroy_v2) X(cublasSetStream_v2) X(cublasDtrsm_v2) X(cublasDsyrk_v2) X(cublasDgemm_v2)
#define SOLVER_FUNCTIONS(X)                                                                                            \
  X(cusolverDnCreate) X(cusolverDnDestroy) X(cusolverDnSetStream) X(cusolverDnDpotrf_bufferSize) X(cusolverDnDpotrf)

typedef struct lane {
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
} lane;

typedef struct card {
  weir_device *device;
  lane *lanes;
  uint32_t lane_count;
} card;

enum { MOST_CARDS = 16 };

struct cublas_library {
#define FIELD(name) __typeof__(&name) name;
  BLAS_FUNCTIONS(FIELD)
  SOLVER_FUNCTIONS(FIELD)
#undef FIELD
  void *blas, *solver; // of dlopen
  int scratch;         // doubles that potrf works in
  card cards[MOST_CARDS];
  uint32_t card_count;
};

static const double one = 1, minus_one = -1;

// ---------------------------------------------------------------------------------------------------------------
// The calls. A lane has handles of its own: no two calls with one lane run at a time, nor does their work on the card.

static cublas_library *library_of(const weir_enqueue *call) {
  return call->data;
}

static lane *lane_of(const weir_enqueue *call) {
  const card *found = library_of(call)->cards;
  while (found->device != call->device) found++;
  return &found->lanes[call->lane];
}

static weir_status said(const weir_enqueue *call, int result, const char *what) {
  if (result == 0) return WEIR_OK;
  char message[80];
  snprintf(message, sizeof message, "%s returned %d", what, result);
  weir_enqueue_fail(call, message);
  return WEIR_ERROR_TASK_FAILED;
}

// Called once for each lane and kernel, before its first call. Libraries set themselves up here, outside any capture.
static weir_status prepare(const weir_enqueue *call) {
  cublas_library *library = library_of(call);
  lane *own = lane_of(call);
  if (own->blas == NULL) {
    weir_status status = said(call, (int)library->cublasCreate_v2(&own->blas), "cublasCreate");
    if (status != WEIR_OK) return status;
  }
  if (own->solver != NULL) return WEIR_OK;
  return said(call, (int)library->cusolverDnCreate(&own->solver), "cusolverDnCreate");
}

static double *tile(const weir_enqueue *call, uint32_t index) {
  return (double *)(uintptr_t)call->args[index].pointer; // NOLINT: an address of the card
}

static cublasHandle_t blas_of(const weir_enqueue *call) {
  cublas_library *library = library_of(call);
  cublasHandle_t blas = lane_of(call)->blas;
  library->cublasSetStream_v2(blas, call->queue);
  return blas;
}

// Whether the matrix was positive definite is in `info`, on the card, which nobody waits for here: the factor has NaNs then.
static weir_status enqueue_potrf(const weir_enqueue *call) {
  cublas_library *library = library_of(call);
  const tile_shape *shape = call->args[0].value;
  cusolverDnHandle_t solver = lane_of(call)->solver;
  double *work = (double *)(uintptr_t)call->scratch.pointer; // NOLINT
  int *info = (int *)(void *)(work + library->scratch);
  library->cusolverDnSetStream(solver, call->queue);
  return said(call,
              (int)library->cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_LOWER, shape->rows, tile(call, 1), shape->rows,
                                             work, library->scratch, info),
              "cusolverDnDpotrf");
}

static weir_status enqueue_trsm(const weir_enqueue *call) {
  const tile_shape *shape = call->args[0].value;
  return said(call,
              (int)library_of(call)->cublasDtrsm_v2(blas_of(call), CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER,
                                                    CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, shape->rows, shape->columns,
                                                    &one, tile(call, 1), shape->columns, tile(call, 2), shape->rows),
              "cublasDtrsm");
}

static weir_status enqueue_syrk(const weir_enqueue *call) {
  const tile_shape *shape = call->args[0].value;
  return said(call,
              (int)library_of(call)->cublasDsyrk_v2(blas_of(call), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, shape->rows,
                                                    shape->inner, &minus_one, tile(call, 1), shape->rows, &one,
                                                    tile(call, 2), shape->rows),
              "cublasDsyrk");
}

static weir_status enqueue_gemm(const weir_enqueue *call) {
  const tile_shape *shape = call->args[0].value;
  return said(call,
              (int)library_of(call)->cublasDgemm_v2(
                  blas_of(call), CUBLAS_OP_N, CUBLAS_OP_T, shape->rows, shape->columns, shape->inner, &minus_one,
                  tile(call, 1), shape->rows, tile(call, 2), shape->columns, &one, tile(call, 3), shape->rows),
              "cublasDgemm");
}

weir_status cublas_set(cublas_library *library, weir_kernel *kernel, const char *name) {
  static const struct {
    const char *name;
    weir_enqueue_function function;
  } known[] = {{"potrf", enqueue_potrf}, {"trsm", enqueue_trsm}, {"syrk", enqueue_syrk}, {"gemm", enqueue_gemm}};
  weir_enqueue_code code = {.prepare = prepare, .data = library};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].name, name) == 0) code.function = known[i].function;
  }
  if (code.function == enqueue_potrf) code.scratch_bytes = (uint64_t)library->scratch * sizeof(double) + sizeof(int);
  return weir_kernel_set_enqueue(kernel, "cuda", &code);
}

// ---------------------------------------------------------------------------------------------------------------
// Loading

static void *open_one(const char *const *names) {
  void *library = NULL;
  for (; *names != NULL && library == NULL; names++) library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "cholesky: %s\n", dlerror());
  return library;
}

static bool find(void *library, const char *name, void *out_function) {
  void *found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "cholesky: %s\n", dlerror());
  memcpy(out_function, &found, sizeof found);
  return found != NULL;
}

static bool load(cublas_library *library) {
  static const char *const blas[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", NULL};
  static const char *const solver[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
  library->blas = open_one(blas);
  if (library->blas == NULL) return false;
  library->solver = open_one(solver);
  if (library->solver == NULL) return false;
  bool good = true;
#define FIND_BLAS(name) good = good && find(library->blas, #name, &library->name);
#define FIND_SOLVER(name) good = good && find(library->solver, #name, &library->name);
  BLAS_FUNCTIONS(FIND_BLAS)
  SOLVER_FUNCTIONS(FIND_SOLVER)
  return good;
}

// What potrf of a tile works in.
static bool measure(cublas_library *library, int rows) {
  cusolverDnHandle_t solver = NULL;
  if (library->cusolverDnCreate(&solver) != CUSOLVER_STATUS_SUCCESS) return false;
  cusolverStatus_t status =
      library->cusolverDnDpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, rows, NULL, rows, &library->scratch);
  library->cusolverDnDestroy(solver);
  return status == CUSOLVER_STATUS_SUCCESS;
}

static bool add_cards(cublas_library *library, const weir_context *context) {
  uint32_t count = weir_context_device_count(context);
  if (count > MOST_CARDS) return false;
  for (uint32_t i = 0; i < count; i++) {
    card *added = &library->cards[library->card_count++];
    added->device = weir_context_device(context, i);
    added->lane_count = weir_device_information(added->device)->enqueue_lanes;
    added->lanes = calloc(added->lane_count, sizeof *added->lanes);
    if (added->lanes == NULL) return false;
  }
  return true;
}

cublas_library *cublas_open(weir_context *context, int rows) {
  cublas_library *library = calloc(1, sizeof *library);
  if (library == NULL) return NULL;
  if (add_cards(library, context) && load(library)) {
    if (measure(library, rows)) return library;
    fprintf(stderr, "cholesky: cuSOLVER does not start\n");
  }
  cublas_close(library);
  return NULL;
}

// The libraries stay loaded: other code of the process may use them.
void cublas_close(cublas_library *library) {
  if (library == NULL) return;
  for (uint32_t i = 0; i < library->card_count; i++) {
    const card *closed = &library->cards[i];
    for (uint32_t j = 0; closed->lanes != NULL && j < closed->lane_count; j++) {
      if (closed->lanes[j].blas != NULL) library->cublasDestroy_v2(closed->lanes[j].blas);
      if (closed->lanes[j].solver != NULL) library->cusolverDnDestroy(closed->lanes[j].solver);
    }
    free(closed->lanes);
  }
  free(library);
}
