// SPDX-License-Identifier: Apache-2.0
//
// Which task a failure is about.
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the number of the task that weir_last_error() of this thread is about, if weir_finish, weir_finish_for or
// weir_event_wait returned the status of a failed or skipped task; else 0. weir_work.task is the number inside of a task.
WEIR_API uint64_t weir_last_error_task(void);

#ifdef __cplusplus
}
#endif
#endif // WEIR_ERROR_H
