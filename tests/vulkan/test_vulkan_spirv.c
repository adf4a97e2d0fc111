// SPDX-License-Identifier: Apache-2.0
//
// What is read from SPIR-V modules, and that no words lead beyond a module or into a crash.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "add.spv.h"
#include "constants.spv.h"
#include "device/vulkan/spirv.h"
#include "kinds.spv.h"
#include "legacy.spv.h"
#include "refused_array.spv.h"
#include "refused_cube.spv.h"
#include "refused_layers.spv.h"
#include "refused_sampler.spv.h"
#include "refused_set.spv.h"
#include "refused_texels.spv.h"
#include "refused_uniform.spv.h"

enum { HEADER_WORDS = 5 };

static weir__spirv module;
static char reason[512];

static void read_well(const uint32_t *words, size_t bytes, const weir_vulkan_constant *constants, uint32_t count) {
  reason[0] = 0;
  if (!weir__spirv_read(words, bytes, NULL, constants, count, &module, reason, sizeof reason)) fail_msg("%s", reason);
}

static void assert_refused(const void *words, size_t bytes, const char *entry, const char *text) {
  reason[0] = 0;
  assert_false(weir__spirv_read(words, bytes, entry, NULL, 0, &module, reason, sizeof reason));
  if (strstr(reason, text) == NULL) fail_msg("'%s' does not say '%s'", reason, text);
  assert_memory_equal(reason, "SPIR-V, word ", 13);
}

static void simple_shader(void **state) {
  (void)state;
  read_well(add_spv, sizeof add_spv, NULL, 0);
  assert_int_equal(module.version, 0x10500);
  assert_int_equal(module.local_size[0], 64);
  assert_int_equal(module.local_size[1], 1);
  assert_int_equal(module.local_size[2], 1);
  assert_int_equal(module.push_bytes, 4);
  assert_int_equal(module.shared_bytes, 0);
  assert_int_equal(module.binding_count, 3);
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(module.bindings[i].binding, i);
    assert_int_equal(module.bindings[i].kind, WEIR__SPIRV_STORAGE_BUFFER);
    assert_int_equal(module.bindings[i].reads, i < 2);
    assert_int_equal(module.bindings[i].writes, i == 2);
  }
  assert_int_equal(module.constant_count, 0);
  assert_int_equal(module.capability_count, 1);
  assert_int_equal(module.capabilities[0], 1);
}

static void words_need_no_alignment(void **state) {
  (void)state;
  char *bytes = malloc(sizeof add_spv + 1);
  assert_non_null(bytes);
  memcpy(bytes + 1, add_spv, sizeof add_spv);
  assert_true(weir__spirv_read(bytes + 1, sizeof add_spv, "main", NULL, 0, &module, reason, sizeof reason));
  free(bytes);
}

static void assert_binding(uint32_t index, weir__spirv_kind kind, bool reads, bool writes, uint32_t dimensions,
                           uint32_t format) {
  const weir__spirv_binding *binding = &module.bindings[index];
  assert_true(binding->declared);
  assert_int_equal(binding->binding, index);
  assert_int_equal(binding->kind, kind);
  assert_int_equal(binding->reads, reads);
  assert_int_equal(binding->writes, writes);
  assert_int_equal(binding->dimensions, dimensions);
  assert_int_equal(binding->format, format);
}

static void bindings_of_all_kinds(void **state) {
  (void)state;
  enum { R32F = 3, RGBA8UI = 32, R32UI = 33 };
  read_well(kinds_spv, sizeof kinds_spv, NULL, 0);
  assert_int_equal(module.binding_count, 9);
  assert_binding(0, WEIR__SPIRV_STORAGE_BUFFER, true, false, 0, 0);
  assert_binding(1, WEIR__SPIRV_STORAGE_IMAGE, false, true, 2, R32F);
  assert_binding(2, WEIR__SPIRV_SAMPLED_IMAGE, true, false, 3, 0);
  assert_false(module.bindings[3].declared);
  assert_int_equal(module.bindings[3].binding, 3);
  assert_int_equal(module.bindings[3].kind, WEIR__SPIRV_STORAGE_BUFFER);
  assert_false(module.bindings[3].reads || module.bindings[3].writes);
  assert_binding(4, WEIR__SPIRV_STORAGE_BUFFER, true, true, 0, 0);
  assert_binding(5, WEIR__SPIRV_STORAGE_BUFFER, false, true, 0, 0);
  assert_binding(6, WEIR__SPIRV_STORAGE_IMAGE, true, true, 1, RGBA8UI);
  assert_binding(7, WEIR__SPIRV_STORAGE_BUFFER, false, false, 0, 0);
  assert_binding(8, WEIR__SPIRV_STORAGE_IMAGE, true, true, 3, R32UI);
  assert_int_equal(module.local_size[0] * 10 + module.local_size[1], 42);
}

static uint32_t constant_bytes(uint32_t id) {
  for (uint32_t i = 0; i < module.constant_count; i++)
    if (module.constants[i].id == id) return module.constants[i].bytes;
  return 0;
}

static void constants_and_sizes(void **state) {
  (void)state;
  read_well(constants_spv, sizeof constants_spv, NULL, 0);
  assert_int_equal(module.constant_count, 6);
  assert_int_equal(constant_bytes(0), 4);
  assert_int_equal(constant_bytes(1), 4);
  assert_int_equal(constant_bytes(2), 8);
  assert_int_equal(constant_bytes(3), 8);
  assert_int_equal(constant_bytes(10), 4);
  assert_int_equal(constant_bytes(11), 4);
  assert_int_equal(module.push_bytes, 116);
  assert_int_equal(module.shared_bytes, 2 * 3 * 4);
  assert_int_equal(module.local_size[0], 1);
  assert_int_equal(module.local_size[1], 1);
  assert_int_equal(module.local_size[2], 2);
}

static void constants_that_are_given(void **state) {
  (void)state;
  const weir_vulkan_constant constants[] = {{.id = 10, .bytes = 4, .u32 = 32},
                                            {.id = 0, .bytes = 4, .u32 = 100},
                                            {.id = 11, .bytes = 4, .u32 = 4},
                                            {.id = 3, .bytes = 8, .i64 = -1}};
  read_well(constants_spv, sizeof constants_spv, constants, 4);
  assert_int_equal(module.local_size[0], 32);
  assert_int_equal(module.local_size[1], 4);
  assert_int_equal(module.local_size[2], 2);
  assert_int_equal(module.shared_bytes, 2 * 100 * 4);
}

static void older_modules(void **state) {
  (void)state;
  uint32_t words[sizeof legacy_spv / 4];
  memcpy(words, legacy_spv, sizeof words);
  words[1] = 0x10000;
  const weir_vulkan_constant width = {.id = 7, .bytes = 4, .u32 = 2};
  assert_true(weir__spirv_read(words, sizeof words, "first", NULL, 0, &module, reason, sizeof reason));
  assert_int_equal(module.local_size[0], 36);
  assert_int_equal(module.local_size[1], 4);
  assert_int_equal(module.local_size[2], 3);
  assert_true(module.has_size_ids);
  assert_int_equal(module.binding_count, 2);
  assert_binding(0, WEIR__SPIRV_STORAGE_BUFFER, false, true, 0, 0);
  assert_binding(1, WEIR__SPIRV_STORAGE_BUFFER, true, true, 0, 0); // through one of its two variables
  assert_true(weir__spirv_read(words, sizeof words, "second", NULL, 0, &module, reason, sizeof reason));
  assert_int_equal(module.local_size[0], 3);
  assert_false(module.has_size_ids);
  assert_false(weir__spirv_read(words, sizeof words, "first", &width, 1, &module, reason, sizeof reason));
  assert_non_null(strstr(reason, "a work-group of 6 x 0 x 2 invocations"));
  assert_refused(words, sizeof words, "third", "there are: 'first', 'second'");
}

// From SPIR-V 1.4 on only what the entry point lists is looked at: here nothing.
static void what_is_not_listed(void **state) {
  (void)state;
  assert_true(weir__spirv_read(legacy_spv, sizeof legacy_spv, "first", NULL, 0, &module, reason, sizeof reason));
  assert_int_equal(module.version, 0x10500);
  assert_int_equal(module.binding_count, 0);
}

static void what_cannot_be_bound(void **state) {
  (void)state;
#define REFUSED(name, text) assert_refused(refused_##name##_spv, sizeof refused_##name##_spv, NULL, text)
  REFUSED(uniform, "binding 0 is a uniform buffer; Weir binds storage buffers");
  REFUSED(array, "binding 0 is an array of bindings");
  REFUSED(set, "set 1, binding 3: Weir binds set 0 only");
  REFUSED(cube, "binding 0 is an image of a cube");
  REFUSED(layers, "binding 0 is an image with layers");
  REFUSED(texels, "binding 0 is a texel buffer");
  REFUSED(sampler, "binding 1 is a sampled image without its sampler");
#undef REFUSED
}

static void entry_points_by_name(void **state) {
  (void)state;
  assert_refused(add_spv, sizeof add_spv, "mian", "no entry point 'mian' for compute; there are: 'main'");
  assert_refused(add_spv, HEADER_WORDS * 4, NULL, "no entry point 'main' for compute; there is none");
}

static void no_modules(void **state) {
  (void)state;
  uint32_t words[HEADER_WORDS];
  memcpy(words, add_spv, sizeof words);
  assert_refused(words, 0, NULL, "0 bytes");
  assert_refused(words, 16, NULL, "16 bytes are no module");
  assert_refused(words, 19, NULL, "no multiple of 4");
  words[0] = 0x03022307;
  assert_refused(words, sizeof words, NULL, "byte order");
  words[0] = 0x2304;
  assert_refused(words, sizeof words, NULL, "0x00002304, where a module has 0x07230203");
  words[0] = add_spv[0];
  words[1] = 0x00010042;
  assert_refused(words, sizeof words, NULL, "no version");
  words[1] = add_spv[1];
  words[3] = 0x7fffffff;
  assert_refused(words, sizeof words, NULL, "a bound of 2147483647 ids");
}

// The first instruction of a kind.
static uint32_t find_instruction(const uint32_t *words, size_t count, uint32_t code) {
  for (size_t at = HEADER_WORDS; at < count; at += words[at] >> 16)
    if ((words[at] & 0xffff) == code) return (uint32_t)at;
  fail_msg("no instruction %u", code);
  return 0;
}

static void damaged_instructions(void **state) {
  (void)state;
  enum { COUNT = sizeof add_spv / 4, ENTRY_POINT = 15, MODE = 16, DECORATE = 71, VARIABLE = 59, TYPE_INT = 21 };
  uint32_t words[COUNT];
  char text[64];
#define PLANT(code, offset, value, expected)                                                                           \
  do {                                                                                                                 \
    memcpy(words, add_spv, sizeof words);                                                                              \
    uint32_t at = find_instruction(words, COUNT, code);                                                                \
    words[at + (offset)] = value;                                                                                      \
    assert_refused(words, sizeof words, NULL, expected);                                                               \
    snprintf(text, sizeof text, "SPIR-V, word %u:", at);                                                               \
    assert_memory_equal(reason, text, strlen(text));                                                                   \
  } while (0)
  PLANT(MODE, 0, MODE, "instruction 16 of 0 words");
  PLANT(MODE, 0, 0xffff0000 | MODE, "instruction 16 of 65535 words");
  PLANT(VARIABLE, 2, 0x10000, "id 65536 is out of bounds");
  PLANT(VARIABLE, 1, 0, "whose type is no pointer");
  PLANT(TYPE_INT, 1, 0, "id 0 is out of bounds");
  PLANT(DECORATE, 1, 0xffffffff, "out of bounds");
#undef PLANT
  memcpy(words, add_spv, sizeof words);
  uint32_t at = find_instruction(words, COUNT, MODE);
  words[at] = 6u << 16 | 0;                                 // no work-group size is said any more
  words[find_instruction(words, COUNT, 44)] = 6u << 16 | 0; // nor by the built-in constant
  assert_refused(words, sizeof words, NULL, "has no work-group size");
}

// Reads modules with one word changed, each in memory of its own size: what is read beyond it is seen by the sanitizers. That
// some of them are refused, and some are not, shows that the changes reach the reader.
static void any_word_changed(void **state) {
  (void)state;
  const uint32_t *const modules[] = {add_spv, kinds_spv, constants_spv};
  const size_t sizes[] = {sizeof add_spv, sizeof kinds_spv, sizeof constants_spv};
  const uint32_t values[] = {0, 1, 3, 17, 0x10000, 0x0003003b, 0x7fffffff, 0xffffffff};
  uint32_t read = 0, refused = 0;
  for (int which = 0; which < 3; which++) {
    uint32_t *words = malloc(sizes[which]);
    assert_non_null(words);
    for (size_t at = 0; at < sizes[which] / 4; at++) {
      memcpy(words, modules[which], sizes[which]);
      for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        words[at] = values[i];
        if (weir__spirv_read(words, sizes[which], NULL, NULL, 0, &module, reason, sizeof reason))
          read++;
        else
          refused++;
      }
    }
    free(words);
  }
  assert_true(read > 1000);
  assert_true(refused > 1000);
}

static void any_length(void **state) {
  (void)state;
  for (size_t bytes = 0; bytes < sizeof constants_spv; bytes++) {
    char *words = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(words);
    memcpy(words, constants_spv, bytes);
    bool read = weir__spirv_read(words, bytes, NULL, NULL, 0, &module, reason, sizeof reason);
    assert_true(!read || bytes % 4 == 0);
    free(words);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(simple_shader),
      cmocka_unit_test(words_need_no_alignment),
      cmocka_unit_test(bindings_of_all_kinds),
      cmocka_unit_test(constants_and_sizes),
      cmocka_unit_test(constants_that_are_given),
      cmocka_unit_test(what_cannot_be_bound),
      cmocka_unit_test(entry_points_by_name),
      cmocka_unit_test(no_modules),
      cmocka_unit_test(damaged_instructions),
      cmocka_unit_test(any_word_changed),
      cmocka_unit_test(any_length),
      cmocka_unit_test(older_modules),
      cmocka_unit_test(what_is_not_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
