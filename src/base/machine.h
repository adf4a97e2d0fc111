// SPDX-License-Identifier: Apache-2.0
//
// What the process may use of the machine: memory, and cores. Thread-safe.
#ifndef WEIR_BASE_MACHINE_H
#define WEIR_BASE_MACHINE_H

#include <stdint.h>

// Bytes of memory that the process may use: the machine's, or those that its control group allows, if these are fewer. 0: not
// known.
uint64_t weir__machine_memory(void);

// The least memory limit in bytes of the control group at `path` below `root` and of those that it is in, of either version of
// the kernel's interface. UINT64_MAX: there is none. (cgroups(7); memory.max, memory.limit_in_bytes)
uint64_t weir__cgroup_limit(const char *root, const char *path);

// How many cores the process may use: those that it may run on, or those whose time its control group allows, if these are fewer. At
// least 1.
uint32_t weir__machine_cores(void);

// How many cores' time the control group at `path` below `root` and those that it is in allow, of either version of the kernel's
// interface: the least, rounded up. UINT32_MAX: there is no quota. (cgroups(7); cpu.max, cpu.cfs_quota_us)
uint32_t weir__cgroup_cores(const char *root, const char *path);

#endif // WEIR_BASE_MACHINE_H
