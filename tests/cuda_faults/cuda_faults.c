// SPDX-License-Identifier: Apache-2.0
#include "cuda_faults.h"

#include <stdlib.h>
#include <string.h>

static const char image[] = "STUB\nmix 256 8 8 4\nbad 256 8 8 4\n";

static void mix_on_stub(const stub_launch *launch) {
  uint64_t to, from;
  uint32_t value;
  memcpy(&to, launch->params[0], sizeof to);
  memcpy(&from, launch->params[1], sizeof from);
  memcpy(&value, launch->params[2], sizeof value);
  uint32_t *target = stub_memory(launch, to, WORDS * sizeof(uint32_t));
  const uint32_t *source = stub_memory(launch, from, WORDS * sizeof(uint32_t));
  if (target != NULL && source != NULL) faults_mix(target, source, value);
}

static void bad_on_stub(const stub_launch *launch) {
  mix_on_stub(launch);
  stub_fault(launch, 700); // illegal address
}

static void mix_group_on_stub(const stub_launch *launch, uint64_t group) {
  (void)group; // there is one
  mix_on_stub(launch);
}

static void bad_group_on_stub(const stub_launch *launch, uint64_t group) {
  (void)group;
  bad_on_stub(launch);
}

void faults_use_stub(void) {
  setenv("WEIR_CUDA_DRIVER", STUB_DRIVER, 1);
  setenv("WEIR_NVRTC", STUB_NVRTC, 1);
  setenv("WEIR_CACHE", "", 1); // none
  stub_register("mix", mix_on_stub);
  stub_register("bad", bad_on_stub);
  stub_register_groups("mix", mix_group_on_stub);
  stub_register_groups("bad", bad_group_on_stub);
}

static bool fit;

void faults_let_fit(bool now_fit) {
  fit = now_fit;
}

static weir_status make_kernel(weir_context *context, const char *name, weir_kernel **out_kernel) {
  weir_status status = weir_kernel_create(context, name, out_kernel);
  if (status != WEIR_OK) return status;
  weir_cuda_code code = {.source = fit ? image : NULL, .image = fit ? NULL : image, .groups = fit};
  weir_cuda_launch launch = {.function = name, .block = {32, 1, 1}};
  status = weir_kernel_set_cuda(*out_kernel, &code, &launch, 1);
  if (status == WEIR_OK) return WEIR_OK;
  weir_kernel_release(*out_kernel);
  *out_kernel = NULL;
  return status;
}

weir_status faults_mix_kernel(weir_context *context, weir_kernel **out_kernel) {
  weir_status status = make_kernel(context, "mix", out_kernel);
  return status == WEIR_OK ? weir_kernel_set_cpu(*out_kernel, faults_mix_on_cpu) : status;
}

weir_status faults_bad_kernel(weir_context *context, weir_kernel **out_kernel) {
  return make_kernel(context, "bad", out_kernel);
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
