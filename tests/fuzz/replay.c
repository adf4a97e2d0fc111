// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target on every file of a folder, and on every prefix of the small ones: no fuzzer needed.
// Usage: PROGRAM FOLDER
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST_BYTES = 1 << 22, MOST_BYTES_FOR_PREFIXES = 2000 };

static int run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc(MOST_BYTES);
  if (!file || !data) {
    fprintf(stderr, "%s: cannot be read\n", path);
    return 1;
  }
  size_t bytes = fread(data, 1, MOST_BYTES, file);
  fclose(file);
  size_t shortest = bytes <= MOST_BYTES_FOR_PREFIXES ? 0 : bytes;
  for (size_t size = shortest; size <= bytes; size++) {
    uint8_t *copy = malloc(size > 0 ? size : 1); // of its own, so that a sanitizer sees reads past the end
    if (!copy) return 1;
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
  }
  free(data);
  return 0;
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  int files = 0, failed = 0;
  if (!folder) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[4096];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    failed |= run_file(path);
    files++;
  }
  closedir(folder);
  printf("%d files\n", files);
  return failed || files == 0;
}
