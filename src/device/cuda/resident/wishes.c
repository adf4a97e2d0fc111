// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resident/wishes.h"

#include <string.h>

#include "base/allocate.h"
#include "device/cuda/resident/resident.h"

void weir__resident_wish_forget(weir__resident_wish *wish) {
  weir__free(wish->source);
  weir__free(wish->options);
  weir__free(wish->function);
  wish->source = wish->options = wish->function = NULL;
}

static weir__hash id_of(const weir_cuda_code *code, const weir_cuda_launch *launch) {
  struct {
    weir__hash source, options, function;
    uint32_t block[3], shared_bytes, value_bytes, zero;
  } all = {.shared_bytes = launch->shared_bytes, .value_bytes = launch->value != NULL ? launch->value_bytes : 0};
  memcpy(all.block, launch->block, sizeof all.block);
  const char *options = code->options != NULL ? code->options : "";
  all.source = weir__hash_of(code->source, strlen(code->source));
  all.options = weir__hash_of(options, strlen(options));
  all.function = weir__hash_of(launch->function, strlen(launch->function));
  return weir__hash_of(&all, sizeof all);
}

static bool make(const weir_cuda_code *code, const weir_cuda_launch *launch, weir__hash id,
                 weir__resident_wish *out_wish) {
  weir__resident_wish wish = {.id = id,
                              .source = weir__allocate_string(code->source),
                              .options = weir__allocate_string(code->options != NULL ? code->options : ""),
                              .function = weir__allocate_string(launch->function),
                              .shared_bytes = launch->shared_bytes,
                              .value_bytes = launch->value != NULL ? launch->value_bytes : 0};
  memcpy(wish.block, launch->block, sizeof wish.block);
  *out_wish = wish;
  if (wish.source != NULL && wish.options != NULL && wish.function != NULL) return true;
  weir__resident_wish_forget(out_wish);
  return false;
}

static bool reserve(weir__resident_wishes *wishes) {
  if (wishes->count < wishes->capacity) return true;
  uint32_t capacity = wishes->capacity == 0 ? 16 : 2 * wishes->capacity;
  weir__resident_wish *all = weir__allocate(capacity * sizeof *all);
  if (all == NULL) return false;
  if (wishes->count > 0) memcpy(all, wishes->all, wishes->count * sizeof *all);
  weir__free(wishes->all);
  wishes->all = all;
  wishes->capacity = capacity;
  return true;
}

uint32_t weir__resident_wishes_add(weir__resident_wishes *wishes, const weir_cuda_code *code,
                                   const weir_cuda_launch *launch) {
  if (code->source == NULL || !code->groups) return 0;
  weir__hash id = id_of(code, launch);
  uint32_t index = 0;
  while (index < wishes->count && !weir__hash_equal(wishes->all[index].id, id)) index++;
  if (index < wishes->count) return index + 1;
  if (!reserve(wishes) || !make(code, launch, id, &wishes->all[index])) return 0;
  wishes->count++;
  return index + 1;
}

void weir__resident_wishes_free(weir__resident_wishes *wishes) {
  for (uint32_t i = 0; i < wishes->count; i++) {
    weir__resident_wish_forget(&wishes->all[i]);
    weir__resident_part_release(wishes->all[i].part);
  }
  weir__free(wishes->all);
}

bool weir__resident_wish_compile(weir__cuda_device *device, const weir__resident_wish *wish, bool cached_only,
                                 weir__resident_part **out_part) {
  static const char nothing;
  char reason[160];
  const weir_cuda_code code = {.source = wish->source, .options = wish->options, .groups = true};
  const weir_cuda_launch launch = {.function = wish->function,
                                   .block = {wish->block[0], wish->block[1], wish->block[2]},
                                   .shared_bytes = wish->shared_bytes,
                                   .value = wish->value_bytes > 0 ? &nothing : NULL,
                                   .value_bytes = wish->value_bytes};
  *out_part = NULL;
  if (weir__resident_words(wish->value_bytes) > WEIR__R_ARGS) return true;
  weir_status status =
      weir__resident_compile(device, wish->function, &code, &launch, cached_only, out_part, reason, sizeof reason);
  if (status != WEIR_OK) *out_part = NULL;
  return status != WEIR_ERROR_NO_CODE;
}
