// SPDX-License-Identifier: Apache-2.0
//
// What a launcher of parallel programs tells its processes by their environment. Thread-safe.
#ifndef WEIR_BASE_LAUNCHER_H
#define WEIR_BASE_LAUNCHER_H

#include <stdint.h>

// The number of this process, from 0 on, among those that the launcher started on this host; 0: there is no launcher.
// Open MPI's, MPICH's (Hydra, which is Intel's, too) and Slurm's are known.
uint32_t weir__local_rank(void);

#endif // WEIR_BASE_LAUNCHER_H
