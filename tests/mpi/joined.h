// SPDX-License-Identifier: Apache-2.0
//
// The joined timeline of a random program on ranks that are threads.
#ifndef WEIR_TESTS_MPI_JOINED_H
#define WEIR_TESTS_MPI_JOINED_H

#include "check/check.h"
#include "rank_threads.h"

// Runs `programs` random programs one after the other, and reads their joined timeline. Each rank's clock is `skew_ns` ahead of that
// of the rank before it. Fails the test if a program does not equal serial execution. Owned by the caller.
weir__timeline *joined_run(uint32_t ranks, uint64_t seed, uint32_t programs, int64_t skew_ns);

// The task that sends what a task receives; NULL: there is none.
const weir__timeline_task *joined_send(const weir__timeline *timeline, const weir__timeline_task *receive);

// Takes a task out, to the end of the list, which `task_count` is before then; and puts the last that was taken out back.
void joined_take_out(weir__timeline *timeline, size_t task);
void joined_put_back(weir__timeline *timeline, size_t task);

#endif // WEIR_TESTS_MPI_JOINED_H
