// SPDX-License-Identifier: Apache-2.0
#include "cholesky_factor.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/kernel.h>

#include "kernels.h"
#include "tile_place.h"

extern const weir_kernel_code cholesky_fill; // cholesky_fill.c
enum { FILL_ITEMS = 128 };                   // of its work-groups

void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, status == WEIR_ERROR_UNAVAILABLE ? 3 : 1);
}

void *allocate(size_t count, size_t bytes) {
  void *made = calloc(count, bytes);
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return made;
}

weir_buffer *factor_tile(const factorisation *f, int i, int j) {
  return f->buffers[tiles_number(i, j)];
}

uint64_t factor_tile_bytes(const factorisation *f, int i, int j) {
  return (uint64_t)tiles_rows(&f->tiles, i) * (uint64_t)tiles_rows(&f->tiles, j) * sizeof(double);
}

static uint32_t owner_of(const factorisation *f, int i, int j) {
  if (f->diagonals) return (uint32_t)(i + j) % weir_mpi_size(f->mpi);
  return (uint32_t)(i % f->rows * f->columns + j % f->columns);
}

static weir_buffer **copy_of(const factorisation *f, int i, int j, uint32_t rank) {
  return &f->copies[(uint32_t)tiles_number(i, j) * weir_mpi_size(f->mpi) + rank];
}

// ---------------------------------------------------------------------------------------------------------------
// Kernels and tiles

static void create_kernel(const factorisation *f, const char *name, weir_function function, weir_kernel **out_kernel) {
  require(weir_kernel_create(f->context, name, out_kernel));
  require(f->cublas != NULL ? cublas_set(f->cublas, *out_kernel, name) : weir_kernel_set_cpu(*out_kernel, function));
}

static void create_kernels(factorisation *f, bool on_card) {
  if (on_card && (f->cublas = cublas_open(f->context, f->tiles.tile)) == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  weir_kernel_code fill = cholesky_fill;
  if (!on_card) fill.source = NULL;
  require(weir_kernel_create_from(f->context, &fill, &f->fill));
  create_kernel(f, "potrf", kernel_potrf, &f->potrf);
  create_kernel(f, "trsm", kernel_trsm, &f->trsm);
  create_kernel(f, "syrk", kernel_syrk, &f->syrk);
  create_kernel(f, "gemm", kernel_gemm, &f->gemm);
}

static void create_tile(const factorisation *f, int i, int j) {
  uint64_t bytes = factor_tile_bytes(f, i, j);
  uint32_t owner = owner_of(f, i, j);
  require(weir_mpi_buffer_create(f->mpi, bytes, owner, &f->buffers[tiles_number(i, j)]));
  for (uint32_t rank = 0; f->nccl != NULL && rank < weir_mpi_size(f->mpi); rank++) {
    if (rank != owner) require(weir_mpi_buffer_create(f->mpi, bytes, rank, copy_of(f, i, j, rank)));
  }
}

void factor_create(factorisation *f, bool on_card) {
  int ranks = (int)weir_mpi_size(f->mpi);
  f->rows = 1;
  for (int i = 1; i * i <= ranks; i++) f->rows = ranks % i == 0 ? i : f->rows;
  f->columns = ranks / f->rows;
  size_t stored = (size_t)tiles_stored(&f->tiles);
  f->buffers = allocate(stored, sizeof *f->buffers);
  f->copies = allocate(stored * (size_t)ranks, sizeof *f->copies);
  create_kernels(f, on_card);
  for (int i = 0; i < f->tiles.count; i++) {
    for (int j = 0; j <= i; j++) create_tile(f, i, j);
  }
}

void factor_release(factorisation *f) {
  weir_kernel *const kernels[] = {f->fill, f->potrf, f->trsm, f->syrk, f->gemm};
  require(weir_mpi_finish(f->mpi));
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) require(weir_kernel_release(kernels[i]));
  cublas_close(f->cublas);
  free(f->buffers);
  free(f->copies);
}

// ---------------------------------------------------------------------------------------------------------------
// The loop

// Submits a kernel on tile (i, j), which its owner runs; its first argument is a value, the last one the tile.
static void submit(const factorisation *f, const char *name, weir_kernel *kernel, int i, int j, int priority,
                   const weir_arg *args, uint32_t count, uint32_t groups) {
  char label[48];
  snprintf(label, sizeof label, "%s %d,%d", name, i, j);
  const weir_task task = {.kernel = kernel,
                          .device = f->card,
                          .args = args,
                          .arg_count = count,
                          .priority = priority,
                          .groups = {groups},
                          .label = label};
  require(weir_mpi_submit(f->mpi, &task, WEIR_MPI_OWNER, NULL));
}

static void fill_tile(const factorisation *f, int i, int j) {
  const tiling *tiles = &f->tiles;
  const tile_place at = {tiles->size, i * tiles->tile, j * tiles->tile, tiles_rows(tiles, i), tiles_rows(tiles, j)};
  const weir_arg args[] = {weir_value(&at, sizeof at), weir_writes(factor_tile(f, i, j))};
  submit(f, "fill", f->fill, i, j, 0, args, 2, (uint32_t)((at.rows * at.columns + FILL_ITEMS - 1) / FILL_ITEMS));
}

void factor_fill(const factorisation *f) {
  for (int i = 0; i < f->tiles.count; i++) {
    for (int j = 0; j <= i; j++) fill_tile(f, i, j);
  }
}

// Brings a tile that was factored to all ranks that will read it. Messages need no call: they follow from the tasks.
static void spread(const factorisation *f, int i, int j) {
  uint32_t owner = owner_of(f, i, j), ranks = weir_mpi_size(f->mpi);
  bool read_elsewhere = i != j || f->rows > 1 || f->diagonals;
  if (f->nccl == NULL || !read_elsewhere) return;
  weir_buffer *buffers[ranks];
  for (uint32_t rank = 0; rank < ranks; rank++) buffers[rank] = *copy_of(f, i, j, rank);
  buffers[owner] = factor_tile(f, i, j);
  require(weir_mpi_nccl_broadcast(f->nccl, buffers, 0, WEIR_WHOLE, owner));
}

// A factored tile (i, k) as the rank reads it that runs the task on (row, column).
static weir_arg factored(const factorisation *f, int i, int k, int row, int column) {
  uint32_t rank = owner_of(f, row, column);
  bool copied = f->nccl != NULL && rank != owner_of(f, i, k);
  return weir_reads(copied ? *copy_of(f, i, k, rank) : factor_tile(f, i, k));
}

static void submit_update(const factorisation *f, int i, int j, int k) {
  const tiling *tiles = &f->tiles;
  const tile_shape shape = {tiles_rows(tiles, i), tiles_rows(tiles, j), tiles_rows(tiles, k), i == j};
  const weir_arg updated = weir_updates(factor_tile(f, i, j)), left = factored(f, i, k, i, j);
  if (i == j) {
    const weir_arg args[] = {weir_value(&shape, sizeof shape), left, updated};
    submit(f, "syrk", f->syrk, i, j, 1, args, 3, 0);
  } else {
    const weir_arg args[] = {weir_value(&shape, sizeof shape), left, factored(f, j, k, i, j), updated};
    submit(f, "gemm", f->gemm, i, j, 0, args, 4, 0);
  }
}

// Column k of tiles, then what it takes off the tiles to its right.
static void submit_step(const factorisation *f, int k) {
  const tiling *tiles = &f->tiles;
  int inner = tiles_rows(tiles, k);
  const tile_shape square = {inner, inner, inner, 1};
  const weir_arg diagonal[] = {weir_value(&square, sizeof square), weir_updates(factor_tile(f, k, k))};
  submit(f, "potrf", f->potrf, k, k, 3, diagonal, 2, 0);
  spread(f, k, k);
  for (int i = k + 1; i < tiles->count; i++) {
    const tile_shape shape = {tiles_rows(tiles, i), inner, inner, 0};
    const weir_arg args[] = {weir_value(&shape, sizeof shape), factored(f, k, k, i, k),
                             weir_updates(factor_tile(f, i, k))};
    submit(f, "trsm", f->trsm, i, k, 2, args, 3, 0);
    spread(f, i, k);
  }
  for (int i = k + 1; i < tiles->count; i++) {
    for (int j = k + 1; j <= i; j++) submit_update(f, i, j, k);
  }
}

void factor_submit(const factorisation *f) {
  for (int k = 0; k < f->tiles.count; k++) submit_step(f, k);
}
