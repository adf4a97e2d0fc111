// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

_Thread_local weir__thread weir__this_thread;
