// SPDX-License-Identifier: Apache-2.0
#include "program_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program_bodies.kernels.h"
#include "program_runner.h"
#include "weir/cuda.h"

static program_stub stub;

// Looks a function up. The pointer to it is an object's address in dlsym, which C does not convert.
static bool find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  return symbol != NULL;
}

// Work-groups of the stub's: the same as on the CPU.
static void run_groups(const stub_launch *launch, uint64_t first, uint64_t end) {
  body_description description = runner_description(launch->params[0]);
  void *args[BODY_MAX_ARGS + 1] = {launch->params[0]};
  if (launch->param_count != description.arg_count + 1) {
    fprintf(stderr, "%s: %u parameters for %u arguments\n", launch->name, launch->param_count, description.arg_count);
    abort();
  }
  const program_task *task = runner_task(&description);
  for (uint32_t a = 0, next = 0; a < description.arg_count; a++) {
    uint64_t word;
    memcpy(&word, launch->params[a + 1], sizeof word);
    bool value = description.args[a].mode == WEIR_VALUE;
    uint64_t bytes = task == NULL || value ? description.args[a].bytes : task->accesses[next++].bytes;
    args[a + 1] = value ? launch->params[a + 1] : stub.memory(launch, word, bytes);
    if (args[a + 1] == NULL) return; // counted as a violation
  }
  runner_run_groups(args, description.arg_count + 1, launch->grid, first, end);
}

static void run_on_stub(const stub_launch *launch) {
  run_groups(launch, 0, body_group_count(launch->grid));
}

static void run_group_on_stub(const stub_launch *launch, uint64_t group) {
  run_groups(launch, group, group + 1);
}

const program_stub *program_stub_load(void) {
  if (stub.configure != NULL) return &stub;
  const char *path = getenv("WEIR_CUDA_DRIVER");
  void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW);
  if (library == NULL) return NULL;
  program_stub found = {0};
  bool all =
      find(library, "stub_configure", &found.configure) && find(library, "stub_violations", &found.violations) &&
      find(library, "stub_violation_text", &found.violation_text) &&
      find(library, "stub_live_count", &found.live_count) && find(library, "stub_register", &found.register_function) &&
      find(library, "stub_register_groups", &found.register_groups) && find(library, "stub_memory", &found.memory);
  if (!all) return NULL;
  for (int i = 0; i <= BODY_MAX_ARGS; i++) {
    char name[16];
    snprintf(name, sizeof name, "body%d", i);
    found.register_function(name, run_on_stub);
    found.register_groups(name, run_group_on_stub);
  }
  stub = found;
  return &stub;
}

// The module with one function for each number of arguments.
const char *program_cuda_image(bool packed) {
  static char images[2][1024];
  char *image = images[packed];
  if (image[0] != '\0') return image;
  int used = snprintf(image, sizeof images[0], "STUB\n");
  for (int i = 0; i <= BODY_MAX_ARGS; i++) {
    used += snprintf(image + used, sizeof images[0] - (size_t)used, "body%d 1 %zu", i,
                     packed ? sizeof(body_packed) : sizeof(body_description));
    for (int a = 0; a < i; a++) used += snprintf(image + used, sizeof images[0] - (size_t)used, " 8");
    used += snprintf(image + used, sizeof images[0] - (size_t)used, "\n");
  }
  return image;
}

weir_status program_cuda_set(weir_kernel *kernel, uint32_t arg_count, bool packed, bool fits) {
  char function[16];
  snprintf(function, sizeof function, "body%u", arg_count);
  weir_cuda_code code = {0};
  code.groups = fits;
  if (program_stub_load() == NULL) {
    code.source = program_bodies_kernels_source;
    code.options = packed ? NULL : "-DBODY_PLAIN";
  } else if (fits) {
    code.source = program_cuda_image(packed);
  } else {
    code.image = program_cuda_image(packed);
  }
  weir_cuda_launch launch = {.function = function, .block = {1, 1, 1}};
  return weir_kernel_set_cuda(kernel, &code, &launch, 1);
}
