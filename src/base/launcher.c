// SPDX-License-Identifier: Apache-2.0
#include "base/launcher.h"

#include <stddef.h>
#include <stdlib.h>

// Slurm's is last: in a job of Slurm other launchers may have started the process.
static const char *const VARIABLES[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};

uint32_t weir__local_rank(void) {
  for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) {
    const char *text = getenv(VARIABLES[i]);
    if (text == NULL || text[0] < '0' || text[0] > '9') continue;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*end == '\0' && number <= UINT32_MAX) return (uint32_t)number;
  }
  return 0;
}
