// SPDX-License-Identifier: Apache-2.0
//
// Arenas: blocks cut from chunks of a slow source.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memory/arena.h"

enum { SMALLEST = 1 << 16, LARGEST = 1 << 18 };

static struct {
  uint32_t chunks; // that are out
  uint32_t made;
  bool empty;    // the source has nothing
  uint32_t most; // chunks that it has at a time; 0: any number
  uint64_t last_bytes;
} source;

static void *allocate(void *user, uint64_t bytes) {
  (void)user;
  if (source.empty || (source.most > 0 && source.chunks == source.most)) return NULL;
  source.chunks++;
  source.made++;
  source.last_bytes = bytes;
  return aligned_alloc(WEIR__ARENA_ALIGNMENT, bytes);
}

static void give_back(void *user, void *memory) {
  (void)user;
  source.chunks--;
  free(memory);
}

static weir__arena arena;
static weir__memory_source blocks;

static int set_up(void **state) {
  (void)state;
  static const weir__memory_source from = {.allocate = allocate, .free = give_back};
  source.chunks = source.made = 0;
  source.empty = false;
  source.most = 0;
  weir__arena_initialize(&arena, &from, SMALLEST, LARGEST);
  blocks = weir__arena_source(&arena);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__arena_deinitialize(&arena);
  assert_int_equal(source.chunks, 0);
  return 0;
}

static void blocks_are_aligned_and_apart(void **state) {
  (void)state;
  unsigned char *before = NULL;
  for (uint64_t bytes = 1; bytes < 2000; bytes += 333) {
    unsigned char *block = blocks.allocate(blocks.user, bytes);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % WEIR__ARENA_ALIGNMENT, 0);
    assert_ptr_not_equal(block, before);
    for (uint64_t i = 0; i < bytes; i++) block[i] = (unsigned char)bytes;
    if (before != NULL) assert_int_equal(before[0], (unsigned char)(bytes - 333));
    before = block;
  }
  assert_int_equal(source.made, 1);
}

static void a_chunk_is_used_again_when_all_its_blocks_are_back(void **state) {
  (void)state;
  enum { COUNT = SMALLEST / WEIR__ARENA_ALIGNMENT };
  void *all[COUNT];
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < COUNT; i++) all[i] = blocks.allocate(blocks.user, WEIR__ARENA_ALIGNMENT);
    for (int i = 0; i < COUNT; i++) blocks.free(blocks.user, all[i]);
  }
  assert_int_equal(source.made, 1);
  assert_int_equal(source.chunks, 1);
}

// Where the source has no more, chunks that nobody uses go back to it.
static void unused_chunks_make_room(void **state) {
  (void)state;
  source.most = 2;
  void *small = blocks.allocate(blocks.user, 100), *kept = blocks.allocate(blocks.user, SMALLEST);
  assert_non_null(kept);
  assert_null(blocks.allocate(blocks.user, LARGEST));
  blocks.free(blocks.user, small);
  void *large = blocks.allocate(blocks.user, LARGEST);
  assert_non_null(large);
  assert_int_equal(source.chunks, 2);
  blocks.free(blocks.user, kept);
  blocks.free(blocks.user, large);
  assert_int_equal(source.chunks, 0);
}

static void chunks_grow_to_the_largest(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) assert_non_null(blocks.allocate(blocks.user, SMALLEST / 8));
  assert_int_equal(source.last_bytes, LARGEST);
}

static void a_large_block_has_a_chunk_that_is_returned_with_it(void **state) {
  (void)state;
  void *block = blocks.allocate(blocks.user, 10 * (uint64_t)LARGEST);
  assert_int_equal(source.last_bytes, 10 * (uint64_t)LARGEST);
  blocks.free(blocks.user, block);
  assert_int_equal(source.chunks, 0);
}

static void what_was_reserved_is_used_first(void **state) {
  (void)state;
  assert_true(weir__arena_reserve(&arena, 4 * (uint64_t)LARGEST));
  for (int i = 0; i < 8; i++) assert_non_null(blocks.allocate(blocks.user, LARGEST / 2));
  assert_int_equal(source.made, 1);
}

static void a_source_without_memory_gives_none(void **state) {
  (void)state;
  source.empty = true;
  assert_null(blocks.allocate(blocks.user, 64));
  assert_false(weir__arena_reserve(&arena, SMALLEST));
  source.empty = false;
  assert_non_null(blocks.allocate(blocks.user, 64));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(blocks_are_aligned_and_apart, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_chunk_is_used_again_when_all_its_blocks_are_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(unused_chunks_make_room, set_up, tear_down),
      cmocka_unit_test_setup_teardown(chunks_grow_to_the_largest, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_large_block_has_a_chunk_that_is_returned_with_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_was_reserved_is_used_first, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_source_without_memory_gives_none, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
