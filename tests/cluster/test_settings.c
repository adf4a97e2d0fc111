// SPDX-License-Identifier: Apache-2.0
//
// Settings as text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sequence.h"

static void test_good(void **state) {
  (void)state;
  char message[512] = "";
  weir__cluster_settings settings = weir__cluster_usual;
  assert_true(weir__cluster_settings_read("default", &settings, message, sizeof message));
  assert_memory_equal(&settings, &weir__cluster_usual, sizeof settings);
  assert_true(weir__cluster_settings_read("latency_us=1.5,workers=4,skip=1,gbs=0", &settings, message, sizeof message));
  check_us(settings.latency_us, 1.5);
  assert_true(settings.workers == 4 && settings.skip == 1 && settings.gbs == 0);
  check_us(settings.submit_us, weir__cluster_usual.submit_us);
}

static void refused(const char *text, const char *part) {
  char message[512] = "";
  weir__cluster_settings settings = weir__cluster_usual;
  assert_false(weir__cluster_settings_read(text, &settings, message, sizeof message));
  if (strstr(message, part) == NULL) fail_msg("%s: %s", text, message);
}

static void test_bad(void **state) {
  (void)state;
  refused("", "\"\" is none of ranks_per_node=, workers=, cores=, oversubscribe=, jitter=, skip=, submit_us=");
  refused("latency=1", "\"latency=1\" is none of");
  refused("latency_us", "\"latency_us\" is none of");
  refused("workers=2,", "\"\" is none of");
  refused("latency_us=1,,gbs=2", "\"\" is none of");
  refused("workers=0", "workers=0 is not a whole number from 1 to 1024");
  refused("workers=1.5", "workers=1.5 is not a whole number");
  refused("ranks_per_node=0", "ranks_per_node=0 is not a whole number from 1 to 16384");
  refused("cores=-1", "cores=-1 is not a whole number from 0");
  refused("oversubscribe=0", "oversubscribe=0 is not a whole number from 1 to 16384");
  refused("jitter=1.5", "jitter=1.5 is not a number from 0 to 1");
  refused("skip=2", "skip=2 is not a whole number from 0 to 1");
  refused("latency_us=", "latency_us= is not a number from 0");
  refused("latency_us=x", "latency_us=x is not");
  refused("latency_us=1x", "latency_us=1x is not");
  refused("latency_us=nan", "latency_us=nan is not");
  refused("latency_us=inf", "latency_us=inf is not");
}

// Each time and rate alone.
static void test_negative(void **state) {
  (void)state;
  static const char *const keys[] = {"submit_us",  "pass_us",    "buffer_us", "task_us",
                                     "send_us",    "receive_us", "copy_gbs",  "gbs",
                                     "latency_us", "switch_gbs", "local_gbs", "local_latency_us"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    char text[64], part[96];
    snprintf(text, sizeof text, "%s=-0.5", keys[i]);
    snprintf(part, sizeof part, "%s is not a number from 0 to 1", text);
    refused(text, part);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good),
      cmocka_unit_test(test_bad),
      cmocka_unit_test(test_negative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
