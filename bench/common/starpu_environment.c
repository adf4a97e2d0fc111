// SPDX-License-Identifier: Apache-2.0
#include "starpu_environment.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char home[] = "/tmp/weir-bench-starpu-XXXXXX"; // a template of mkdtemp

const char *weir__bench_starpu_environment_set(int workers) {
  if (!mkdtemp(home)) return "cannot make a folder in /tmp for StarPU's files";
  char count[16];
  snprintf(count, sizeof(count), "%d", workers);
  setenv("STARPU_HOME", home, 1);
  setenv("STARPU_NCPU", count, 1);
  setenv("STARPU_NCUDA", "0", 1);
  setenv("STARPU_NOPENCL", "0", 1);
  setenv("STARPU_SCHED", "lws", 1);
  setenv("STARPU_CALIBRATE", "0", 1);
  setenv("STARPU_BUS_CALIBRATE", "0", 1);
  setenv("STARPU_SILENT", "1", 1);
  return NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status;
  (void)kind;
  (void)place;
  return remove(path);
}

void weir__bench_starpu_environment_clear(void) {
  if (nftw(home, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0) perror(home);
}
