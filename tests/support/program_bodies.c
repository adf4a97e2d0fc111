// SPDX-License-Identifier: Apache-2.0
//
// The tasks of random programs as kernels, by the number of arguments behind the description. Work-groups have one
// work-item. An argument has 8 bytes, an address or a value, and the description tells which. That is packed, unless
// BODY_PLAIN is defined.
#include <weir/kernel.h>
#if WEIR_ON_CPU
#define BODY_YIELD() ((void)0)
#endif
#include "program_code.h"
#if WEIR_ON_CUDA
#define BODY_ONCE static __device__ __attribute__((noinline)) // one piece of code for all kernels compiles sooner
#else
#define BODY_ONCE BODY_FUNCTION
#endif

#ifdef BODY_PLAIN
typedef body_description body_parameter;
#else
typedef body_packed body_parameter;
#endif

BODY_ONCE void body_work(const body_parameter *parameter, body_u64 *words, const body_u32 *id, const body_u32 *groups) {
#ifdef BODY_PLAIN
  const body_description description = *parameter;
#else
  body_description description;
  body_unpack(parameter, &description);
#endif
  unsigned char *args[BODY_MAX_ARGS];
  for (body_u32 a = 0; a < description.arg_count; a++)
    args[a] = description.args[a].mode == 0 ? (unsigned char *)&words[a] : (unsigned char *)words[a];
  body_u64 count = (body_u64)groups[0] * groups[1] * groups[2];
  body_u64 group = id[0] + (body_u64)groups[0] * (id[1] + (body_u64)groups[1] * id[2]);
  body_group(&description, args, body_common(&description, args, groups), group, count);
}

#define BODY(...)                                                                                                      \
  {                                                                                                                    \
    WEIR_FOR_EACH_ITEM_NOWAIT {                                                                                        \
      body_u64 words[] = {__VA_ARGS__};                                                                                \
      const body_u32 id[] = {(body_u32)weir_group_id(0), (body_u32)weir_group_id(1), (body_u32)weir_group_id(2)};      \
      const body_u32 groups[] = {(body_u32)weir_group_count(0), (body_u32)weir_group_count(1),                         \
                                 (body_u32)weir_group_count(2)};                                                       \
      body_work(&d, words, id, groups);                                                                                \
    }                                                                                                                  \
  }
#define D WEIR_SCALAR(body_parameter, d)
#define ARG(name) WEIR_SCALAR(body_u64, name)

// clang-format off
WEIR_KERNEL(body0, 1, 1, 1, (D)) BODY(0)
WEIR_KERNEL(body1, 1, 1, 1, (D, ARG(a))) BODY(a)
WEIR_KERNEL(body2, 1, 1, 1, (D, ARG(a), ARG(b))) BODY(a, b)
WEIR_KERNEL(body3, 1, 1, 1, (D, ARG(a), ARG(b), ARG(c))) BODY(a, b, c)
WEIR_KERNEL(body4, 1, 1, 1, (D, ARG(a), ARG(b), ARG(c), ARG(e))) BODY(a, b, c, e)
WEIR_KERNEL(body5, 1, 1, 1, (D, ARG(a), ARG(b), ARG(c), ARG(e), ARG(f))) BODY(a, b, c, e, f)
WEIR_KERNEL(body6, 1, 1, 1, (D, ARG(a), ARG(b), ARG(c), ARG(e), ARG(f), ARG(g))) BODY(a, b, c, e, f, g)
WEIR_KERNEL(body7, 1, 1, 1, (D, ARG(a), ARG(b), ARG(c), ARG(e), ARG(f), ARG(g), ARG(h))) BODY(a, b, c, e, f, g, h)
    // clang-format on
