// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are loaded at run time: which file is tried, what is missing, what happens when.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/loader.h"

typedef struct functions {
  int (*there)(void);
  int (*not_there)(void);
} functions;

static const char *const NOWHERE[] = {"libweir_nowhere.so.1", "libweir_nowhere.so", NULL};
static const weir__symbol GOOD[] = {WEIR__SYMBOL(functions, there, weir_empty_library, REQUIRED),
                                    WEIR__SYMBOL(functions, not_there, weir_not_there, OPTIONAL)};
static const weir__symbol LACKING[] = {WEIR__SYMBOL(functions, there, weir_empty_library, REQUIRED),
                                       WEIR__SYMBOL(functions, not_there, weir_not_there, REQUIRED)};

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

static weir__library library(weir__symbols symbols, void *table) {
  return (weir__library){.name = "toy driver",
                         .lacks = "the toy lacks",
                         .variable = "WEIR_TEST_TOY",
                         .files = NOWHERE,
                         .symbols = symbols,
                         .table = table};
}

static void test_missing(void **state) {
  (void)state;
  functions table = {0};
  char reason[512];
  weir__library toy = library((weir__symbols)WEIR__SYMBOLS_OF(LACKING), &table);
  unsetenv("WEIR_TEST_TOY");
  assert_null(weir__library_load(&toy, reason, sizeof reason));
  expect(reason, "no toy driver: libweir_nowhere.so.1: cannot open");
  setenv("WEIR_TEST_TOY", "/nowhere/toy.so", 1);
  assert_null(weir__library_load(&toy, reason, sizeof reason));
  expect(reason, "no toy driver: /nowhere/toy.so: cannot open");
  setenv("WEIR_TEST_TOY", EMPTY_LIBRARY, 1);
  assert_null(weir__library_load(&toy, reason, sizeof reason));
  expect(reason, EMPTY_LIBRARY ": the toy lacks weir_not_there");
}

static int other(void) {
  return 1;
}

static void test_loaded(void **state) {
  (void)state;
  functions table = {.not_there = other};
  char reason[512];
  weir__library toy = library((weir__symbols)WEIR__SYMBOLS_OF(GOOD), &table);
  unsetenv("WEIR_TEST_TOY");
  assert_null(weir__library_load(&toy, reason, sizeof reason));
  setenv("WEIR_TEST_TOY", EMPTY_LIBRARY, 1); // a later call tries again
  assert_ptr_equal(weir__library_load(&toy, reason, sizeof reason), &table);
  assert_int_equal(table.there(), 0);
  assert_null(table.not_there);
  setenv("WEIR_TEST_TOY", "/nowhere/toy.so", 1); // and what is loaded stays
  assert_ptr_equal(weir__library_load(&toy, reason, sizeof reason), &table);
}

static int starts;

static bool start(void *table, char *reason, size_t size) {
  assert_int_equal(((functions *)table)->there(), 0);
  snprintf(reason, size, "it sleeps");
  return ++starts == 2;
}

static void test_start(void **state) {
  (void)state;
  functions table = {0};
  char reason[512];
  weir__library toy = library((weir__symbols)WEIR__SYMBOLS_OF(GOOD), &table);
  toy.start = start;
  setenv("WEIR_TEST_TOY", EMPTY_LIBRARY, 1);
  assert_null(weir__library_load(&toy, reason, sizeof reason));
  assert_string_equal(reason, "it sleeps");
  assert_non_null(weir__library_load(&toy, reason, sizeof reason));
  assert_non_null(weir__library_load(&toy, reason, sizeof reason));
  assert_int_equal(starts, 2);
}

// Where the loader of the system does not look.
static void test_folders(void **state) {
  (void)state;
  functions table = {0};
  char reason[512], folder[] = "/tmp/weir_loader_XXXXXX", path[128], file[256];
  static const char *const FILES[] = {"libweir_toy.so.2", "libweir_toy.so.1", NULL};
  weir__library toy = library((weir__symbols)WEIR__SYMBOLS_OF(GOOD), &table);
  toy.files = FILES;
  toy.home_variable = "WEIR_TEST_TOY_HOME";
  toy.home = "/nowhere/toy";
  unsetenv("WEIR_TEST_TOY");
  unsetenv("WEIR_TEST_TOY_HOME");
  assert_null(weir__library_load(&toy, reason, sizeof reason));
  expect(reason, "no toy driver: libweir_toy.so.2: cannot open");
  expect(reason, " (nor in $WEIR_TEST_TOY_HOME/lib64 or /nowhere/toy/lib64)");
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/lib64", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(file, sizeof file, "%s/libweir_toy.so.1", path);
  assert_int_equal(symlink(EMPTY_LIBRARY, file), 0);
  setenv("WEIR_TEST_TOY_HOME", folder, 1);
  assert_non_null(weir__library_load(&toy, reason, sizeof reason));
  assert_int_equal(unlink(file), 0);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_missing), cmocka_unit_test(test_loaded),
                                     cmocka_unit_test(test_start), cmocka_unit_test(test_folders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
