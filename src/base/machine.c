// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

// The number in a file of its own. "max", which is no number, and a file that is not there are UINT64_MAX.
static uint64_t read_limit(const char *folder, const char *name) {
  char path[PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  if (file == NULL) return UINT64_MAX;
  unsigned long long limit;
  bool is_number = fscanf(file, "%llu", &limit) == 1;
  fclose(file);
  return is_number ? limit : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

uint64_t weir__cgroup_limit(const char *root, const char *path) {
  char folder[PATH_BYTES];
  int length = snprintf(folder, sizeof folder, "%s%s", root, path);
  if (length < 0 || (size_t)length >= sizeof folder) return UINT64_MAX;
  uint64_t limit = UINT64_MAX;
  size_t root_length = strlen(root);
  for (;;) {
    limit = least(limit, least(read_limit(folder, "memory.max"), read_limit(folder, "memory.limit_in_bytes")));
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash < folder + root_length) return limit;
    *slash = '\0';
  }
}

// Of the groups that the process is in: "0::PATH" has all of the second version, "N:...memory...:PATH" memory of the first.
static uint64_t own_cgroup_limit(void) {
  FILE *file = fopen("/proc/self/cgroup", "r");
  if (file == NULL) return UINT64_MAX;
  uint64_t limit = UINT64_MAX;
  char line[PATH_BYTES];
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL) continue;
    *path++ = '\0';
    if (controllers[1] == '\0')
      limit = least(limit, weir__cgroup_limit("/sys/fs/cgroup", path));
    else if (strstr(controllers + 1, "memory") != NULL)
      limit = least(limit, weir__cgroup_limit("/sys/fs/cgroup/memory", path));
  }
  fclose(file);
  return limit;
}

uint64_t weir__machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  uint64_t machine = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
  uint64_t group = own_cgroup_limit();
  return machine != 0 || group != UINT64_MAX ? least(machine == 0 ? UINT64_MAX : machine, group) : 0;
}
