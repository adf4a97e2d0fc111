// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/parts.h"

#include "base/lock.h"

enum { MOST_CUTS = 64 };

typedef struct device_cut {
  cl_device_id device; // the whole
  uint32_t parts;
  cl_device_id part[WEIR__OPENCL_MOST_DEVICES];
} device_cut;

static struct {
  weir__lock lock;
  uint32_t count;
  device_cut cuts[MOST_CUTS];
} kept;

static cl_int cut(const weir__opencl_driver *driver, const weir__opencl_listed *listed, uint32_t parts,
                  cl_device_id *out_parts) {
  cl_uint count = 0;
  const intptr_t properties[] = {CL_DEVICE_PARTITION_EQUALLY, (intptr_t)(listed->units / parts), 0};
  if (parts > WEIR__OPENCL_MOST_DEVICES) return CL_INVALID_DEVICE_PARTITION_COUNT;
  cl_int result = driver->clCreateSubDevices(listed->device, properties, 0, NULL, &count);
  if (result == CL_SUCCESS && (count < parts || count > WEIR__OPENCL_MOST_DEVICES))
    result = CL_INVALID_DEVICE_PARTITION_COUNT;
  return result == CL_SUCCESS ? driver->clCreateSubDevices(listed->device, properties, count, out_parts, NULL) : result;
}

// The lock is held.
static cl_int find(const weir__opencl_driver *driver, const weir__opencl_listed *listed, uint32_t parts,
                   const device_cut **out_cut) {
  for (uint32_t i = 0; i < kept.count; i++) {
    *out_cut = &kept.cuts[i];
    if (kept.cuts[i].device == listed->device && kept.cuts[i].parts == parts) return CL_SUCCESS;
  }
  if (kept.count == MOST_CUTS) return CL_OUT_OF_RESOURCES;
  device_cut *fresh = &kept.cuts[kept.count];
  cl_int result = cut(driver, listed, parts, fresh->part);
  if (result != CL_SUCCESS) return result;
  fresh->device = listed->device;
  fresh->parts = parts;
  kept.count++;
  *out_cut = fresh;
  return CL_SUCCESS;
}

cl_int weir__opencl_part(const weir__opencl_driver *driver, const weir__opencl_listed *listed, uint32_t parts,
                         uint32_t part, cl_device_id *out_device) {
  const device_cut *found = NULL;
  weir__lock_acquire(&kept.lock);
  cl_int result = find(driver, listed, parts, &found);
  if (result == CL_SUCCESS) *out_device = found->part[part];
  weir__lock_release(&kept.lock);
  return result;
}
