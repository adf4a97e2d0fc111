// SPDX-License-Identifier: Apache-2.0
//
// Parts of devices: sub-devices with as many compute units each.
#ifndef WEIR_DEVICE_OPENCL_PARTS_H
#define WEIR_DEVICE_OPENCL_PARTS_H

#include "device/opencl/driver.h"

// Part `part` of a device cut into `parts` (at least 1, more than `part`). It is made when a part of that cut is first asked for,
// and kept for as long as the process lives: PoCL 3.1 still looks at a sub-device when its last command has ended and all that
// the caller had of it is released. Any thread.
cl_int weir__opencl_part(const weir__opencl_driver *driver, const weir__opencl_listed *listed, uint32_t parts,
                         uint32_t part, cl_device_id *out_device);

#endif // WEIR_DEVICE_OPENCL_PARTS_H
