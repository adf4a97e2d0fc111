// SPDX-License-Identifier: Apache-2.0
#include "program_vulkan.h"

#include <stdlib.h>

#include "body_0_0.spv.h"
#include "body_0_1.spv.h"
#include "body_1_0.spv.h"
#include "body_1_1.spv.h"
#include "body_2_0.spv.h"
#include "body_2_1.spv.h"
#include "body_3_0.spv.h"
#include "body_3_1.spv.h"
#include "body_4_0.spv.h"
#include "body_4_1.spv.h"
#include "body_5_0.spv.h"
#include "body_5_1.spv.h"
#include "body_6_0.spv.h"
#include "body_6_1.spv.h"
#include "weir/vulkan.h"

enum {
  HEADER_WORDS = 5,
  BOUND_WORD = 3, // of the header: one more than the largest id
  OP_NOP = 0,
  OP_STORE = 62,
  OP_ACCESS_CHAIN = 65,
  OP_DECORATE = 71,
  DECORATION_BINDING = 33,
};

typedef struct body_module {
  const uint32_t *words;
  uint64_t bytes;
} body_module;

#define MODULE(name)                                                                                                   \
  { name##_spv, sizeof name##_spv }

// By number of buffers, without and with a value.
static const body_module modules[PROGRAM_MAX_ACCESSES + 1][2] = {
    {MODULE(body_0_0), MODULE(body_0_1)}, {MODULE(body_1_0), MODULE(body_1_1)}, {MODULE(body_2_0), MODULE(body_2_1)},
    {MODULE(body_3_0), MODULE(body_3_1)}, {MODULE(body_4_0), MODULE(body_4_1)}, {MODULE(body_5_0), MODULE(body_5_1)},
    {MODULE(body_6_0), MODULE(body_6_1)},
};

// Bit 0: a value; above, a bit for each buffer that is written, and a last one that says how many there are.
uint32_t program_vulkan_form(const program_task *task) {
  uint32_t form = 1u << task->access_count;
  for (uint32_t i = 0; i < task->access_count; i++) form |= (uint32_t)(task->accesses[i].mode != WEIR_READ) << i;
  return 2 * form + (task->value_bytes > 0);
}

static uint32_t buffers_of(uint32_t form) {
  return 31 - (uint32_t)__builtin_clz(form / 2);
}

uint32_t program_vulkan_args(uint32_t form) {
  return buffers_of(form) + form % 2;
}

// Takes out the stores to buffers that are only read: which buffer a store goes to is known by number only, so that the module
// has stores to all.
static void take_out_stores(uint32_t *words, uint64_t count, uint32_t written) {
  enum { NONE = UINT8_MAX };
  uint8_t *bindings = program_memory(words[BOUND_WORD]);
  memset(bindings, NONE, words[BOUND_WORD]);
  for (uint64_t at = HEADER_WORDS, next; at < count; at = next) {
    uint32_t *word = &words[at], code = word[0] & 0xffff;
    next = at + (word[0] >> 16);
    if (code == OP_DECORATE && word[2] == DECORATION_BINDING) bindings[word[1]] = (uint8_t)word[3];
    if (code == OP_ACCESS_CHAIN) bindings[word[2]] = bindings[word[3]];
    bool drops = code == OP_STORE && bindings[word[1]] != NONE && (written >> bindings[word[1]] & 1) == 0;
    for (uint64_t i = at; i < next && drops; i++) words[i] = 1u << 16 | OP_NOP;
  }
  free(bindings);
}

program_vulkan_module program_vulkan_module_of(uint32_t form) {
  const body_module *module = &modules[buffers_of(form)][form % 2];
  program_vulkan_module made = {.words = program_memory(module->bytes), .bytes = module->bytes};
  memcpy(made.words, module->words, module->bytes);
  take_out_stores(made.words, module->bytes / sizeof *made.words, form / 2);
  return made;
}

weir_status program_vulkan_set(weir_kernel *kernel, uint32_t form) {
  program_vulkan_module module = program_vulkan_module_of(form);
  const weir_vulkan_code code = {.words = module.words, .bytes = module.bytes};
  const weir_vulkan_launch launch = {0};
  weir_status status = weir_kernel_set_vulkan(kernel, &code, &launch, 1);
  free(module.words);
  return status;
}
