// SPDX-License-Identifier: Apache-2.0
//
// Check mode's functions on a card, compiled by NVRTC behind check/table.h. A test compiles this file as C, for one thread. All
// work on whole words of 8 bytes where arena and contents are aligned alike, and on bytes elsewhere.
#ifdef __CUDACC__
#define WEIR__CARD_KERNEL extern "C" __global__ void
#define WEIR__CARD_FUNCTION static __device__ __forceinline__
#define WEIR__CARD_THREAD ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)
#define WEIR__CARD_THREADS ((unsigned long long)gridDim.x * blockDim.x)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700 && defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ >= 12
#define WEIR__CARD_VALUE const __grid_constant__ // it is read where it is, by any index
#else
#define WEIR__CARD_VALUE const
#endif
#endif

#define WEIR__CARD_JUNK_BYTES 65536ULL

typedef unsigned char weir__byte;
typedef unsigned long long weir__word;

// Where junk of a variant is for a place of the arena.
WEIR__CARD_FUNCTION const weir__byte *weir__card_junk(const weir__byte *junk, const weir__card_table *table,
                                                      unsigned int variant, weir__word at) {
  return junk + variant * WEIR__CARD_JUNK_BYTES + (at + table->shift) % WEIR__CARD_JUNK_BYTES;
}

// The part of a region in the 8 bytes of the arena that `index` numbers from the region's first ones: from `*low` to `*high`.
// Whether it is all 8 of them.
WEIR__CARD_FUNCTION int weir__card_part(const weir__card_region *region, weir__word index, weir__word *low,
                                        weir__word *high) {
  weir__word word = (region->at / 8 + index) * 8, end = region->at + region->bytes;
  *low = word > region->at ? word : region->at;
  *high = word + 8 < end ? word + 8 : end;
  return *high - *low == 8;
}

WEIR__CARD_FUNCTION weir__word weir__card_words(const weir__card_region *region) {
  return (region->at + region->bytes + 7) / 8 - region->at / 8;
}

// Whether `first` and `second` are the same, over `count` bytes; 8 of them as a word.
WEIR__CARD_FUNCTION int weir__card_same(const weir__byte *first, const weir__byte *second, weir__word count, int whole) {
  if (whole) return *(const weir__word *)first == *(const weir__word *)second;
  for (weir__word i = 0; i < count; i++) {
    if (first[i] != second[i]) return 0;
  }
  return 1;
}

WEIR__CARD_FUNCTION void weir__card_copy(weir__byte *to, const weir__byte *from, weir__word count, int whole) {
  if (whole) {
    *(weir__word *)to = *(const weir__word *)from;
    return;
  }
  for (weir__word i = 0; i < count; i++) to[i] = from[i];
}

WEIR__CARD_FUNCTION int weir__card_aligned(const weir__card_region *region) {
  return ((region->contents ^ region->at) & 7) == 0;
}

// Lays out an arena: contents, and junk.
WEIR__CARD_KERNEL weir__check_prepare(weir__byte *arena, const weir__byte *junk, WEIR__CARD_VALUE weir__card_table table) {
  for (unsigned int r = 0; r < table.count; r++) {
    const weir__card_region *region = &table.regions[r];
    const weir__byte *contents = (const weir__byte *)region->contents;
    weir__word words = weir__card_words(region), low, high;
    for (weir__word i = WEIR__CARD_THREAD; i < words; i += WEIR__CARD_THREADS) {
      int whole = weir__card_part(region, i, &low, &high);
      if (region->kind & WEIR__CARD_JUNK) {
        const weir__byte *from = weir__card_junk(junk, &table, table.variant, low);
        weir__card_copy(arena + low, from, high - low, whole);
      } else {
        weir__card_copy(arena + low, contents + (low - region->at), high - low, whole && weir__card_aligned(region));
      }
    }
  }
}

// Looks for anything that has to be looked at closely: outputs that differ between the runs, and bytes that are no outputs and
// are not as they were.
WEIR__CARD_KERNEL weir__check_compare(const weir__byte *first, const weir__byte *second, const weir__byte *junk,
                                      unsigned int *word, WEIR__CARD_VALUE weir__card_table table) {
  int same = 1;
  for (unsigned int r = 0; r < table.count; r++) {
    const weir__card_region *region = &table.regions[r];
    const weir__byte *contents = (const weir__byte *)region->contents;
    weir__word words = weir__card_words(region), low, high;
    for (weir__word i = WEIR__CARD_THREAD; i < words; i += WEIR__CARD_THREADS) {
      int whole = weir__card_part(region, i, &low, &high), both = table.runs > 1;
      weir__word count = high - low;
      if (region->kind & WEIR__CARD_OUTPUT) {
        if (both) same &= weir__card_same(first + low, second + low, count, whole);
      } else if (region->kind & WEIR__CARD_JUNK) {
        same &= weir__card_same(first + low, weir__card_junk(junk, &table, 0, low), count, whole);
        if (both) same &= weir__card_same(second + low, weir__card_junk(junk, &table, 1, low), count, whole);
      } else {
        whole = whole && weir__card_aligned(region);
        same &= weir__card_same(first + low, contents + (low - region->at), count, whole);
        if (both) same &= weir__card_same(second + low, contents + (low - region->at), count, whole);
      }
    }
  }
  if (!same) *word = table.token;
}

// Copies outputs to the buffers, unless something was suspicious.
WEIR__CARD_KERNEL weir__check_commit(const weir__byte *first, const unsigned int *word, WEIR__CARD_VALUE weir__card_table table) {
  if (*word == table.token) return;
  for (unsigned int r = 0; r < table.count; r++) {
    const weir__card_region *region = &table.regions[r];
    weir__byte *contents = (weir__byte *)region->contents;
    weir__word words = weir__card_words(region), low, high;
    if (!(region->kind & WEIR__CARD_OUTPUT)) continue;
    for (weir__word i = WEIR__CARD_THREAD; i < words; i += WEIR__CARD_THREADS) {
      int whole = weir__card_part(region, i, &low, &high);
      weir__card_copy(contents + (low - region->at), first + low, high - low, whole && weir__card_aligned(region));
    }
  }
}
