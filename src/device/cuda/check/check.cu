// SPDX-License-Identifier: Apache-2.0
//
// Check mode's functions on a card, compiled by NVRTC behind check/table.h. A test compiles this file as C, for one thread. Each
// work-group takes regions in turn, which the host has cut so that none is long. All work on whole words of 8 bytes where arena
// and contents are aligned alike, and on bytes elsewhere.
#ifdef __CUDACC__
#define WEIR__CARD_KERNEL extern "C" __global__ void
#define WEIR__CARD_FUNCTION static __device__ __forceinline__
#define WEIR__CARD_GROUP blockIdx.x
#define WEIR__CARD_GROUPS gridDim.x
#define WEIR__CARD_THREAD threadIdx.x
#define WEIR__CARD_THREADS blockDim.x
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

WEIR__CARD_FUNCTION weir__card_region weir__card_get(const weir__card_table *table, const weir__card_region *more,
                                                     unsigned int index) {
  return table->count <= WEIR__CARD_INLINE ? table->regions[index] : more[index];
}

// Lays out arenas: contents, and junk.
WEIR__CARD_KERNEL weir__check_prepare(weir__byte *arena, const weir__byte *junk, const weir__card_region *more,
                                      WEIR__CARD_VALUE weir__card_table table) {
  for (unsigned int r = WEIR__CARD_GROUP; r < table.count; r += WEIR__CARD_GROUPS) {
    const weir__card_region region = weir__card_get(&table, more, r);
    const weir__byte *contents = (const weir__byte *)region.contents;
    weir__word words = weir__card_words(&region), second = region.second - region.at, low, high;
    int both = region.kind & WEIR__CARD_TWICE;
    for (weir__word i = WEIR__CARD_THREAD; i < words; i += WEIR__CARD_THREADS) {
      int whole = weir__card_part(&region, i, &low, &high);
      weir__word count = high - low;
      if (region.kind & WEIR__CARD_JUNK) {
        weir__card_copy(arena + low, weir__card_junk(junk, &table, 0, low), count, whole);
        if (both) weir__card_copy(arena + second + low, weir__card_junk(junk, &table, 1, low), count, whole);
      } else {
        const weir__byte *from = contents + (low - region.at);
        whole = whole && weir__card_aligned(&region);
        weir__card_copy(arena + low, from, count, whole);
        if (both) weir__card_copy(arena + second + low, from, count, whole);
      }
    }
  }
}

// Whether bytes that are no outputs are as they were.
WEIR__CARD_FUNCTION int weir__card_kept(const weir__byte *run, const weir__byte *junk, const weir__card_table *table,
                                        const weir__card_region *region, unsigned int variant, weir__word low,
                                        weir__word count, int whole) {
  const weir__byte *contents = (const weir__byte *)region->contents;
  if (region->kind & WEIR__CARD_JUNK)
    return weir__card_same(run, weir__card_junk(junk, table, variant, low), count, whole);
  return weir__card_same(run, contents + (low - region->at), count, whole && weir__card_aligned(region));
}

// Looks for anything that has to be looked at closely: outputs that differ between the runs, and bytes that are no outputs and
// are not as they were.
WEIR__CARD_KERNEL weir__check_compare(const weir__byte *arena, const weir__byte *junk, unsigned int *suspicious,
                                      const weir__card_region *more, WEIR__CARD_VALUE weir__card_table table) {
  for (unsigned int r = WEIR__CARD_GROUP; r < table.count; r += WEIR__CARD_GROUPS) {
    const weir__card_region region = weir__card_get(&table, more, r);
    weir__word words = weir__card_words(&region), second = region.second - region.at, low, high;
    int same = 1, both = region.kind & WEIR__CARD_TWICE;
    for (weir__word i = WEIR__CARD_THREAD; i < words; i += WEIR__CARD_THREADS) {
      int whole = weir__card_part(&region, i, &low, &high);
      weir__word count = high - low;
      const weir__byte *first = arena + low, *other = first + second;
      if (region.kind & WEIR__CARD_OUTPUT) {
        if (both) same &= weir__card_same(first, other, count, whole);
      } else {
        same &= weir__card_kept(first, junk, &table, &region, 0, low, count, whole);
        if (both) same &= weir__card_kept(other, junk, &table, &region, 1, low, count, whole);
      }
    }
    if (!same) {
      suspicious[region.task] = table.token;
      ((volatile unsigned int *)table.marks)[region.task] = table.token;
    }
  }
}

// Copies outputs of the first runs to the buffers, unless something was suspicious in the task.
WEIR__CARD_KERNEL weir__check_commit(const weir__byte *arena, const unsigned int *suspicious, const weir__card_region *more,
                                     WEIR__CARD_VALUE weir__card_table table) {
  for (unsigned int r = WEIR__CARD_GROUP; r < table.count; r += WEIR__CARD_GROUPS) {
    const weir__card_region region = weir__card_get(&table, more, r);
    weir__byte *contents = (weir__byte *)region.contents;
    weir__word words = weir__card_words(&region), low, high;
    if (!(region.kind & WEIR__CARD_OUTPUT) || suspicious[region.task] == table.token) continue;
    for (weir__word i = WEIR__CARD_THREAD; i < words; i += WEIR__CARD_THREADS) {
      int whole = weir__card_part(&region, i, &low, &high);
      weir__card_copy(contents + (low - region.at), arena + low, high - low, whole && weir__card_aligned(&region));
    }
  }
}
