// SPDX-License-Identifier: Apache-2.0
//
// Registered devices: names, references, and registrations that one context at a time uses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/registered.h"

typedef struct registration {
  weir__registered registered;
  uint32_t destroyed;
} registration;

static void destroy(weir__registered *registered) {
  ((registration *)registered)->destroyed++;
}

static void refused(weir_status status, const char *text) {
  assert_int_equal(status, WEIR_ERROR_INVALID_ARGUMENT);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("no '%s' in '%s'", text, weir_last_error());
}

static void test_names(void **state) {
  (void)state;
  weir__registry all = {.kind = "kind", .destroy = destroy};
  registration a = {0}, b = {0};
  char name[32];
  assert_true(weir__registry_may_name("shared1"));
  assert_false(weir__registry_may_name("1"));
  assert_true(weir__registry_has_room(&all, sizeof "kind:shared4294967295"));
  assert_false(weir__registry_has_room(&all, sizeof "kind:shared4294967295" - 1));
  weir__registry_add(&all, &a.registered, name, sizeof name);
  assert_string_equal(name, "kind:shared1");
  weir__registry_add(&all, &b.registered, name, sizeof name);
  assert_string_equal(name, "kind:shared2");
  refused(weir__registry_remove(&all, NULL), "there is no ''");
  refused(weir__registry_remove(&all, "shared1"), "there is no 'shared1'");
  refused(weir__registry_remove(&all, "other:shared1"), "there is no 'other:shared1'");
  refused(weir__registry_remove(&all, "kind:shared3"), "there is no 'kind:shared3'");
  assert_int_equal(weir__registry_remove(&all, "kind:shared1"), WEIR_OK);
  assert_int_equal(a.destroyed, 1);
  refused(weir__registry_remove(&all, "kind:shared1"), "there is no 'kind:shared1'");
  a = (registration){0};
  weir__registry_add(&all, &a.registered, name, sizeof name);
  assert_string_equal(name, "kind:shared3"); // no name comes again
  assert_int_equal(weir__registry_remove(&all, "kind:shared2"), WEIR_OK);
  assert_int_equal(weir__registry_remove(&all, "kind:shared3"), WEIR_OK);
  assert_int_equal(b.destroyed, 1);
  assert_int_equal(a.destroyed, 1);
}

static void test_references(void **state) {
  (void)state;
  weir__registry all = {.kind = "kind", .destroy = destroy};
  registration a = {0};
  weir__registered *first, *second;
  char name[32];
  weir__registry_add(&all, &a.registered, name, sizeof name);
  assert_int_equal(weir__registry_take(&all, "shared1", &first), WEIR_OK);
  assert_int_equal(weir__registry_take(&all, "shared1", &second), WEIR_OK);
  assert_ptr_equal(first, &a);
  assert_ptr_equal(second, &a);
  weir__registry_give(&all, first);
  assert_int_equal(weir__registry_remove(&all, name), WEIR_OK);
  assert_int_equal(a.destroyed, 0); // the second context has it still
  refused(weir__registry_take(&all, "shared1", &first), "device kind:shared1: no such device is registered");
  assert_null(first);
  weir__registry_give(&all, second);
  assert_int_equal(a.destroyed, 1);
}

static void test_exclusive(void **state) {
  (void)state;
  weir__registry all = {.kind = "kind", .exclusive = true, .destroy = destroy};
  registration a = {0};
  weir__registered *first, *second;
  char name[32];
  weir__registry_add(&all, &a.registered, name, sizeof name);
  assert_int_equal(weir__registry_take(&all, "shared1", &first), WEIR_OK);
  refused(weir__registry_take(&all, "shared1", &second), "device kind:shared1: another context uses it");
  assert_null(second);
  refused(weir__registry_remove(&all, name), "a context uses kind:shared1");
  weir__registry_give(&all, first);
  assert_int_equal(weir__registry_take(&all, "shared1", &second), WEIR_OK);
  weir__registry_give(&all, second);
  assert_int_equal(a.destroyed, 0);
  assert_int_equal(weir__registry_remove(&all, name), WEIR_OK);
  assert_int_equal(a.destroyed, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_references),
                                     cmocka_unit_test(test_exclusive)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
