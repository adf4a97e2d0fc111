// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "device/use.h"

enum { MOST_VALUE_BYTES = 4096, READ_ONLY = WEIR__USE_KNOWN | WEIR__USE_READS };

uint8_t weir__opencl_argument_use(const weir__opencl_driver *driver, cl_kernel kernel, cl_uint index, cl_uint address) {
  cl_bitfield type = 0;
  cl_uint access = 0;
  if (address == CL_KERNEL_ARG_ADDRESS_CONSTANT) return READ_ONLY;
  if (driver->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL) ==
      CL_SUCCESS) {
    if (access == CL_KERNEL_ARG_ACCESS_READ_ONLY) return READ_ONLY;
    if (access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY) return WEIR__USE_KNOWN | WEIR__USE_WRITES;
  }
  if (driver->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, NULL) == CL_SUCCESS &&
      (type & CL_KERNEL_ARG_TYPE_CONST) != 0)
    return READ_ONLY;
  return WEIR__USE_ANY;
}

// Bytes of a scalar or vector type of OpenCL C; 0: another type. A vector of 3 has the size of one of 4.
static uint32_t bytes_of_name(const char *name) {
  static const struct {
    const char *name;
    uint32_t bytes;
  } SCALARS[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},  {"int", 4},
                 {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}};
  for (size_t i = 0; i < sizeof SCALARS / sizeof SCALARS[0]; i++) {
    size_t length = strlen(SCALARS[i].name);
    if (strncmp(name, SCALARS[i].name, length) != 0) continue;
    if (name[length] == '\0') return SCALARS[i].bytes;
    char *end;
    unsigned long count = strtoul(name + length, &end, 10);
    if (*end != '\0' || count < 2 || count > 16) continue;
    return SCALARS[i].bytes * (uint32_t)(count == 3 ? 4 : count);
  }
  return 0;
}

static bool takes(const weir__opencl_driver *driver, cl_kernel kernel, cl_uint index, uint32_t bytes) {
  static const unsigned char ZERO[MOST_VALUE_BYTES + 1] = {0};
  return driver->clSetKernelArg(kernel, index, bytes, ZERO) == CL_SUCCESS;
}

uint32_t weir__opencl_argument_bytes(const weir__opencl_driver *driver, cl_kernel kernel, cl_uint index) {
  char name[64] = "";
  if (driver->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof name - 1, name, NULL) != CL_SUCCESS)
    return 0;
  uint32_t bytes = bytes_of_name(name);
  if (bytes > 0) return takes(driver, kernel, index, bytes) && !takes(driver, kernel, index, bytes + 1) ? bytes : 0;
  for (uint32_t i = 1; i <= MOST_VALUE_BYTES; i++) {
    if (!takes(driver, kernel, index, i)) continue;
    if (bytes > 0) return 0;
    bytes = i;
  }
  return bytes;
}
