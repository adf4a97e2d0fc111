// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

_Thread_local bool weir__in_task;
