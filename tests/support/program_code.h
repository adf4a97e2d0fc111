// SPDX-License-Identifier: Apache-2.0
//
// What one work-group of a random program's task computes, as C and as CUDA C++: a hash over all that the task reads, in
// order, spread over all that it writes. C code comes by program_body.h, which brings the headers; kernels are in
// program_bodies.c, with which NVRTC gets this text. A text that names other files is not kept in the compiler's cache,
// so this one names none.
#ifndef WEIR_TESTS_PROGRAM_CODE_H
#define WEIR_TESTS_PROGRAM_CODE_H

#ifdef __CUDACC__
#define BODY_FUNCTION static __device__
#define BODY_YIELD() ((void)0)
#define BODY_BARRIER() asm volatile("")
#else
#define BODY_FUNCTION static inline __attribute__((unused))
#ifndef BODY_YIELD
#define BODY_YIELD() sched_yield()
#endif
#define BODY_BARRIER() __asm__ volatile("" ::: "memory")
#endif

enum { BODY_MAX_ARGS = 7 };

typedef unsigned int body_u32;
typedef unsigned long long body_u64;

// The first argument of each task, a value: what the others are.
typedef struct body_description {
  body_u64 seed;
  body_u64 self;      // address of what counts the work-groups, where the task runs on the host; else of no use
  body_u32 arg_count; // besides this one
  body_u32 fail_group;
  body_u32 pause;
  struct {
    body_u32 mode; // as weir_mode, but 4 for all that commute
    body_u32 bytes;
  } args[BODY_MAX_ARGS];
} body_description;

// The same in 40 bytes, so that a task of the resident kernel has room for it beside 7 arguments: 12 words. In `bits` follow one
// another pause, arg_count and fail_group, and mode and bytes of all BODY_MAX_ARGS arguments.
enum { BODY_PAUSE_BITS = 15, BODY_COUNT_BITS = 3, BODY_GROUP_BITS = 32, BODY_MODE_BITS = 3, BODY_SIZE_BITS = 17 };

typedef struct body_packed {
  body_u64 seed, self, bits[3];
} body_packed;

// The next `count` bits.
BODY_FUNCTION body_u32 body_take_bits(const body_packed *packed, body_u32 *at, body_u32 count) {
  body_u32 word = *at / 64, low = *at % 64;
  body_u64 value = packed->bits[word] >> low;
  if (low + count > 64) value |= packed->bits[word + 1] << (64 - low);
  *at += count;
  return (body_u32)(value & (~0ull >> (64 - count)));
}

BODY_FUNCTION void body_unpack(const body_packed *packed, body_description *out_description) {
  body_u32 at = 0;
  out_description->seed = packed->seed;
  out_description->self = packed->self;
  out_description->pause = body_take_bits(packed, &at, BODY_PAUSE_BITS);
  out_description->arg_count = body_take_bits(packed, &at, BODY_COUNT_BITS);
  out_description->fail_group = body_take_bits(packed, &at, BODY_GROUP_BITS);
  for (body_u32 a = 0; a < BODY_MAX_ARGS; a++) {
    out_description->args[a].mode = body_take_bits(packed, &at, BODY_MODE_BITS);
    out_description->args[a].bytes = body_take_bits(packed, &at, BODY_SIZE_BITS);
  }
}

BODY_FUNCTION body_u64 body_mix(body_u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

BODY_FUNCTION body_u64 body_hash(body_u64 hash, const unsigned char *memory, body_u64 bytes) {
  body_u64 i = 0;
  for (; i + 8 <= bytes; i += 8) {
    body_u64 word;
    memcpy(&word, memory + i, 8);
    hash = body_mix(hash + word + i);
  }
  for (; i < bytes; i++) hash = body_mix(hash + memory[i] + 256);
  return hash;
}

BODY_FUNCTION void body_fill_slice(unsigned char *memory, body_u64 low, body_u64 high, body_u64 seed) {
  body_u64 i = low;
  for (; i + 8 <= high; i += 8) {
    body_u64 word = body_mix(seed + i);
    memcpy(memory + i, &word, 8);
  }
  for (; i < high; i++) memory[i] = (unsigned char)body_mix(seed + i);
}

// Adds to each byte what body_fill_slice would put there: in which order such sums are made does not matter.
BODY_FUNCTION void body_add_slice(unsigned char *memory, body_u64 low, body_u64 high, body_u64 seed) {
  body_u64 i = low;
  for (; i + 8 <= high; i += 8) {
    body_u64 word = body_mix(seed + i);
    for (body_u32 k = 0; k < 8; k++) memory[i + k] = (unsigned char)(memory[i + k] + (word >> (8 * k)));
  }
  for (; i < high; i++) memory[i] = (unsigned char)(memory[i] + body_mix(seed + i));
}

BODY_FUNCTION void body_take_time(body_u32 pause) {
  if (pause == 1) BODY_YIELD();
  for (body_u32 i = 1; i < pause; i++) BODY_BARRIER();
}

// Hash over what all work-groups read: arguments that are only read, and values. args[a] belongs to description->args[a].
BODY_FUNCTION body_u64 body_common(const body_description *description, unsigned char *const *args,
                                   const body_u32 *groups) {
  body_u64 count = (body_u64)groups[0] * groups[1] * groups[2];
  body_u64 common = body_mix(description->seed) + count + 31 * groups[0] + 17 * groups[1];
  for (body_u32 a = 0; a < description->arg_count; a++) {
    if (description->args[a].mode <= 1) common = body_hash(common + a, args[a], description->args[a].bytes);
  }
  return common;
}

// One work-group: reads its slice of READ_WRITE arguments, then writes its slice of WRITE and READ_WRITE arguments, and adds to
// those that commute.
BODY_FUNCTION void body_group(const body_description *description, unsigned char *const *args, body_u64 common,
                              body_u64 group, body_u64 count) {
  body_take_time(description->pause);
  body_u64 hash = body_mix(common + group);
  for (body_u32 a = 0; a < description->arg_count; a++) {
    if (description->args[a].mode != 3) continue;
    body_u64 low = description->args[a].bytes * group / count, high = description->args[a].bytes * (group + 1) / count;
    hash = body_hash(hash + a, args[a] + low, high - low);
  }
  for (body_u32 a = 0; a < description->arg_count; a++) {
    if (description->args[a].mode < 2) continue;
    body_u64 low = description->args[a].bytes * group / count, high = description->args[a].bytes * (group + 1) / count;
    if (description->args[a].mode == 4)
      body_add_slice(args[a], low, high, hash + (body_u64)a * 977);
    else
      body_fill_slice(args[a], low, high, hash + (body_u64)a * 977);
  }
}

#endif // WEIR_TESTS_PROGRAM_CODE_H
