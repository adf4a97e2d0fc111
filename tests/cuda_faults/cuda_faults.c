// SPDX-License-Identifier: Apache-2.0
#include "cuda_faults.h"

#include <stdlib.h>
#include <string.h>

static const char image[] = "STUB\nmix 256 8 8 4\nbad 256 8 8 4\n";

uint32_t faults_mixed(uint32_t from, uint32_t value) {
  return from * 3 + value;
}

static void mix(uint32_t *to, const uint32_t *from, uint32_t value) {
  for (int i = 0; i < WORDS; i++) to[i] = faults_mixed(from[i], value);
}

static void mix_on_cpu(const weir_work *work) {
  uint32_t value;
  memcpy(&value, work->args[2], sizeof value);
  mix(work->args[0], work->args[1], value);
}

static void mix_on_stub(const stub_launch *launch) {
  uint64_t to, from;
  uint32_t value;
  memcpy(&to, launch->params[0], sizeof to);
  memcpy(&from, launch->params[1], sizeof from);
  memcpy(&value, launch->params[2], sizeof value);
  uint32_t *target = stub_memory(launch, to, WORDS * sizeof(uint32_t));
  const uint32_t *source = stub_memory(launch, from, WORDS * sizeof(uint32_t));
  if (target != NULL && source != NULL) mix(target, source, value);
}

static void bad_on_stub(const stub_launch *launch) {
  mix_on_stub(launch);
  stub_fault(launch, 700); // illegal address
}

void faults_use_stub(void) {
  setenv("WEIR_CUDA_DRIVER", STUB_DRIVER, 1);
  stub_register("mix", mix_on_stub);
  stub_register("bad", bad_on_stub);
}

static weir_status make_kernel(weir_context *context, const char *name, weir_kernel **out_kernel) {
  weir_status status = weir_kernel_create(context, name, out_kernel);
  if (status != WEIR_OK) return status;
  weir_cuda_code code = {.image = image};
  weir_cuda_launch launch = {.function = name, .block = {32, 1, 1}};
  status = weir_kernel_set_cuda(*out_kernel, &code, &launch, 1);
  if (status == WEIR_OK) return WEIR_OK;
  weir_kernel_release(*out_kernel);
  *out_kernel = NULL;
  return status;
}

weir_status faults_mix_kernel(weir_context *context, weir_kernel **out_kernel) {
  weir_status status = make_kernel(context, "mix", out_kernel);
  return status == WEIR_OK ? weir_kernel_set_cpu(*out_kernel, mix_on_cpu) : status;
}

weir_status faults_bad_kernel(weir_context *context, weir_kernel **out_kernel) {
  return make_kernel(context, "bad", out_kernel);
}

weir_task faults_task(weir_kernel *kernel, weir_arg args[3], weir_buffer *to, weir_buffer *from,
                      const uint32_t *value) {
  args[0] = weir_writes(to);
  args[1] = weir_reads(from);
  args[2] = weir_value(value, sizeof *value);
  return (weir_task){.kernel = kernel, .args = args, .arg_count = 3};
}

static unsigned wrong;

void faults_wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (wrong++ < 40) {
    vprint_message(format, arguments);
    print_message("\n");
  }
  va_end(arguments);
}

void faults_expect_none(void) {
  unsigned found = wrong;
  wrong = 0;
  assert_int_equal(found, 0);
}

void faults_check_driver(const char *what) {
  if (stub_violations() > 0) faults_wrong("%s: wrong use of the driver: %s", what, stub_violation_text());
  stub_live_objects live = stub_live();
  const struct {
    const char *name;
    uint64_t count;
  } kinds[] = {{"contexts", live.contexts},    {"allocations", live.device_allocations},
               {"pinned ranges", live.pinned}, {"streams", live.streams},
               {"events", live.events},        {"modules", live.modules},
               {"graphs", live.graphs},        {"executable graphs", live.execs},
               {"operations", live.queued}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].count > 0)
      faults_wrong("%s: %llu %s are left", what, (unsigned long long)kinds[i].count, kinds[i].name);
}
