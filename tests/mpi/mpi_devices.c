// SPDX-License-Identifier: Apache-2.0
#include "mpi_devices.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "stub.h"
#include "weir/cuda.h"
#include "weir/opencl.h"

static const uint64_t DEVICE_BIT = UINT64_C(1) << 56; // of addresses in the stub's devices

_Static_assert(sizeof(mpi_work) == 64, "as the image for the stub says");

static uint64_t digest(uint64_t hash, const uint8_t *bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) hash = random_mix(hash + bytes[i] + 1);
  return hash;
}

static void produce(uint64_t hash, uint8_t *bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) bytes[i] = (uint8_t)random_mix(hash + i);
}

void mpi_work_perform(const mpi_work *work, uint8_t *const *args) {
  uint64_t hash = work->seed;
  for (uint32_t i = 0; i < work->count; i++) {
    if (work->accesses[i].mode != WEIR_WRITE) hash = digest(hash, args[i], work->accesses[i].bytes);
  }
  for (uint32_t i = 0; i < work->count; i++) {
    if (work->accesses[i].mode != WEIR_READ) produce(hash + i, args[i], work->accesses[i].bytes);
  }
}

void mpi_work_function(const weir_work *work) {
  const mpi_work *description = work->args[0];
  uint8_t *args[MPI_ARGS];
  for (uint32_t i = 0; i < description->count; i++) args[i] = work->args[i + 1];
  if (description->fails)
    weir_work_fail(work, "as it was told");
  else
    mpi_work_perform(description, args);
}

static const char opencl_source[] =
    "typedef struct { int mode; uint buffer, offset, bytes; } use;\n"
    "typedef struct { ulong seed; uint count, fails; use accesses[3]; } work_of;\n"
    "ulong mix(ulong x) {\n"
    "  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;\n"
    "  x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;\n"
    "  return x ^ (x >> 31);\n"
    "}\n"
    "void perform(work_of d, global uchar **args) {\n"
    "  ulong hash = d.seed;\n"
    "  for (uint i = 0; i < d.count; i++)\n"
    "    for (uint k = 0; d.accesses[i].mode != WRITE && k < d.accesses[i].bytes; k++) hash = mix(hash + args[i][k] + "
    "1);\n"
    "  for (uint i = 0; i < d.count; i++)\n"
    "    for (uint k = 0; d.accesses[i].mode != READ && k < d.accesses[i].bytes; k++) args[i][k] = (uchar)mix(hash + i "
    "+ k);\n"
    "}\n"
    "kernel void perform1(work_of d, global uchar *a) { global uchar *args[] = {a}; perform(d, args); }\n"
    "kernel void perform2(work_of d, global uchar *a, global uchar *b) { global uchar *args[] = {a, b}; "
    "perform(d, "
    "args); }\n"
    "kernel void perform3(work_of d, global uchar *a, global uchar *b, global uchar *c) {\n"
    "  global uchar *args[] = {a, b, c};\n"
    "  perform(d, args);\n"
    "}\n";

// The same in CUDA C++, with a kernel for each number of buffers and all their modes, perform1_0 to perform3_26.
static const char cuda_functions[] =
    "typedef unsigned char uchar;\ntypedef unsigned int uint;\ntypedef unsigned long ulong;\n"
    "typedef struct { int mode; uint buffer, offset, bytes; } use;\n"
    "typedef struct { ulong seed; uint count, fails; use accesses[3]; } work_of;\n"
    "__device__ __forceinline__ ulong mix(ulong x) {\n"
    "  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;\n"
    "  x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;\n"
    "  return x ^ (x >> 31);\n"
    "}\n"
    "__device__ __forceinline__ ulong digest(ulong hash, const uchar *bytes, uint count) {\n"
    "  for (uint k = 0; k < count; k++) hash = mix(hash + bytes[k] + 1);\n"
    "  return hash;\n"
    "}\n"
    "__device__ __forceinline__ void produce(ulong hash, uchar *bytes, uint count) {\n"
    "  for (uint k = 0; k < count; k++) bytes[k] = (uchar)mix(hash + k);\n"
    "}\n";

enum { MODE_COUNT = 3 };
_Static_assert(WEIR_READ == 1 && WEIR_WRITE == 2 && WEIR_READ_WRITE == 3, "digits of a kernel's number");

static uint32_t combinations(uint32_t args) {
  return args == 1 ? 3 : args == 2 ? 9 : MPI_MODES;
}

static weir_mode mode_of(uint32_t number, uint32_t arg) {
  return (weir_mode)(1 + number / (arg == 0 ? 1 : arg == 1 ? 3 : 9) % MODE_COUNT);
}

static void write_kernel(FILE *out, uint32_t args, uint32_t number) {
  fprintf(out, "extern \"C\" __global__ void perform%u_%u(work_of d", args, number);
  for (uint32_t i = 0; i < args; i++) fprintf(out, ", uchar *a%u", i);
  fprintf(out, ") {\n  ulong hash = d.seed;\n");
  for (uint32_t i = 0; i < args; i++) {
    if (mode_of(number, i) != WEIR_WRITE) fprintf(out, "  hash = digest(hash, a%u, d.accesses[%u].bytes);\n", i, i);
  }
  for (uint32_t i = 0; i < args; i++) {
    if (mode_of(number, i) != WEIR_READ) fprintf(out, "  produce(hash + %u, a%u, d.accesses[%u].bytes);\n", i, i, i);
  }
  fprintf(out, "}\n");
}

static char *cuda_source; // for the process

static void write_source(void) {
  size_t bytes;
  FILE *out = open_memstream(&cuda_source, &bytes);
  if (out == NULL) abort();
  fputs(cuda_functions, out);
  for (uint32_t args = 1; args <= MPI_ARGS; args++) {
    for (uint32_t number = 0; number < combinations(args); number++) write_kernel(out, args, number);
  }
  if (fclose(out) != 0) abort();
}

weir_kernel *mpi_devices_kernel(const mpi_devices *devices, const mpi_work *work) {
  uint32_t number = 0;
  for (uint32_t i = work->count; i > 0 && devices->by_modes; i--)
    number = number * MODE_COUNT + (uint32_t)work->accesses[i - 1].mode - 1;
  return devices->kernels[work->count - 1][number];
}

// Of the stub driver; NULL where it is not there.
typedef struct stub_driver {
  void (*register_function)(const char *name, stub_function function);
  void *(*memory)(const stub_launch *launch, uint64_t pointer, uint64_t bytes);
  void *(*memory_outside)(uint64_t pointer, uint64_t bytes);
  uint64_t (*violations)(void);
} stub_driver;

static stub_driver stub;

static void find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
}

static void perform_on_stub(const stub_launch *launch) {
  const mpi_work *work = launch->params[0];
  uint8_t *args[MPI_ARGS];
  for (uint32_t i = 0; i < work->count; i++) {
    uint64_t address;
    memcpy(&address, launch->params[i + 1], sizeof address);
    args[i] = stub.memory(launch, address, work->accesses[i].bytes);
    if (args[i] == NULL) return; // counted as a violation
  }
  mpi_work_perform(work, args);
}

// Before any rank is a thread of its own.
__attribute__((constructor)) static void find_stub(void) {
  write_source();
  const char *path = getenv("WEIR_CUDA_DRIVER");
  void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW);
  if (library == NULL) return;
  find(library, "stub_register", &stub.register_function);
  find(library, "stub_memory", &stub.memory);
  find(library, "stub_memory_outside", &stub.memory_outside);
  find(library, "stub_violations", &stub.violations);
  if (stub.register_function == NULL) return;
  for (const char *const *name = (const char *const[]){"perform1", "perform2", "perform3", NULL}; *name != NULL; name++)
    stub.register_function(*name, perform_on_stub);
}

void *mpi_devices_memory(const void *memory, uint64_t bytes) {
  uint64_t address = (uint64_t)(uintptr_t)memory;
  bool ordinary = stub.memory_outside == NULL || bytes == 0 || (address & DEVICE_BIT) == 0;
  return ordinary ? (void *)(uintptr_t)memory : stub.memory_outside(address, bytes);
}

uint64_t mpi_devices_violations(void) {
  return stub.violations == NULL ? 0 : stub.violations();
}

static bool has_kind(const mpi_devices *devices, const char *kind) {
  uint32_t i = 0;
  while (i < devices->count && strcmp(weir_device_information(devices->devices[i])->kind, kind) != 0) i++;
  return i < devices->count;
}

static weir_status make_kernel(weir_context *context, const mpi_devices *devices, uint32_t args, uint32_t number,
                               weir_kernel **out_kernel) {
  char options[64], entry[16], on_card_entry[32];
  snprintf(options, sizeof options, "-DREAD=%d -DWRITE=%d", WEIR_READ, WEIR_WRITE);
  snprintf(entry, sizeof entry, "perform%u", args);
  snprintf(on_card_entry, sizeof on_card_entry, "%s_%u", entry, number);
  const weir_opencl_code opencl = {.source = opencl_source, .options = options};
  const weir_opencl_launch in_opencl = {.entry = entry, .groups = {1, 1, 1}};
  const weir_cuda_code on_stub = {.image = "STUB\nperform1 1 64 8\nperform2 1 64 8 8\nperform3 1 64 8 8 8\n"};
  const weir_cuda_code on_card = {.source = cuda_source};
  const weir_cuda_launch in_cuda = {.function = devices->by_modes ? on_card_entry : entry, .block = {1, 1, 1}};
  weir_status status = weir_kernel_create(context, entry, out_kernel);
  if (status == WEIR_OK && has_kind(devices, "opencl"))
    status = weir_kernel_set_opencl(*out_kernel, &opencl, &in_opencl);
  if (status == WEIR_OK && has_kind(devices, "cuda"))
    status = weir_kernel_set_cuda(*out_kernel, devices->by_modes ? &on_card : &on_stub, &in_cuda, 1);
  return status;
}

weir_status mpi_devices_open(weir_context *context, mpi_devices *out_devices) {
  weir_status status = WEIR_OK;
  *out_devices = (mpi_devices){0};
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    weir_device *device = weir_context_device(context, i);
    bool is_cpu = strcmp(weir_device_information(device)->kind, "cpu") == 0;
    if (!is_cpu && out_devices->count < MPI_DEVICES) out_devices->devices[out_devices->count++] = device;
  }
  out_devices->by_modes = has_kind(out_devices, "cuda") && stub.memory == NULL;
  for (uint32_t args = 1; args <= MPI_ARGS && out_devices->count > 0; args++) {
    uint32_t count = out_devices->by_modes ? combinations(args) : 1;
    for (uint32_t number = 0; number < count && status == WEIR_OK; number++)
      status = make_kernel(context, out_devices, args, number, &out_devices->kernels[args - 1][number]);
  }
  return status;
}

weir_status mpi_devices_close(mpi_devices *devices) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < MPI_ARGS * MPI_MODES; i++) {
    weir_status released = weir_kernel_release(devices->kernels[i / MPI_MODES][i % MPI_MODES]);
    if (status == WEIR_OK) status = released;
  }
  return status;
}
