// SPDX-License-Identifier: Apache-2.0
#include "far.h"

#include <stdatomic.h>
#include <string.h>

#include "field.spv.h"
#include "stub.h"
#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/vulkan.h"

static const char opencl_source[] =
    "typedef struct { uint rows, width, reach, value; } rig_field;\n"
    "typedef struct { uint first, count, total, halo_before, halo_after, dimension, device, index; } part_t;\n"
    "uint mixed(uint a, uint b) { return (a ^ b) * 2654435761u + (a >> 15); }\n"
    "__kernel void field(__global const uint *in, __global uint *out, __global const uint *table, const rig_field f,\n"
    "                    const part_t p) {\n"
    "  int column = (int)get_group_id(0), part_row = (int)get_group_id(1), row = (int)p.first + part_row;\n"
    "  uint sum = 0;\n"
    "  for (int other = row - (int)f.reach; other <= row + (int)f.reach; other++) {\n"
    "    if (other < 0 || other >= (int)f.rows) continue;\n"
    "    int here = (other - (int)p.first + (int)p.halo_before) * (int)f.width + column;\n"
    "    sum = mixed(sum, in[here] + (uint)(other - row));\n"
    "  }\n"
    "  out[part_row * (int)f.width + column] = mixed(sum + f.value, table[(uint)(row + column) % 16] + (uint)row);\n"
    "}\n";

enum { WORD = sizeof(uint32_t) };

static atomic_uint launches_left = UINT32_MAX;

void far_fault_after(uint32_t launches) {
  atomic_store(&launches_left, launches);
}

static bool faults(void) {
  uint32_t left = atomic_load(&launches_left);
  if (left == UINT32_MAX) return false;
  if (left > 0) atomic_fetch_sub(&launches_left, 1);
  return left == 0;
}

static void *memory_of(const stub_launch *launch, uint32_t index, uint64_t bytes) {
  uint64_t address;
  memcpy(&address, launch->params[index], sizeof address);
  return stub_memory(launch, address, bytes);
}

static void run_on_stub(const stub_launch *launch) {
  rig_field field;
  weir_split_part part;
  memcpy(&field, launch->params[3], sizeof field);
  memcpy(&part, launch->params[4], sizeof part);
  if (faults()) {
    stub_fault(launch, 700);
    return;
  }
  uint64_t row = field.width * WORD, halo = (uint64_t)part.halo_before + part.halo_after;
  void *args[RIG_ARGS] = {memory_of(launch, 0, (part.count + halo) * row), memory_of(launch, 1, part.count * row),
                          memory_of(launch, 2, 16 * WORD), &field, &part};
  if (args[0] == NULL || args[1] == NULL || args[2] == NULL) return; // counted as a violation
  weir_work work = {.args = args, .arg_count = RIG_ARGS, .end = (uint64_t)launch->grid[0] * launch->grid[1]};
  rig_function()(&work);
}

static bool has_kind(weir_context *context, const char *kind) {
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    if (strcmp(weir_device_information(weir_context_device(context, i))->kind, kind) == 0) return true;
  }
  return false;
}

weir_kernel *far_kernel(weir_context *context) {
  weir_kernel *kernel = rig_kernel(context);
  if (has_kind(context, "vulkan")) {
    weir_vulkan_code code = {.words = field_spv, .bytes = sizeof field_spv};
    rig_ok(weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){0}, 1));
  }
  if (has_kind(context, "opencl"))
    rig_ok(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = opencl_source},
                                  &(weir_opencl_launch){.entry = "field"}));
  if (has_kind(context, "cuda")) {
    stub_register("field", run_on_stub);
    weir_cuda_code code = {.image = "STUB\nfield 1 8 8 8 16 32\n"};
    weir_cuda_launch launch = {.function = "field", .block = {1, 1, 1}};
    rig_ok(weir_kernel_set_cuda(kernel, &code, &launch, 1));
  }
  return kernel;
}
