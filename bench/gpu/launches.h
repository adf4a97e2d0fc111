// SPDX-License-Identifier: Apache-2.0
//
// Programs launched kernel by kernel on streams.
#ifndef WEIR_BENCH_GPU_LAUNCHES_H
#define WEIR_BENCH_GPU_LAUNCHES_H

#include "spin.h"
#include "streams.h"

// Fills in the launches of a program that was read, for a card of `sms` multiprocessors. Needs gpu_spin_open().
void gpu_program_shape(gpu_program *program, uint32_t sms);

// Times `runs` calls of `pass(argument)`, each from an idle card until the card is idle again, after three that do not
// count. Microseconds.
gpu_stat gpu_time(uint32_t runs, void (*pass)(void *argument), void *argument);

// Columns of the table: one stream, and several of them with an event after every task.
gpu_stat gpu_one_stream_column(const gpu_program *program, uint32_t runs);
gpu_stat gpu_streams_column(const gpu_program *program, const weir__plan_graph *order, uint32_t stream_count,
                            uint32_t runs);

#endif // WEIR_BENCH_GPU_LAUNCHES_H
