// SPDX-License-Identifier: Apache-2.0
//
// What StarPU takes from the environment, for the programs that measure it: scheduler lws, no performance models, CPU workers alone.
#ifndef WEIR_BENCH_STARPU_ENVIRONMENT_H
#define WEIR_BENCH_STARPU_ENVIRONMENT_H

// Sets it, with a new folder for what StarPU writes. Returns NULL, or why it cannot.
const char *weir__bench_starpu_environment_set(int workers);

// Removes the folder.
void weir__bench_starpu_environment_clear(void);

#endif // WEIR_BENCH_STARPU_ENVIRONMENT_H
