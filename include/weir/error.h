// SPDX-License-Identifier: Apache-2.0
//
// Which task a failure is about; and what libraries that are built on Weir need for error texts of their own.
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the number of the task that weir_last_error() of this thread is about, if weir_finish, weir_finish_for or
// weir_event_wait returned the status of a failed or skipped task; else 0. weir_work.task is the number inside of a
// task.
WEIR_API uint64_t weir_last_error_task(void);

// Sets weir_last_error() of this thread, for libraries that are built on Weir, as libweir-mpi is: their callers look
// in one place alone. The text is copied; one of more than 8191 bytes is cut, and says so. weir_last_error_task()
// becomes 0. Returns `status`.
WEIR_API weir_status weir_set_last_error(weir_status status, const char *text);

// Returns the name that a kernel was created with, cut at 47 bytes, valid until the kernel is released; "" for NULL.
WEIR_API const char *weir_kernel_name(const weir_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif // WEIR_ERROR_H
