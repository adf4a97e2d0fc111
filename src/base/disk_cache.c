// SPDX-License-Identifier: Apache-2.0
#include "base/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/hash.h"

static const char SUFFIX[] = ".weircode", TEMPORARY[] = ".weirtmp";
enum { ABANDONED_SECONDS = 3600 }; // a temporary file of this age has no writer any more

// A file: this head, the key, the value.
typedef struct entry_head {
  char magic[8];
  uint64_t key_bytes, value_bytes;
  weir__hash value_hash;
} entry_head;

static const char MAGIC[8] = "weir 1\n";

// "Path" of the folder; false: the cache is off.
static bool folder_path(char path[PATH_MAX]) {
  const char *own = getenv("WEIR_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length;
  if (own != NULL)
    length = snprintf(path, PATH_MAX, "%s", own);
  else if (cache != NULL && cache[0] == '/')
    length = snprintf(path, PATH_MAX, "%s/weir", cache);
  else if (home != NULL && home[0] != 0)
    length = snprintf(path, PATH_MAX, "%s/.cache/weir", home);
  else
    return false;
  return length > 0 && length < PATH_MAX;
}

bool weir__disk_cache_is_on(void) {
  char path[PATH_MAX];
  return folder_path(path);
}

// Makes the folder and those above it, and opens it; -1: none.
static int open_folder(bool make) {
  char path[PATH_MAX];
  if (!folder_path(path)) return -1;
  for (char *slash = strchr(path + 1, '/'); make && slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  if (make) mkdir(path, 0700);
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void entry_name(const void *key, size_t key_bytes, char name[64]) {
  weir__hash hash = weir__hash_of(key, key_bytes);
  snprintf(name, 64, "%016llx%016llx%s", (unsigned long long)hash.high, (unsigned long long)hash.low, SUFFIX);
}

static bool read_all(int file, void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = read(file, (char *)bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return true;
}

static bool write_all(int file, const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = write(file, (const char *)bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return true;
}

// The value of an open file if the file is whole and of this key; else NULL.
static void *read_value(int file, const void *key, size_t key_bytes, size_t *out_bytes) {
  entry_head head;
  struct stat status;
  if (fstat(file, &status) != 0 || !read_all(file, &head, sizeof head)) return NULL;
  uint64_t rest = (uint64_t)status.st_size - sizeof head;
  if (memcmp(head.magic, MAGIC, sizeof MAGIC) != 0 || head.key_bytes != key_bytes || rest < key_bytes ||
      head.value_bytes != rest - key_bytes || head.value_bytes == 0)
    return NULL;
  char *bytes = weir__allocate((size_t)rest);
  if (bytes == NULL) return NULL;
  size_t value_bytes = (size_t)head.value_bytes;
  if (!read_all(file, bytes, (size_t)rest) || memcmp(bytes, key, key_bytes) != 0 ||
      !weir__hash_equal(weir__hash_of(bytes + key_bytes, value_bytes), head.value_hash)) {
    weir__free(bytes);
    return NULL;
  }
  memmove(bytes, bytes + key_bytes, value_bytes);
  *out_bytes = value_bytes;
  return bytes;
}

bool weir__disk_cache_get(const void *key, size_t key_bytes, void **out_value, size_t *out_bytes) {
  *out_value = NULL;
  int folder = open_folder(false);
  if (folder < 0) return false;
  char name[64];
  entry_name(key, key_bytes, name);
  int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
  close(folder);
  if (file < 0) return false;
  *out_value = read_value(file, key, key_bytes, out_bytes);
  if (*out_value != NULL) futimens(file, NULL); // the time of its last use
  close(file);
  return *out_value != NULL;
}

static bool write_entry(int file, const void *key, size_t key_bytes, const void *value, size_t bytes) {
  entry_head head = {.key_bytes = key_bytes, .value_bytes = bytes, .value_hash = weir__hash_of(value, bytes)};
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  return write_all(file, &head, sizeof head) && write_all(file, key, key_bytes) && write_all(file, value, bytes);
}

void weir__disk_cache_put(const void *key, size_t key_bytes, const void *value, size_t bytes) {
  int folder = open_folder(true);
  if (folder < 0) return;
  char name[64], temporary[128];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  entry_name(key, key_bytes, name);
  snprintf(temporary, sizeof temporary, "%.32s.%ld.%d.%ld%s", name, (long)getpid(), (int)gettid(), now.tv_nsec,
           TEMPORARY);
  int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) {
    bool written = write_entry(file, key, key_bytes, value, bytes);
    if (close(file) != 0) written = false;
    if (!written || renameat(folder, temporary, folder, name) != 0) unlinkat(folder, temporary, 0);
  }
  close(folder);
  if (file >= 0) weir__disk_cache_trim(WEIR__DISK_CACHE_LIMIT);
}

typedef struct entry {
  char name[64];
  uint64_t bytes;
  struct timespec used;
} entry;

static int compare_use(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  return 0;
}

static bool ends_with(const char *name, const char *suffix) {
  size_t length = strlen(name), end = strlen(suffix);
  return length >= end && strcmp(name + length - end, suffix) == 0;
}

// Lists the cache's files and deletes temporary ones that were left behind. Files of others are not touched.
static entry *list_entries(int folder, DIR *stream, size_t *out_count) {
  entry *entries = NULL;
  size_t count = 0, room = 0;
  for (struct dirent *found = readdir(stream); found != NULL; found = readdir(stream)) {
    struct stat status;
    bool ours = ends_with(found->d_name, SUFFIX) && strlen(found->d_name) < sizeof entries->name;
    bool temporary = ends_with(found->d_name, TEMPORARY);
    if ((!ours && !temporary) || fstatat(folder, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (temporary && time(NULL) - status.st_mtime > ABANDONED_SECONDS) unlinkat(folder, found->d_name, 0);
    if (!ours) continue;
    if (count == room) {
      entry *larger = weir__allocate((room = room * 2 + 64) * sizeof *larger);
      if (larger == NULL) break;
      if (count > 0) memcpy(larger, entries, count * sizeof *larger);
      weir__free(entries);
      entries = larger;
    }
    strcpy(entries[count].name, found->d_name); // its length is checked above
    entries[count].bytes = (uint64_t)status.st_size;
    entries[count++].used = status.st_mtim;
  }
  *out_count = count;
  return entries;
}

void weir__disk_cache_trim(uint64_t limit) {
  int folder = open_folder(false);
  if (folder < 0) return;
  DIR *stream = fdopendir(folder); // owns `folder`
  if (stream == NULL) {
    close(folder);
    return;
  }
  size_t count = 0;
  entry *entries = list_entries(folder, stream, &count);
  uint64_t total = 0;
  for (size_t i = 0; i < count; i++) total += entries[i].bytes;
  if (total > limit) qsort(entries, count, sizeof *entries, compare_use);
  for (size_t i = 0; i < count && total > limit; i++) {
    unlinkat(folder, entries[i].name, 0);
    total -= entries[i].bytes;
  }
  weir__free(entries);
  closedir(stream);
}
