// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int problems;

void rig_ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static weir_context *create(const char *devices, uint64_t seed, uint32_t flags) {
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = devices, .seed = seed, .flags = flags}, &context));
  return context;
}

weir_context *rig_context(const char *devices, uint64_t seed) {
  return create(devices, seed, 0);
}

weir_context *rig_tracing_context(const char *devices, uint64_t seed) {
  return create(devices, seed, WEIR_CONTEXT_TRACE);
}

weir_pipeline *rig_pipeline(weir_context *context, const weir_pipeline_options *options) {
  weir_pipeline *pipeline = NULL;
  rig_ok(weir_pipeline_create(context, options, &pipeline));
  return pipeline;
}

void rig_note(bool good, const char *file, int line, const char *text) {
  if (good) return;
  atomic_fetch_add(&problems, 1);
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
}

void rig_no_problems(void) {
  assert_int_equal(atomic_load(&problems), 0);
}

uint64_t rig_seed(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
  return seed != 0 ? seed : 1;
}
