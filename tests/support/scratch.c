// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

const char *scratch_create(void) {
  snprintf(folder, sizeof folder, "/tmp/weir-test-XXXXXX");
  if (mkdtemp(folder) == NULL || setenv("WEIR_CACHE", folder, 1) != 0) abort();
  return folder;
}

// Calls `use` (may be NULL) for each file.
static size_t visit(char path[PATH_MAX], int (*use)(const char *path)) {
  size_t count = 0;
  path[0] = 0;
  DIR *stream = opendir(folder);
  for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, PATH_MAX, "%s/%s", folder, entry->d_name);
    count++;
    if (use != NULL) use(path);
  }
  if (stream != NULL) closedir(stream);
  return count;
}

size_t scratch_files(char path[PATH_MAX]) {
  return visit(path, NULL);
}

void scratch_remove(void) {
  char path[PATH_MAX];
  visit(path, unlink);
  rmdir(folder);
  unsetenv("WEIR_CACHE");
}
