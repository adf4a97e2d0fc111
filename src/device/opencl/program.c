// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/program.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/disk_cache.h"
#include "base/error.h"
#include "base/hash.h"

struct weir__opencl_program {
  struct weir__opencl_program *next;
  weir__hash hash; // of the key
  cl_program program;
};

// Of a build: all that decides what comes out of it.
typedef struct build_key {
  char *bytes; // owned
  size_t count;
} build_key;

// Guards the lists of all devices; held only to search and to link.
static weir__lock lists;

// Argument infos let Weir refuse a value where the kernel takes a pointer.
static const char OWN_OPTIONS[] = "-cl-kernel-arg-info", EXACT_OPTION[] = " -cl-fp32-correctly-rounded-divide-sqrt";

static weir_status no_memory(const char *kernel) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its code", kernel);
}

static char *make_options(const weir__opencl_device *device, const weir_opencl_code *code) {
  const char *own = code->options != NULL ? code->options : "";
  const char *exact = code->exact && device->listed->exact ? EXACT_OPTION : "";
  size_t size = strlen(own) + sizeof OWN_OPTIONS + sizeof EXACT_OPTION + 1;
  char *options = weir__allocate(size);
  if (options != NULL) snprintf(options, size, "%s%s %s", OWN_OPTIONS, exact, own);
  return options;
}

static bool make_key(const weir__opencl_device *device, const weir_opencl_code *code, const char *options,
                     build_key *out_key) {
  size_t code_bytes = code->source != NULL ? strlen(code->source) : (size_t)code->spirv_bytes;
  size_t head = strlen(device->listed->identity) + strlen(options) + 32;
  out_key->bytes = weir__allocate(head + code_bytes);
  if (out_key->bytes == NULL) return false;
  int length = snprintf(out_key->bytes, head, "OpenCL %s\n%s\n%s\n", code->source != NULL ? "C" : "SPIR-V",
                        device->listed->identity, options);
  memcpy(out_key->bytes + length, code->source != NULL ? (const void *)code->source : code->spirv, code_bytes);
  out_key->count = (size_t)length + code_bytes;
  return true;
}

static cl_int build(const weir__opencl_device *device, cl_program program, const char *options) {
  return device->driver->clBuildProgram(program, 1, &device->device, options, NULL, NULL);
}

// From the cache on disk; NULL: it has no binary that this device takes.
static cl_program load_cached(const weir__opencl_device *device, const build_key *key, const char *options) {
  void *binary;
  size_t bytes;
  if (!weir__disk_cache_get(key->bytes, key->count, &binary, &bytes)) return NULL;
  const unsigned char *binaries[] = {binary};
  cl_int status = CL_SUCCESS, result = CL_SUCCESS;
  cl_program program = device->driver->clCreateProgramWithBinary(device->context, 1, &device->device, &bytes, binaries,
                                                                 &status, &result);
  weir__free(binary);
  if (program != NULL && (status != CL_SUCCESS || build(device, program, options) != CL_SUCCESS)) {
    device->driver->clReleaseProgram(program);
    program = NULL;
  }
  return program;
}

static void keep(const weir__opencl_device *device, const build_key *key, cl_program program) {
  size_t bytes = 0;
  if (device->driver->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
      bytes == 0)
    return;
  unsigned char *binary = weir__allocate(bytes);
  if (binary == NULL) return;
  if (device->driver->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(unsigned char *), &binary, NULL) ==
      CL_SUCCESS)
    weir__disk_cache_put(key->bytes, key->count, binary, bytes);
  weir__free(binary);
}

static weir_status failed_build(const weir__opencl_device *device, const char *kernel, cl_program program,
                                cl_int result) {
  char why[64];
  size_t bytes = 0;
  device->driver->clGetProgramBuildInfo(program, device->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
  char *log = weir__allocate(bytes + 1);
  if (log != NULL && device->driver->clGetProgramBuildInfo(program, device->device, CL_PROGRAM_BUILD_LOG, bytes, log,
                                                           NULL) != CL_SUCCESS)
    bytes = 0;
  if (log != NULL) log[bytes] = '\0';
  weir_status status = weir__opencl_status(result);
  if (status == WEIR_ERROR_TASK_FAILED) status = WEIR_ERROR_INVALID_ARGUMENT; // numbers of a vendor's own
  weir__error(status, "kernel '%s': code for %s: %s%s%s", kernel, device->base.device.name,
              weir__opencl_result_text(result, why, sizeof why), log != NULL && log[0] != '\0' ? "\n" : "",
              log != NULL ? log : "");
  weir__free(log);
  return status;
}

static weir_status compile(const weir__opencl_device *device, const char *kernel, const weir_opencl_code *code,
                           const char *options, cl_program *out_program) {
  cl_int result = CL_SUCCESS;
  const char *source = code->source;
  if (source == NULL && !device->listed->has_il)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "kernel '%s': %s (%s) takes no SPIR-V", kernel, device->base.device.name,
                       device->listed->platform_name);
  cl_program program =
      source != NULL
          ? device->driver->clCreateProgramWithSource(device->context, 1, &source, NULL, &result)
          : device->driver->clCreateProgramWithIL(device->context, code->spirv, (size_t)code->spirv_bytes, &result);
  if (program == NULL) {
    if (result == CL_SUCCESS) result = CL_OUT_OF_HOST_MEMORY;
    return weir__opencl_error(result, "kernel '%s': code for %s", kernel, device->base.device.name);
  }
  result = build(device, program, options);
  weir_status status = result == CL_SUCCESS ? WEIR_OK : failed_build(device, kernel, program, result);
  if (status == WEIR_OK)
    *out_program = program;
  else
    device->driver->clReleaseProgram(program);
  return status;
}

static cl_program find(const weir__opencl_device *device, weir__hash hash) {
  for (const weir__opencl_program *at = device->programs; at != NULL; at = at->next)
    if (weir__hash_equal(at->hash, hash)) return at->program;
  return NULL;
}

// Links the program that was built, unless another thread built the same meanwhile: then theirs is used.
static cl_program share(weir__opencl_device *device, weir__opencl_program *built) {
  weir__lock_acquire(&lists);
  cl_program theirs = find(device, built->hash);
  if (theirs == NULL) {
    built->next = device->programs;
    device->programs = built;
  }
  weir__lock_release(&lists);
  if (theirs == NULL) return built->program;
  device->driver->clReleaseProgram(built->program);
  weir__free(built);
  return theirs;
}

static weir_status make(weir__opencl_device *device, const char *kernel, const weir_opencl_code *code,
                        const char *options, const build_key *key, cl_program *out_program) {
  weir__hash hash = weir__hash_of(key->bytes, key->count);
  weir__lock_acquire(&lists);
  *out_program = find(device, hash);
  weir__lock_release(&lists);
  if (*out_program != NULL) return WEIR_OK;
  weir__opencl_program *built = weir__allocate(sizeof *built);
  if (built == NULL) return no_memory(kernel);
  *built = (weir__opencl_program){.hash = hash, .program = load_cached(device, key, options)};
  if (built->program == NULL) {
    weir_status status = compile(device, kernel, code, options, &built->program);
    if (status != WEIR_OK) {
      weir__free(built);
      return status;
    }
    keep(device, key, built->program);
  }
  *out_program = share(device, built);
  return WEIR_OK;
}

weir_status weir__opencl_program_build(weir__opencl_device *device, const char *kernel, const weir_opencl_code *code,
                                       cl_program *out_program) {
  *out_program = NULL;
  build_key key = {0};
  char *options = make_options(device, code);
  weir_status status = options != NULL && make_key(device, code, options, &key)
                           ? make(device, kernel, code, options, &key, out_program)
                           : no_memory(kernel);
  weir__free(options);
  weir__free(key.bytes);
  return status;
}

void weir__opencl_programs_destroy(weir__opencl_device *device) {
  while (device->programs != NULL) {
    weir__opencl_program *program = device->programs;
    device->programs = program->next;
    device->driver->clReleaseProgram(program->program);
    weir__free(program);
  }
}
