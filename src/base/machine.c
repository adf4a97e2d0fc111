// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <sched.h>
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

static uint64_t memory_of(const char *folder) {
  return least(read_limit(folder, "memory.max"), read_limit(folder, "memory.limit_in_bytes"));
}

// Two numbers from one file, or one from each. False: they are not there, or the first one says that there is no quota.
static bool read_quota(const char *folder, const char *quota_name, const char *period_name, long long *out_quota,
                       long long *out_period) {
  char path[PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s/%s", folder, quota_name);
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  bool found = fscanf(file, "%lld", out_quota) == 1;
  if (found && period_name == NULL) found = fscanf(file, "%lld", out_period) == 1;
  fclose(file);
  if (!found || *out_quota <= 0) return false;
  if (period_name != NULL) *out_period = (long long)read_limit(folder, period_name);
  return *out_period > 0;
}

static uint64_t cores_of(const char *folder) {
  long long quota, period;
  if (!read_quota(folder, "cpu.max", NULL, &quota, &period) &&
      !read_quota(folder, "cpu.cfs_quota_us", "cpu.cfs_period_us", &quota, &period))
    return UINT64_MAX;
  return (uint64_t)(quota / period) + (quota % period > 0);
}

// The least of a group and all that it is in.
static uint64_t least_above(const char *root, const char *path, uint64_t (*of)(const char *folder)) {
  char folder[PATH_BYTES];
  int length = snprintf(folder, sizeof folder, "%s%s", root, path);
  if (length < 0 || (size_t)length >= sizeof folder) return UINT64_MAX;
  uint64_t limit = UINT64_MAX;
  size_t root_length = strlen(root);
  for (;;) {
    limit = least(limit, of(folder));
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash < folder + root_length) return limit;
    *slash = '\0';
  }
}

uint64_t weir__cgroup_limit(const char *root, const char *path) {
  return least_above(root, path, memory_of);
}

uint32_t weir__cgroup_cores(const char *root, const char *path) {
  uint64_t cores = least_above(root, path, cores_of);
  return cores < UINT32_MAX ? (uint32_t)cores : UINT32_MAX;
}

// Whether a controller is in a list with commas.
static bool has_controller(const char *list, const char *name) {
  size_t length = strlen(name);
  for (; list != NULL; list = strchr(list, ',')) {
    list += *list == ',';
    if (strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == '\0')) return true;
  }
  return false;
}

// Of the groups that the process is in: "0::PATH" has all of the second version, "N:...memory...:PATH" memory of the first.
static uint64_t own_limit(const char *controller, uint64_t (*of)(const char *folder)) {
  FILE *file = fopen("/proc/self/cgroup", "r");
  if (file == NULL) return UINT64_MAX;
  uint64_t limit = UINT64_MAX;
  char line[PATH_BYTES], root[64];
  snprintf(root, sizeof root, "/sys/fs/cgroup/%s", controller);
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL) continue;
    *path++ = '\0';
    if (controllers[1] == '\0')
      limit = least(limit, least_above("/sys/fs/cgroup", path, of));
    else if (has_controller(controllers + 1, controller))
      limit = least(limit, least_above(root, path, of));
  }
  fclose(file);
  return limit;
}

uint64_t weir__machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  uint64_t machine = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
  uint64_t group = own_limit("memory", memory_of);
  return machine != 0 || group != UINT64_MAX ? least(machine == 0 ? UINT64_MAX : machine, group) : 0;
}

uint32_t weir__machine_cores(void) {
  cpu_set_t allowed;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t cores = online > 0 ? (uint64_t)online : 1;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cores = (uint64_t)CPU_COUNT(&allowed);
  return (uint32_t)least(cores, own_limit("cpu", cores_of));
}
