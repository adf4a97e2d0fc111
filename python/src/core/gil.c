// SPDX-License-Identifier: Apache-2.0
//
// Threads of Weir's in Python. PyGILState_Ensure makes a thread state for each call on a thread that Python does not
// know, which takes longer than a small task. So the first call on such a thread leaves the state in place, and a
// destructor of the thread removes it.
#include <pthread.h>

#include "core.h"

unsigned process_generation;
bool interpreter_ending;

static pthread_key_t state_key;
static _Thread_local bool state_kept;

// The thread ends: Weir ends its threads in calls that have released the GIL.
static void drop_state(void *user) {
  PyThreadState *state = user;
  if (interpreter_ending || !Py_IsInitialized()) return;
  PyEval_RestoreThread(state);
  PyThreadState_Clear(state);
  PyEval_SaveThread();
  PyThreadState_Delete(state);
}

PyGILState_STATE python_enter(void) {
  if (!state_kept && PyGILState_GetThisThreadState() == NULL) {
    PyGILState_Ensure();
    PyThreadState *state = PyEval_SaveThread();
    state_kept = pthread_setspecific(state_key, state) == 0;
  }
  return PyGILState_Ensure();
}

void python_leave(PyGILState_STATE state) {
  PyGILState_Release(state);
}

bool python_is_foreign(void) {
  return state_kept;
}

int gil_init(void) {
  if (pthread_key_create(&state_key, drop_state) == 0) return 0;
  PyErr_SetString(PyExc_ImportError, "weir: no key for the data of threads is left");
  return -1;
}
