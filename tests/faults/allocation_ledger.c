// SPDX-License-Identifier: Apache-2.0
#include "allocation_ledger.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static _Atomic int64_t live;

int64_t ledger_live(void) {
  return atomic_load(&live);
}

static int count_entries(const char *path) {
  DIR *folder = opendir(path);
  if (folder == NULL) return -1;
  int count = 0;
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count - 2;
}

static int count_threads(void) {
#ifdef __SANITIZE_THREAD__
  return count_entries("/proc/self/task") - 1; // the sanitizer has one of its own
#else
  return count_entries("/proc/self/task");
#endif
}

int ledger_threads(int expected) {
  int count = count_threads();
  for (int i = 0; i < 10000 && count > expected; i++) {
    usleep(1000);
    count = count_threads();
  }
  return count;
}

int ledger_threads_settled(void) {
  int count = count_threads();
  for (int same = 0, i = 0; same < 200 && i < 10000; i++) {
    usleep(1000);
    int now = count_threads();
    same = now == count ? same + 1 : 0;
    count = now;
  }
  return count;
}

int ledger_files(void) {
  return count_entries("/proc/self/fd");
}

static void *noted(void *memory) {
  if (memory != NULL) atomic_fetch_add(&live, 1);
  return memory;
}

// What --wrap=weir__allocate etc. call in place of the functions of base/allocate.h.
void *__real_weir__allocate(size_t bytes);
void *__real_weir__allocate_zeroed(size_t bytes);
void *__real_weir__allocate_sparse(size_t bytes);
char *__real_weir__allocate_string(const char *text);
void __real_weir__free(void *memory);
void __real_weir__free_sparse(void *memory, size_t bytes);
void *__wrap_weir__allocate(size_t bytes);
void *__wrap_weir__allocate_zeroed(size_t bytes);
void *__wrap_weir__allocate_sparse(size_t bytes);
char *__wrap_weir__allocate_string(const char *text);
void __wrap_weir__free(void *memory);
void __wrap_weir__free_sparse(void *memory, size_t bytes);

void *__wrap_weir__allocate(size_t bytes) {
  return noted(__real_weir__allocate(bytes));
}

void *__wrap_weir__allocate_zeroed(size_t bytes) {
  return noted(__real_weir__allocate_zeroed(bytes));
}

void *__wrap_weir__allocate_sparse(size_t bytes) {
  return noted(__real_weir__allocate_sparse(bytes));
}

char *__wrap_weir__allocate_string(const char *text) {
  return noted(__real_weir__allocate_string(text));
}

void __wrap_weir__free(void *memory) {
  if (memory != NULL) atomic_fetch_sub(&live, 1);
  __real_weir__free(memory);
}

void __wrap_weir__free_sparse(void *memory, size_t bytes) {
  if (memory != NULL) atomic_fetch_sub(&live, 1);
  __real_weir__free_sparse(memory, bytes);
}
