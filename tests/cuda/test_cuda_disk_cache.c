// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
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

#include "base/allocate.h"
#include "base/disk_cache.h"
#include "base/hash.h"
#include "scratch.h"

static int create(void **state) {
  *state = (void *)(uintptr_t)scratch_create();
  return 0;
}

static int clean(void **state) {
  (void)state;
  scratch_remove();
  return 0;
}

static void put(const char *key, const char *value) {
  weir__disk_cache_put(key, strlen(key), value, strlen(value));
}

// Whether the cache has `value` for `key`; fails if it has another.
static bool has(const char *key, const char *value) {
  void *found = NULL;
  size_t bytes = 0;
  if (!weir__disk_cache_get(key, strlen(key), &found, &bytes)) {
    assert_null(found);
    return false;
  }
  assert_int_equal(bytes, strlen(value));
  assert_memory_equal(found, value, bytes);
  weir__free(found);
  return true;
}

static void test_hash(void **state) {
  (void)state; // of the definition of FNV-1a: the offset basis, and "a"
  weir__hash empty = weir__hash_of("", 0), a = weir__hash_of("a", 1);
  assert_true(empty.high == 0x6c62272e07bb0142u && empty.low == 0x62b821756295c58du);
  assert_true(a.high == 0xd228cb696f1a8cafu && a.low == 0x78912b704e4a8964u);
}

static void test_round_trip(void **state) {
  (void)state;
  char path[PATH_MAX];
  assert_false(has("key", "value"));
  put("key", "value");
  assert_true(has("key", "value"));
  assert_false(has("other", ""));
  put("other", "another value");
  put("key", "value");
  assert_true(has("key", "value"));
  assert_true(has("other", "another value"));
  assert_int_equal(scratch_files(path), 2); // and nothing temporary
}

// Every bit of a file matters: where one is wrong, the entry is not found.
static void test_damage(void **state) {
  (void)state;
  char path[PATH_MAX];
  put("key", "value");
  assert_int_equal(scratch_files(path), 1);
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  int file = open(path, O_RDWR);
  assert_true(file >= 0);
  for (off_t i = 0; i < status.st_size; i++) {
    unsigned char byte = 0, wrong;
    assert_int_equal(pread(file, &byte, 1, i), 1);
    wrong = byte ^ (unsigned char)(1 << (i % 8));
    assert_int_equal(pwrite(file, &wrong, 1, i), 1);
    assert_false(has("key", "value"));
    assert_int_equal(pwrite(file, &byte, 1, i), 1);
  }
  assert_true(has("key", "value"));
  for (off_t i = 0; i < status.st_size; i++) {
    assert_int_equal(ftruncate(file, status.st_size - 1 - i), 0);
    assert_false(has("key", "value"));
  }
  close(file);
  put("key", "value");
  assert_true(has("key", "value"));
}

// An entry under a name that another key has, too: its own key tells.
static void test_collision(void **state) {
  (void)state;
  char path[PATH_MAX], other[PATH_MAX];
  put("key", "value");
  scratch_files(path);
  weir__hash hash = weir__hash_of("yek", 3);
  snprintf(other, sizeof other, "%s/%016llx%016llx%s", (const char *)*state, (unsigned long long)hash.high,
           (unsigned long long)hash.low, strrchr(path, '.'));
  assert_int_equal(rename(path, other), 0);
  assert_false(has("yek", "value"));
}

static void test_folders(void **state) {
  char path[PATH_MAX];
  const char *folder = *state;
  char deep[PATH_MAX];
  snprintf(deep, sizeof deep, "%s/cache", folder);
  unsetenv("WEIR_CACHE");
  setenv("XDG_CACHE_HOME", deep, 1);
  put("key", "value");
  assert_true(has("key", "value"));
  setenv("WEIR_CACHE", "", 1); // off
  assert_false(has("key", "value"));
  put("key", "value");
  setenv("WEIR_CACHE", folder, 1);
  assert_false(has("key", "value"));
  unsetenv("WEIR_CACHE");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", folder, 1);
  assert_false(has("key", "value"));
  put("key", "value");
  assert_true(has("key", "value"));
  char command[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/.cache/weir", folder);
  assert_int_equal(access(path, F_OK), 0);
  snprintf(command, sizeof command, "rm -r '%s' '%s/.cache'", deep, folder);
  assert_int_equal(system(command), 0);
}

// A folder that cannot be made or written is an empty cache. (Root may write everywhere but to what is no folder.)
static void test_unwritable(void **state) {
  (void)state;
  setenv("WEIR_CACHE", "/dev/null/cache", 1);
  put("key", "value");
  assert_false(has("key", "value"));
  weir__disk_cache_trim(0);
  setenv("WEIR_CACHE", "/proc/weir/cache", 1);
  put("key", "value");
  assert_false(has("key", "value"));
}

// Moves the time of last use of the only entry that has been put since.
static void used_at(const char *folder, const char *key, time_t seconds) {
  char path[PATH_MAX];
  weir__hash hash = weir__hash_of(key, strlen(key));
  snprintf(path, sizeof path, "%s/%016llx%016llx.weircode", folder, (unsigned long long)hash.high,
           (unsigned long long)hash.low);
  struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_bound(void **state) {
  const char *folder = *state;
  char path[PATH_MAX], foreign[PATH_MAX], stale[PATH_MAX];
  struct stat status;
  put("a", "0123");
  scratch_files(path);
  assert_int_equal(stat(path, &status), 0);
  uint64_t entry = (uint64_t)status.st_size;
  put("b", "0123");
  put("c", "0123");
  snprintf(foreign, sizeof foreign, "%s/notes.txt", folder);
  snprintf(stale, sizeof stale, "%s/x.weirtmp", folder);
  close(open(foreign, O_WRONLY | O_CREAT, 0600));
  close(open(stale, O_WRONLY | O_CREAT, 0600));
  used_at(folder, "a", 1000);
  used_at(folder, "b", 2000);
  used_at(folder, "c", 3000);
  weir__disk_cache_trim(3 * entry);
  assert_int_equal(scratch_files(path), 5); // all fits
  assert_true(has("a", "0123"));            // used now: the newest
  weir__disk_cache_trim(3 * entry - 1);
  assert_false(has("b", "0123"));
  assert_int_equal(scratch_files(path), 4);
  struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  assert_int_equal(utimensat(AT_FDCWD, stale, times, 0), 0);
  weir__disk_cache_trim(entry);
  assert_true(has("a", "0123"));
  assert_false(has("c", "0123"));
  assert_int_equal(access(foreign, F_OK), 0);
  assert_int_not_equal(access(stale, F_OK), 0);
  weir__disk_cache_trim(0);
  assert_int_equal(scratch_files(path), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hash),
      cmocka_unit_test_setup_teardown(test_round_trip, create, clean),
      cmocka_unit_test_setup_teardown(test_damage, create, clean),
      cmocka_unit_test_setup_teardown(test_collision, create, clean),
      cmocka_unit_test_setup_teardown(test_folders, create, clean),
      cmocka_unit_test_setup_teardown(test_unwritable, create, clean),
      cmocka_unit_test_setup_teardown(test_bound, create, clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
