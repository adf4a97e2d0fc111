// SPDX-License-Identifier: Apache-2.0
//
// Memory for messages: what is kept, who gets it, and how much is kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pool.h"

static void *take(weir__mpi_pool *pool, size_t bytes, size_t least, size_t most) {
  size_t has;
  void *memory = weir__mpi_pool_take(pool, bytes, &has);
  assert_non_null(memory);
  assert_int_equal((uintptr_t)memory % WEIR__MPI_POOL_ALIGNMENT, 0);
  assert_in_range(has, least, most);
  return memory;
}

static void test_small(void **state) {
  (void)state;
  weir__mpi_pool pool = {0};
  weir__mpi_pool_initialize(&pool);
  void *a = take(&pool, 64, WEIR__MPI_POOL_BYTES, WEIR__MPI_POOL_BYTES);
  weir__mpi_pool_give(&pool, a, WEIR__MPI_POOL_BYTES);
  assert_ptr_equal(take(&pool, WEIR__MPI_POOL_BYTES, WEIR__MPI_POOL_BYTES, WEIR__MPI_POOL_BYTES), a);
  weir__mpi_pool_give(&pool, a, WEIR__MPI_POOL_BYTES);
  void *middle = take(&pool, 3 * WEIR__MPI_POOL_BYTES, 3 * WEIR__MPI_POOL_BYTES, 3 * WEIR__MPI_POOL_BYTES);
  weir__mpi_pool_give(&pool, middle, 3 * WEIR__MPI_POOL_BYTES); // neither small nor large: not kept
  assert_int_equal(pool.count, 1);
  assert_int_equal(pool.large_count, 0);
  weir__mpi_pool_deinitialize(&pool);
}

// Who asks for as much, or for up to a fifth less, gets memory that was given back; the smallest that will do.
static void test_large(void **state) {
  enum { MIB = 1 << 20 };
  (void)state;
  weir__mpi_pool pool = {0};
  weir__mpi_pool_initialize(&pool);
  void *whole = take(&pool, 10 * MIB, 10 * MIB, 10 * MIB), *more = take(&pool, 11 * MIB, 11 * MIB, 11 * MIB);
  weir__mpi_pool_give(&pool, whole, 10 * MIB);
  weir__mpi_pool_give(&pool, more, 11 * MIB);
  void *half = take(&pool, 5 * MIB, 5 * MIB, 5 * MIB);
  assert_ptr_not_equal(half, whole);
  assert_ptr_not_equal(half, more);
  assert_ptr_equal(take(&pool, 9 * MIB, 10 * MIB, 10 * MIB), whole);
  assert_ptr_equal(take(&pool, 9 * MIB, 11 * MIB, 11 * MIB), more);
  assert_int_equal(pool.large_bytes, 0);
  weir__mpi_pool_give(&pool, whole, 10 * MIB);
  weir__mpi_pool_give(&pool, more, 11 * MIB);
  weir__mpi_pool_give(&pool, half, 5 * MIB);
  assert_int_equal(pool.large_bytes, 26 * MIB);
  weir__mpi_pool_deinitialize(&pool);
}

// What was given back first goes first.
static void test_limits(void **state) {
  enum { BLOCKS = WEIR__MPI_POOL_MOST_LARGE + 3 };
  (void)state;
  void *blocks[BLOCKS];
  weir__mpi_pool pool = {0};
  weir__mpi_pool_initialize(&pool);
  for (int i = 0; i < BLOCKS; i++) blocks[i] = take(&pool, WEIR__MPI_POOL_LARGE, WEIR__MPI_POOL_LARGE, SIZE_MAX);
  for (int i = 0; i < BLOCKS; i++) weir__mpi_pool_give(&pool, blocks[i], WEIR__MPI_POOL_LARGE);
  assert_int_equal(pool.large_count, WEIR__MPI_POOL_MOST_LARGE);
  for (int i = BLOCKS - 1; i >= 3; i--) assert_ptr_equal(take(&pool, WEIR__MPI_POOL_LARGE, 1, SIZE_MAX), blocks[i]);
  assert_int_equal(pool.large_count, 0);
  for (int i = 3; i < BLOCKS; i++) weir__mpi_pool_give(&pool, blocks[i], WEIR__MPI_POOL_LARGE);
  const size_t large = WEIR__MPI_POOL_KEPT / 2 + 64, whole = (size_t)WEIR__MPI_POOL_KEPT + 64;
  void *first = take(&pool, large, large, large), *second = take(&pool, large, large, large);
  void *too_much = take(&pool, whole, whole, whole);
  weir__mpi_pool_give(&pool, first, large);
  weir__mpi_pool_give(&pool, second, large);
  assert_int_equal(pool.large_count, 1);
  assert_ptr_equal(pool.large, second);
  weir__mpi_pool_give(&pool, too_much, whole);
  assert_int_equal(pool.large_count, 0);
  weir__mpi_pool_deinitialize(&pool);
}

// Who must not call the driver gets pinned memory that is there and less than twice as large, and otherwise memory of the heap.
static void test_there(void **state) {
  enum { MIB = 1 << 20 };
  (void)state;
  weir_context *context;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context), WEIR_OK);
  weir__mpi_pool pool = {0};
  weir__mpi_pool_initialize(&pool);
  pool.device = weir_context_device(context, 0); // memory of weir_host_allocate stands for pinned memory
  size_t has;
  void *heap = weir__mpi_pool_take_there(&pool, MIB, &has);
  assert_non_null(heap);
  assert_false(weir__mpi_pool_is_pinned(&pool, heap, has));
  assert_int_equal(pool.pinned_bytes, 0);
  weir__mpi_pool_give(&pool, heap, has);
  void *pinned = take(&pool, MIB / 8 * 15, MIB / 8 * 15, MIB / 8 * 15);
  assert_true(weir__mpi_pool_is_pinned(&pool, pinned, MIB / 8 * 15));
  weir__mpi_pool_give(&pool, pinned, MIB / 8 * 15);
  assert_ptr_equal(weir__mpi_pool_take_there(&pool, MIB / 8 * 7, &has), heap);
  weir__mpi_pool_give(&pool, heap, has);
  assert_ptr_equal(weir__mpi_pool_take_there(&pool, MIB, &has), pinned);
  assert_int_equal(has, MIB / 8 * 15);
  weir__mpi_pool_give(&pool, pinned, has);
  weir__mpi_pool_deinitialize(&pool);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_large),
                                     cmocka_unit_test(test_limits), cmocka_unit_test(test_there)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
