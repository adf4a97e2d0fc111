// SPDX-License-Identifier: Apache-2.0
//
// Hazards: of every small program, and of random ones, against what each byte of memory shows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brute_force.h"

static const weir_mode modes[] = {WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE};

// Two tasks that conflict come one after the other: by address always, by buffer unless renaming parts them.
static void check_order(const small_program *program, weir__plan_mode mode) {
  weir__plan_hazards hazards;
  weir__plan_graph graph;
  uint32_t count = program->program.task_count;
  assert_int_equal(weir__plan_find_hazards(&program->program, mode, &hazards), WEIR_OK);
  assert_int_equal(weir__plan_hazard_graph(count, &hazards, mode == WEIR__PLAN_BUFFER, &graph), WEIR_OK);
  dense_graph dense = dense_from(&graph), closure = dense_closure(&dense);
  uint32_t versions[MAX_TASKS][MAX_BUFFERS] = {{0}}, now[MAX_BUFFERS] = {0};
  for (uint32_t t = 0; t < count; t++) {
    for (uint32_t a = 0; a < program->tasks[t].access_count; a++) {
      const weir__plan_access *later = &program->accesses[t][a];
      const weir__plan_buffer *buffer = &program->buffers[later->buffer];
      now[later->buffer] += later->mode == WEIR_WRITE && later->bytes == buffer->bytes;
      versions[t][later->buffer] = now[later->buffer];
      for (uint32_t p = 0; p < t; p++) {
        for (uint32_t b = 0; b < program->tasks[p].access_count; b++) {
          const weir__plan_access *earlier = &program->accesses[p][b];
          if (earlier->mode == WEIR_READ && later->mode == WEIR_READ) continue;
          if (earlier->bytes == 0 || later->bytes == 0) continue;
          bool by_address = mode == WEIR__PLAN_ADDRESS;
          if (!by_address && earlier->buffer != later->buffer) continue;
          if (!by_address && versions[p][earlier->buffer] != versions[t][later->buffer]) continue;
          uint64_t from = by_address ? buffer->address : 0;
          uint64_t earlier_from = by_address ? program->buffers[earlier->buffer].address : 0;
          uint64_t lo = from + later->offset, earlier_lo = earlier_from + earlier->offset;
          if (lo < earlier_lo + earlier->bytes && earlier_lo < lo + later->bytes) assert_true(closure.edge[p][t]);
        }
      }
    }
  }
  weir__plan_hazards_free(&hazards);
  weir__plan_graph_free(&graph);
}

static void check_program(const small_program *program) {
  for (int mode = WEIR__PLAN_ADDRESS; mode <= WEIR__PLAN_BUFFER; mode++) {
    assert_hazards_are_right(program, (weir__plan_mode)mode);
    check_order(program, (weir__plan_mode)mode);
  }
}

// Four tasks, each with one access of a buffer of two bytes, in every way, or with none.
static void every_small_program(void **state) {
  (void)state;
  static const struct { uint64_t offset, bytes; } ranges[] = {{0, 1}, {1, 1}, {0, 2}};
  enum { WAYS = 10, TASKS = 4 };
  for (uint32_t code = 0; code < WAYS * WAYS * WAYS * WAYS; code++) {
    small_program program;
    small_program_init(&program, 1, TASKS);
    program.buffers[0].bytes = 2;
    uint32_t rest = code;
    for (uint32_t t = 0; t < TASKS; t++, rest /= WAYS) {
      uint32_t way = rest % WAYS;
      if (way < 9) small_program_add(&program, t, modes[way / 3], 0, ranges[way % 3].offset, ranges[way % 3].bytes);
    }
    check_program(&program);
  }
}

// Adds an access at random, unless the task uses one of its bytes already.
static void add_random_access(small_program *program, uint64_t *seed, uint32_t task, bool *used) {
  uint32_t buffer = random_below(seed, program->program.buffer_count);
  uint32_t size = (uint32_t)program->buffers[buffer].bytes;
  bool whole = random_below(seed, 3) == 0;
  uint32_t offset = whole ? 0 : random_below(seed, size + 1);
  uint32_t bytes = whole ? size : random_below(seed, size - offset + 1);
  uint64_t first = program->buffers[buffer].address + offset;
  for (uint32_t byte = 0; byte < bytes; byte++) {
    if (used[first + byte]) return;
  }
  for (uint32_t byte = 0; byte < bytes; byte++) used[first + byte] = true;
  small_program_add(program, task, modes[random_below(seed, 3)], buffer, offset, bytes);
}

// Buffers at random places, which may overlap, as those do that an allocator reuses.
static void random_programs(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int round = 0; round < 3000; round++) {
    small_program program;
    small_program_init(&program, 1 + random_below(&seed, MAX_BUFFERS), 2 + random_below(&seed, 15));
    for (uint32_t b = 0; b < program.program.buffer_count; b++) {
      uint32_t bytes = 1 + random_below(&seed, 10);
      program.buffers[b] = (weir__plan_buffer){bytes, random_below(&seed, MAX_SPACE - bytes)};
    }
    for (uint32_t t = 0; t < program.program.task_count; t++) {
      bool used[MAX_SPACE] = {0};
      for (uint32_t a = random_below(&seed, MAX_ACCESSES + 1); a > 0; a--) add_random_access(&program, &seed, t, used);
    }
    check_program(&program);
  }
}

static void serial_order_is_a_chain(void **state) {
  (void)state;
  small_program program;
  small_program_init(&program, 1, 5);
  program.buffers[0].bytes = 8;
  small_program_add(&program, 0, WEIR_WRITE, 0, 0, 8);
  small_program_add(&program, 4, WEIR_READ, 0, 0, 8);
  weir__plan_hazards hazards;
  assert_int_equal(weir__plan_find_hazards(&program.program, WEIR__PLAN_SERIAL, &hazards), WEIR_OK);
  assert_int_equal(hazards.count, 4);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(hazards.items[i].predecessor, i);
    assert_int_equal(hazards.items[i].successor, i + 1);
    assert_string_equal(weir__plan_kind_name(hazards.items[i].kind), "order");
  }
  weir__plan_hazards_free(&hazards);
}

static void what_follows_a_host_wait_waits(void **state) {
  (void)state;
  small_program program;
  small_program_init(&program, 1, 5);
  program.tasks[1].host_wait = program.tasks[3].host_wait = true;
  for (int mode = WEIR__PLAN_SERIAL; mode <= WEIR__PLAN_BUFFER; mode++) {
    weir__plan_hazards hazards;
    weir__plan_graph graph;
    assert_int_equal(weir__plan_find_hazards(&program.program, (weir__plan_mode)mode, &hazards), WEIR_OK);
    assert_int_equal(weir__plan_hazard_graph(5, &hazards, true, &graph), WEIR_OK);
    dense_graph dense = dense_from(&graph), closure = dense_closure(&dense);
    for (uint32_t p = 0; p < 5; p++) {
      for (uint32_t t = 0; t < 5; t++) {
        bool waits = p < t && (mode == WEIR__PLAN_SERIAL || (p == 1 || p == 3));
        assert_int_equal(closure.edge[p][t], waits);
      }
    }
    assert_string_equal(weir__plan_kind_name(hazards.items[hazards.count - 1].kind), "host wait");
    weir__plan_hazards_free(&hazards);
    weir__plan_graph_free(&graph);
  }
}

static void accesses_of_one_task_do_not_conflict(void **state) {
  (void)state;
  small_program program;
  small_program_init(&program, 1, 2);
  program.buffers[0].bytes = 8;
  for (uint32_t t = 0; t < 2; t++) {
    small_program_add(&program, t, WEIR_WRITE, 0, 2, 4);
    small_program_add(&program, t, WEIR_READ, 0, 0, 4);
  }
  weir__plan_hazards hazards;
  assert_int_equal(weir__plan_find_hazards(&program.program, WEIR__PLAN_BUFFER, &hazards), WEIR_OK);
  static const weir__plan_hazard expected[] = {
      {0, 1, WEIR__PLAN_RAW, false, 0, 2, 4, 0},
      {0, 1, WEIR__PLAN_WAW, false, 0, 2, 6, 0},
  };
  assert_int_equal(hazards.count, 2);
  for (size_t i = 0; i < 2; i++) {
    const weir__plan_hazard *is = &hazards.items[i], *should = &expected[i];
    assert_true(is->kind == should->kind && is->lo == should->lo && is->hi == should->hi && !is->vanishes);
    assert_true(is->predecessor == 0 && is->successor == 1 && is->buffer == 0 && is->predecessor_buffer == 0);
  }
  weir__plan_hazards_free(&hazards);
}

static void refused(const small_program *program, weir__plan_mode mode, const char *text) {
  weir__plan_hazards hazards;
  assert_int_equal(weir__plan_find_hazards(&program->program, mode, &hazards), WEIR_ERROR_INVALID_ARGUMENT);
  assert_null(hazards.items);
  if (!strstr(weir_last_error(), text)) fail_msg("\"%s\" does not say \"%s\"", weir_last_error(), text);
}

static void bad_programs_are_refused(void **state) {
  (void)state;
  static const struct {
    weir__plan_access access;
    const char *text;
  } wrong[] = {
      {{WEIR_READ, 2, 0, 1}, "task 1 accesses buffer 2 of 2"},
      {{WEIR_VALUE, 1, 0, 1}, "task 1 accesses buffer 1 in the unknown mode 0"},
      {{(weir_mode)9, 1, 0, 1}, "unknown mode 9"},
      {{WEIR_READ, 1, 9, 0}, "task 1 accesses 0 bytes from byte 9 of buffer 1, which has 8"},
      {{WEIR_WRITE, 1, 4, 5}, "task 1 accesses 5 bytes from byte 4 of buffer 1"},
      {{WEIR_WRITE, 1, 4, UINT64_MAX}, "task 1 accesses"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    small_program program;
    small_program_init(&program, 2, 2);
    program.buffers[0].bytes = program.buffers[1].bytes = 8;
    small_program_add(&program, 0, WEIR_WRITE, 0, 0, 8);
    const weir__plan_access *access = &wrong[i].access;
    small_program_add(&program, 1, access->mode, access->buffer, access->offset, access->bytes);
    for (int mode = WEIR__PLAN_SERIAL; mode <= WEIR__PLAN_BUFFER; mode++)
      refused(&program, (weir__plan_mode)mode, wrong[i].text);
  }
}

static void buffers_past_the_end_of_memory_are_refused(void **state) {
  (void)state;
  small_program program;
  small_program_init(&program, 2, 1);
  program.buffers[0] = (weir__plan_buffer){8, UINT64_MAX - 8};
  program.buffers[1] = (weir__plan_buffer){UINT64_MAX - 7, 0};
  refused(&program, WEIR__PLAN_BUFFER, "buffer 1 of 18446744073709551608 bytes passes the end of memory");
  program.buffers[0].address++;
  refused(&program, WEIR__PLAN_ADDRESS, "buffer 0 of 8 bytes passes the end of memory");
  program.buffers[0].address--;
  weir__plan_hazards hazards;
  assert_int_equal(weir__plan_find_hazards(&program.program, WEIR__PLAN_ADDRESS, &hazards), WEIR_OK);
  assert_int_equal(hazards.count, 0);
  weir__plan_hazards_free(&hazards);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_small_program),
      cmocka_unit_test(random_programs),
      cmocka_unit_test(serial_order_is_a_chain),
      cmocka_unit_test(what_follows_a_host_wait_waits),
      cmocka_unit_test(accesses_of_one_task_do_not_conflict),
      cmocka_unit_test(bad_programs_are_refused),
      cmocka_unit_test(buffers_past_the_end_of_memory_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
