// SPDX-License-Identifier: Apache-2.0
//
// Short programs for a simulated cluster.
#ifndef WEIR_TESTS_CLUSTER_SEQUENCE_H
#define WEIR_TESTS_CLUSTER_SEQUENCE_H

#include "cluster/run.h"

// A cluster whose calls and copies take no time, and whose links carry 1,000 bytes in a microsecond, with a latency of 2.
extern const weir__cluster_settings free_calls;

enum { ACCESSES = 8 };

// Contents whose message has 1,000 bytes with its header.
#define BLOCK 936

// Adds a task of `us` that writes the whole of one buffer and reads the whole of others; -1 ends these.
void write_after(weir__cluster_program *program, double us, uint32_t writes, const int *reads);
#define WRITE_AFTER(program, us, writes, ...) write_after(program, us, writes, (const int[]){__VA_ARGS__, -1})

// Ends the program, runs it, and frees it.
weir__cluster_result finish(weir__cluster_program *program, const weir__cluster_settings *settings, uint32_t window);

// The times are exactly equal.
void check_us(double found, double expected);

#endif // WEIR_TESTS_CLUSTER_SEQUENCE_H
