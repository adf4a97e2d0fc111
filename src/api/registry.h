// SPDX-License-Identifier: Apache-2.0
//
// The kinds of devices that this build knows.
#ifndef WEIR_API_REGISTRY_H
#define WEIR_API_REGISTRY_H

#include "device/host.h"

// All kinds that this build knows; NULL ends the list.
extern const weir__device_ops *const weir__device_kinds[];

// How many devices of a list of names have a thread that needs a core.
uint32_t weir__device_threads(const char *names);

// How many workers the CPU devices of a list have, where one without a number has `usual`.
uint32_t weir__device_workers(const char *names, uint32_t usual);

enum { WEIR__FEW_CORES = 2 }; // for the caller's thread and the system's

// How many cores there are for further threads of each device that has one, beside those for CPU workers, these devices' threads and
// WEIR__FEW_CORES.
uint32_t weir__spare_cores(uint32_t cores, uint32_t workers, uint32_t threads);

// Makes the device that `name` ("cpu:2", "sim:h200") describes. No lock is held.
weir_status weir__device_create(weir__host *host, const char *name, uint32_t queues, weir_device **out_device);

#endif // WEIR_API_REGISTRY_H
