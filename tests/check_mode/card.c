// SPDX-License-Identifier: Apache-2.0
//
// Check mode's functions for CUDA devices, and the planted kernel, on the driver without a card: the same source, compiled as C
// for one thread. Addresses of the card's memory in the table are made addresses of the stub's first.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/table.h"
#include "device/cuda/check/source.h"
#include "planted.h"
#include "stub.h"

#define WEIR__CARD_KERNEL static void
#define WEIR__CARD_FUNCTION static
#define WEIR__CARD_GROUP 0U
#define WEIR__CARD_GROUPS 1U
#define WEIR__CARD_THREAD 0U
#define WEIR__CARD_THREADS 1U
#define WEIR__CARD_VALUE
#include "device/cuda/check/check.cu"

static void *at(const stub_launch *launch, uint32_t parameter) {
  uint64_t pointer;
  memcpy(&pointer, launch->params[parameter], sizeof pointer);
  return stub_memory(launch, pointer, 1);
}

typedef struct card_table {
  weir__card_table table;
  weir__card_region more[];
} card_table;

// NULL: an address is none. The parameter before the table is that of more regions.
static card_table *table_of(const stub_launch *launch) {
  const weir__card_table *given = launch->params[launch->param_count - 1];
  bool inlined = given->count <= WEIR__CARD_INLINE;
  card_table *out = malloc(sizeof *out + (inlined ? 0 : given->count) * sizeof *out->more);
  out->table = *given;
  if (!inlined) memcpy(out->more, at(launch, launch->param_count - 2), out->table.count * sizeof *out->more);
  for (uint32_t i = 0; i < out->table.count; i++) {
    weir__card_region *region = inlined ? &out->table.regions[i] : &out->more[i];
    // Beside a buffer there may be nothing; contents are looked at where there is no junk, and written where there are outputs.
    if ((region->kind & WEIR__CARD_JUNK) && !(region->kind & WEIR__CARD_OUTPUT)) continue;
    void *memory = stub_memory(launch, region->contents, region->bytes);
    if (memory == NULL) {
      free(out);
      return NULL;
    }
    region->contents = (uint64_t)(uintptr_t)memory;
  }
  return out;
}

static void prepare(const stub_launch *launch) {
  card_table *in = table_of(launch);
  if (in != NULL) weir__check_prepare(at(launch, 0), at(launch, 1), in->more, in->table);
  free(in);
}

static void compare(const stub_launch *launch) {
  card_table *in = table_of(launch);
  if (in != NULL) weir__check_compare(at(launch, 0), at(launch, 1), at(launch, 2), in->more, in->table);
  free(in);
}

static void commit(const stub_launch *launch) {
  card_table *in = table_of(launch);
  if (in != NULL) weir__check_commit(at(launch, 0), at(launch, 1), in->more, in->table);
  free(in);
}

static void planted(const stub_launch *launch) {
  planted_value value;
  memcpy(&value, launch->params[2], sizeof value);
  planted_words(at(launch, 0), at(launch, 1), value, launch->grid[0]);
}

void planted_use_stub(void) {
  static char code[256];
  snprintf(code, sizeof code,
           "STUB\nweir__check_prepare 256 8 8 8 %zu\nweir__check_compare 256 8 8 8 8 %zu\nweir__check_commit 256 8 8 8 "
           "%zu\n",
           sizeof(weir__card_table), sizeof(weir__card_table), sizeof(weir__card_table));
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1);
  stub_register("weir__check_prepare", prepare);
  stub_register("weir__check_compare", compare);
  stub_register("weir__check_commit", commit);
  stub_register("planted", planted);
  weir__check_code = code;
  planted_cuda = "STUB\nplanted 256 8 8 8\n";
}
