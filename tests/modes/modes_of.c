// SPDX-License-Identifier: Apache-2.0
//
// Prints what Weir reads of code: `modes_of spirv FILE`, `modes_of cuda FILE` (CUDA C++, compiled by NVRTC), `modes_of ptx FILE`,
// `modes_of opencl FILE KERNEL...` (on the OpenCL device). A line for each kernel: its name, what it does to any buffer, and its
// arguments as SIZE:USE; of a use r, w and s say that it may read, may write, and has a store. "?": not known.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/ptx.h"
#include "device/opencl/kernel.h"
#include "device/use.h"
#include "device/vulkan/spirv.h"

enum { SKIPPED = 77, MOST_BYTES = 8 << 20 };

static char *read_file(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, MOST_BYTES + 1);
  if (file == NULL || text == NULL) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  *out_bytes = fread(text, 1, MOST_BYTES, file);
  fclose(file);
  return text;
}

static const char *letters(uint8_t use) {
  static char text[8];
  snprintf(text, sizeof text, "%s%s%s", (use & WEIR__USE_READS) != 0 ? "r" : "",
           (use & WEIR__USE_WRITES) != 0 ? "w" : "", (use & WEIR__USE_STORES) != 0 ? "s" : "");
  return (use & ~WEIR__USE_STORES) == 0 && (use & WEIR__USE_STORES) == 0 ? "?" : text;
}

static int print_spirv(const char *path) {
  static weir__spirv module;
  char reason[512];
  size_t bytes;
  char *words = read_file(path, &bytes);
  bool read = weir__spirv_read(words, bytes, NULL, NULL, 0, &module, reason, sizeof reason);
  free(words);
  if (!read) {
    printf("%s\n", reason);
    return 1;
  }
  printf("main %s", module.has_addresses ? "rw" : "-");
  for (uint32_t i = 0; i < module.binding_count; i++) {
    const weir__spirv_binding *at = &module.bindings[i];
    uint8_t use = (uint8_t)(WEIR__USE_KNOWN | (at->reads ? WEIR__USE_READS : 0) | (at->writes ? WEIR__USE_WRITES : 0) |
                            (at->stores ? WEIR__USE_STORES : 0));
    printf(" 8:%s", letters(use));
  }
  for (uint32_t i = 0; i < module.member_count; i++)
    printf(" %u@%u", module.members[i].bytes, module.members[i].offset);
  printf("\n");
  return 0;
}

static int print_ptx(const char *ptx, size_t bytes) {
  weir__ptx_entry *entries = weir__ptx_read(ptx, bytes);
  for (const weir__ptx_entry *at = entries; at != NULL; at = at->next) {
    printf("%s %s", at->name, at->anywhere == 0 ? "-" : letters(at->anywhere));
    for (uint32_t i = 0; i < at->param_count; i++) printf(" %u:%s", at->params[i].bytes, letters(at->params[i].use));
    printf("\n");
  }
  weir__ptx_free(entries);
  return entries == NULL;
}

static int print_cuda(const char *path) {
  char reason[256];
  size_t bytes, image_bytes, ptx_bytes;
  void *image;
  char *ptx, *source = read_file(path, &bytes);
  if (weir__nvrtc_load(reason, sizeof reason) == NULL) {
    printf("skipped: %s\n", reason);
    return SKIPPED;
  }
  weir_status status = weir__nvrtc_compile_with_ptx("modes", source, NULL, 90, &image, &image_bytes, &ptx, &ptx_bytes);
  int result = 1;
  if (status != WEIR_OK)
    printf("%s\n", weir_last_error());
  else
    result = ptx != NULL ? print_ptx(ptx, ptx_bytes) : print_ptx(image, image_bytes);
  weir__free(image);
  weir__free(ptx);
  free(source);
  return result;
}

static int print_opencl(const char *path, int count, char **kernels) {
  weir_context *context;
  weir_status status = weir_context_create(&(weir_context_options){.devices = "opencl"}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    return SKIPPED;
  }
  size_t bytes;
  char *source = read_file(path, &bytes);
  for (int i = 0; i < count && status == WEIR_OK; i++) {
    weir_kernel *kernel;
    status = weir_kernel_create(context, kernels[i], &kernel);
    if (status == WEIR_OK)
      status = weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source, .exact = true},
                                      &(weir_opencl_launch){.entry = kernels[i]});
    // A work-group of another size is refused: the text says which is wanted, and what was learned is lost.
    unsigned local[3];
    const char *wanted = status == WEIR_OK ? NULL : strstr(weir_last_error(), "the code asks for ");
    if (wanted != NULL && sscanf(wanted, "the code asks for %u x %u x %u", &local[0], &local[1], &local[2]) == 3)
      status =
          weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source, .exact = true},
                                 &(weir_opencl_launch){.entry = kernels[i], .local = {local[0], local[1], local[2]}});
    if (status != WEIR_OK) break;
    const weir__opencl_kernel *code = weir__opencl_code_of(kernel);
    printf("%s -", kernels[i]);
    for (uint32_t j = 0; j < code->argument_count; j++)
      printf(" %u:%s", (code->is_value >> j & 1) != 0 ? code->value_bytes[j] : 8, letters(code->uses[j]));
    printf("\n");
  }
  if (status != WEIR_OK) printf("%s\n", weir_last_error());
  free(source);
  weir_context_release(context);
  return status != WEIR_OK;
}

int main(int argc, char **argv) {
  if (argc >= 4 && strcmp(argv[1], "opencl") == 0) return print_opencl(argv[2], argc - 3, argv + 3);
  if (argc == 3 && strcmp(argv[1], "spirv") == 0) return print_spirv(argv[2]);
  if (argc == 3 && strcmp(argv[1], "cuda") == 0) return print_cuda(argv[2]);
  if (argc != 3 || strcmp(argv[1], "ptx") != 0) return 2;
  size_t bytes;
  char *ptx = read_file(argv[2], &bytes);
  int result = print_ptx(ptx, bytes);
  free(ptx);
  return result;
}
