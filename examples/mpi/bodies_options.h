// SPDX-License-Identifier: Apache-2.0
#ifndef MPI_BODIES_OPTIONS_H
#define MPI_BODIES_OPTIONS_H

#include "simulation.h"

// Reads the command line; false: prints what is wrong with it.
bool bodies_read_options(int argc, char **argv, simulation_options *out_options, int *out_rounds);

#endif // MPI_BODIES_OPTIONS_H
