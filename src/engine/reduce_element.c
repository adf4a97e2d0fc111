// SPDX-License-Identifier: Apache-2.0
#include "engine/reduce_element.h"

#include <math.h>
#include <string.h>

static const uint32_t sizes[] = {[WEIR_REDUCE_F32] = 4, [WEIR_REDUCE_F64] = 8, [WEIR_REDUCE_I32] = 4,
                                 [WEIR_REDUCE_U32] = 4, [WEIR_REDUCE_I64] = 8, [WEIR_REDUCE_U64] = 8};

uint32_t weir__reduce_element_bytes(const weir_reduction *reduction) {
  if ((uint32_t)reduction->operation > WEIR_REDUCE_MAX) return 0;
  if (reduction->operation != WEIR_REDUCE_KERNEL)
    return (uint32_t)reduction->type < sizeof sizes / sizeof *sizes ? sizes[reduction->type] : 0;
  uint32_t bytes = reduction->identity_bytes;
  if (bytes == 0) return 1;
  return reduction->identity != NULL && bytes <= WEIR__IDENTITY_BYTES && (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

// Identities of an operation by type: of a sum, a product, the least and the greatest value.
#define IDENTITIES(type, least, greatest)                                                                              \
  static const type type##_identities[] = {                                                                            \
      [WEIR_REDUCE_SUM] = 0, [WEIR_REDUCE_PRODUCT] = 1, [WEIR_REDUCE_MIN] = greatest, [WEIR_REDUCE_MAX] = least}
IDENTITIES(float, -INFINITY, INFINITY);
IDENTITIES(double, -(double)INFINITY, (double)INFINITY);
IDENTITIES(int32_t, INT32_MIN, INT32_MAX);
IDENTITIES(uint32_t, 0, UINT32_MAX);
IDENTITIES(int64_t, INT64_MIN, INT64_MAX);
IDENTITIES(uint64_t, 0, UINT64_MAX);

static const void *identity_of(weir_reduce_operation operation, weir_reduce_type type) {
  switch (type) {
  case WEIR_REDUCE_F32:
    return &float_identities[operation];
  case WEIR_REDUCE_F64:
    return &double_identities[operation];
  case WEIR_REDUCE_I32:
    return &int32_t_identities[operation];
  case WEIR_REDUCE_U32:
    return &uint32_t_identities[operation];
  case WEIR_REDUCE_I64:
    return &int64_t_identities[operation];
  case WEIR_REDUCE_U64:
    return &uint64_t_identities[operation];
  }
  return NULL;
}

void weir__reduce_identity(const weir_reduction *reduction, unsigned char identity[WEIR__IDENTITY_BYTES]) {
  bool known = reduction->operation != WEIR_REDUCE_KERNEL;
  uint32_t bytes = weir__reduce_element_bytes(reduction);
  const void *one = known ? identity_of(reduction->operation, reduction->type) : reduction->identity;
  memset(identity, 0, WEIR__IDENTITY_BYTES);
  for (uint32_t at = 0; at < WEIR__IDENTITY_BYTES && (known || reduction->identity_bytes != 0); at += bytes)
    memcpy(identity + at, one, bytes);
}

// The inner loops have no branch, so that they can be vectorised. Integers wrap.
#define COMBINE(name, type, unsigned_type)                                                                             \
  static void name(type *to, const type *from, uint64_t count, uint32_t operation) {                                   \
    for (uint64_t i = 0; i < count && operation == WEIR_REDUCE_SUM; i++)                                               \
      to[i] = (type)((unsigned_type)to[i] + (unsigned_type)from[i]);                                                   \
    for (uint64_t i = 0; i < count && operation == WEIR_REDUCE_PRODUCT; i++)                                           \
      to[i] = (type)((unsigned_type)to[i] * (unsigned_type)from[i]);                                                   \
    for (uint64_t i = 0; i < count && operation == WEIR_REDUCE_MIN; i++) to[i] = from[i] < to[i] ? from[i] : to[i];    \
    for (uint64_t i = 0; i < count && operation == WEIR_REDUCE_MAX; i++) to[i] = from[i] > to[i] ? from[i] : to[i];    \
  }
COMBINE(combine_f32, float, float)
COMBINE(combine_f64, double, double)
COMBINE(combine_i32, int32_t, uint32_t)
COMBINE(combine_u32, uint32_t, uint32_t)
COMBINE(combine_i64, int64_t, uint64_t)
COMBINE(combine_u64, uint64_t, uint64_t)

void weir__reduce_combine(const weir_work *work) {
  const weir__reduce_work *what = work->args[2];
  void *to = work->args[0];
  const void *from = work->args[1];
  uint64_t count = what->bytes / sizes[what->type];
  switch ((weir_reduce_type)what->type) {
  case WEIR_REDUCE_F32:
    combine_f32(to, from, count, what->operation);
    break;
  case WEIR_REDUCE_F64:
    combine_f64(to, from, count, what->operation);
    break;
  case WEIR_REDUCE_I32:
    combine_i32(to, from, count, what->operation);
    break;
  case WEIR_REDUCE_U32:
    combine_u32(to, from, count, what->operation);
    break;
  case WEIR_REDUCE_I64:
    combine_i64(to, from, count, what->operation);
    break;
  case WEIR_REDUCE_U64:
    combine_u64(to, from, count, what->operation);
    break;
  }
}

void weir__reduce_clear(const weir_work *work) {
  const weir__reduce_work *what = work->args[1];
  unsigned char *to = work->args[0];
  for (uint64_t at = 0; at < what->bytes; at += WEIR__IDENTITY_BYTES) {
    uint64_t left = what->bytes - at;
    memcpy(to + at, what->identity, left < WEIR__IDENTITY_BYTES ? left : WEIR__IDENTITY_BYTES);
  }
}
