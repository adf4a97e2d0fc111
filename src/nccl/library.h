// SPDX-License-Identifier: Apache-2.0
//
// NCCL, loaded at run time: Weir's own declarations of what it uses. Names and values are those of nccl.h.
#ifndef WEIR_NCCL_LIBRARY_H
#define WEIR_NCCL_LIBRARY_H

#include <stddef.h>

typedef struct ncclComm *ncclComm_t;

typedef struct weir__nccl_id {
  char internal[128];
} weir__nccl_id; // ncclUniqueId

enum {
  WEIR__NCCL_SUCCESS = 0,
  WEIR__NCCL_SYSTEM_ERROR = 2,
  WEIR__NCCL_INVALID_ARGUMENT = 4,
  WEIR__NCCL_IN_PROGRESS = 7
};

// Element types and operators.
enum {
  WEIR__NCCL_INT8 = 0,
  WEIR__NCCL_INT32 = 2,
  WEIR__NCCL_UINT32 = 3,
  WEIR__NCCL_INT64 = 4,
  WEIR__NCCL_UINT64 = 5,
  WEIR__NCCL_FLOAT32 = 7,
  WEIR__NCCL_FLOAT64 = 8,
};
enum { WEIR__NCCL_SUM = 0, WEIR__NCCL_PRODUCT = 1, WEIR__NCCL_MAX = 2, WEIR__NCCL_MIN = 3 };

// member, need, parameters; all return a ncclResult_t but ncclGetErrorString and ncclGetLastError.
#define WEIR__NCCL_SYMBOLS(X)                                                                                          \
  X(int, ncclGetVersion, REQUIRED, (int *version))                                                                     \
  X(const char *, ncclGetErrorString, REQUIRED, (int result))                                                          \
  X(const char *, ncclGetLastError, OPTIONAL, (ncclComm_t comm))                                                       \
  X(int, ncclCommInitAll, REQUIRED, (ncclComm_t * comms, int count, const int *devices))                               \
  X(int, ncclGetUniqueId, REQUIRED, (weir__nccl_id * id))                                                              \
  X(int, ncclCommInitRank, REQUIRED, (ncclComm_t * comm, int count, weir__nccl_id id, int rank))                       \
  X(int, ncclGroupStart, REQUIRED, (void))                                                                             \
  X(int, ncclGroupEnd, REQUIRED, (void))                                                                               \
  X(int, ncclCommDestroy, REQUIRED, (ncclComm_t comm))                                                                 \
  X(int, ncclCommAbort, OPTIONAL, (ncclComm_t comm))                                                                   \
  X(int, ncclCommGetAsyncError, OPTIONAL, (ncclComm_t comm, int *result))                                              \
  X(int, ncclAllReduce, REQUIRED,                                                                                      \
    (const void *send, void *receive, size_t count, int type, int operation, ncclComm_t comm, void *stream))           \
  X(int, ncclReduce, REQUIRED,                                                                                         \
    (const void *send, void *receive, size_t count, int type, int operation, int root, ncclComm_t comm, void *stream)) \
  X(int, ncclBroadcast, REQUIRED,                                                                                      \
    (const void *send, void *receive, size_t count, int type, int root, ncclComm_t comm, void *stream))

typedef struct weir__nccl_library {
#define WEIR__NCCL_MEMBER(type, member, need, parameters) type(*member) parameters;
  WEIR__NCCL_SYMBOLS(WEIR__NCCL_MEMBER)
#undef WEIR__NCCL_MEMBER
  int version; // 22703: 2.27.3
} weir__nccl_library;

// NCCL: the file that the environment variable WEIR_NCCL names, else libnccl.so.2 where the loader looks. Loaded by the
// first call that finds it. NULL: `reason` says why not. Any thread.
const weir__nccl_library *weir__nccl_load(char *reason, size_t size);

#endif // WEIR_NCCL_LIBRARY_H
