// SPDX-License-Identifier: Apache-2.0
//
// What the process may use: limits of control groups, which a made-up tree of files has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/machine.h"

static char root[64];

static void write_file(const char *path, const char *text) {
  char whole[256];
  snprintf(whole, sizeof whole, "%s%s", root, path);
  FILE *file = fopen(whole, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int make_tree(void **state) {
  (void)state;
  char path[256];
  snprintf(root, sizeof root, "/tmp/weir-cgroup-XXXXXX");
  if (mkdtemp(root) == NULL) return -1;
  for (int depth = 0; depth < 2; depth++) {
    snprintf(path, sizeof path, depth == 0 ? "%s/outer" : "%s/outer/inner", root);
    if (mkdir(path, 0700) != 0) return -1;
  }
  return 0;
}

static int remove_tree(void **state) {
  (void)state;
  const char *const names[] = {"/outer/inner/memory.max",
                               "/outer/memory.max",
                               "/outer/inner/memory.limit_in_bytes",
                               "/outer/inner/cpu.max",
                               "/outer/cpu.max",
                               "/outer/inner/cpu.cfs_quota_us",
                               "/outer/inner/cpu.cfs_period_us",
                               "/outer/inner",
                               "/outer",
                               ""};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[256];
    snprintf(path, sizeof path, "%s%s", root, names[i]);
    remove(path);
  }
  return 0;
}

static void the_least_limit_of_all_groups_above_counts(void **state) {
  (void)state;
  assert_true(weir__cgroup_limit(root, "/outer/inner") == UINT64_MAX);
  write_file("/outer/inner/memory.max", "max\n");
  assert_true(weir__cgroup_limit(root, "/outer/inner") == UINT64_MAX);
  write_file("/outer/memory.max", "5000\n");
  assert_int_equal(weir__cgroup_limit(root, "/outer/inner"), 5000);
  write_file("/outer/inner/memory.max", "3000\n");
  assert_int_equal(weir__cgroup_limit(root, "/outer/inner"), 3000);
  assert_int_equal(weir__cgroup_limit(root, "/outer"), 5000);
  assert_true(weir__cgroup_limit(root, "/") == UINT64_MAX);
  write_file("/outer/inner/memory.limit_in_bytes", "2000\n");
  assert_int_equal(weir__cgroup_limit(root, "/outer/inner"), 2000);
  assert_true(weir__cgroup_limit(root, "/not/there") == UINT64_MAX);
}

static void the_least_quota_of_all_groups_above_counts(void **state) {
  (void)state;
  assert_true(weir__cgroup_cores(root, "/outer/inner") == UINT32_MAX);
  write_file("/outer/inner/cpu.max", "max 100000\n");
  assert_true(weir__cgroup_cores(root, "/outer/inner") == UINT32_MAX);
  write_file("/outer/cpu.max", "800000 100000\n");
  assert_int_equal(weir__cgroup_cores(root, "/outer/inner"), 8);
  write_file("/outer/inner/cpu.max", "250000 100000\n");
  assert_int_equal(weir__cgroup_cores(root, "/outer/inner"), 3);
  assert_int_equal(weir__cgroup_cores(root, "/outer"), 8);
  assert_true(weir__cgroup_cores(root, "/") == UINT32_MAX);
  write_file("/outer/inner/cpu.max", "max 100000\n");
  write_file("/outer/inner/cpu.cfs_quota_us", "-1\n");
  assert_int_equal(weir__cgroup_cores(root, "/outer/inner"), 8);
  write_file("/outer/inner/cpu.cfs_quota_us", "200000\n"); // of an unknown period
  assert_int_equal(weir__cgroup_cores(root, "/outer/inner"), 8);
  write_file("/outer/inner/cpu.cfs_period_us", "50000\n");
  assert_int_equal(weir__cgroup_cores(root, "/outer/inner"), 4);
  write_file("/outer/inner/cpu.cfs_quota_us", "10000\n"); // a part of a core
  assert_int_equal(weir__cgroup_cores(root, "/outer/inner"), 1);
  assert_true(weir__cgroup_cores(root, "/not/there") == UINT32_MAX);
}

static void the_process_has_no_more_than_the_machine(void **state) {
  (void)state;
  assert_in_range(weir__machine_cores(), 1, sysconf(_SC_NPROCESSORS_ONLN));
  uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  assert_in_range(weir__machine_memory(), 1 << 20, machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_least_limit_of_all_groups_above_counts, make_tree, remove_tree),
      cmocka_unit_test_setup_teardown(the_least_quota_of_all_groups_above_counts, make_tree, remove_tree),
      cmocka_unit_test(the_process_has_no_more_than_the_machine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
