// SPDX-License-Identifier: Apache-2.0
//
// `weir bench copies`: copies between pinned host memory and a CUDA device through Weir, beside plain asynchronous
// copies of the driver in the same run: alone, and while kernels of Weir's run.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "cli.h"
#include "device/cuda/driver.h"
#include "spin.h"
#include "weir/cuda.h"

enum { COPIES = 4, KERNELS = 40, SAMPLES = 1000 };
#define COPY_BYTES (64ull << 20)
#define QUICK_BYTES (1ull << 20)
#define KERNEL_NS 2000000u

typedef struct copies {
  const weir__cuda_driver *driver;
  CUdevice device;
  CUcontext primary;
  CUstream stream;
  CUdeviceptr plain[COPIES];
  void *host; // pinned
  weir_context *context;
  weir_kernel *kernel; // spins on few blocks for KERNEL_NS
  weir_buffer *buffers[COPIES], *chain;
  uint64_t bytes;
} copies;

// What weir_last_error() has no text for.
static weir_status failed_call(const copies *all, CUresult result, const char *call) {
  if (result == CUDA_SUCCESS) return WEIR_OK;
  return weir__cuda_error(all->driver, result, "%s", call);
}

static weir_status open_plain(const char *device, copies *all) {
  char reason[256];
  all->driver = weir__cuda_driver_load(reason, sizeof reason);
  if (!all->driver) return WEIR_ERROR_UNAVAILABLE; // as creating the context has said
  int ordinal = device[4] == ':' ? atoi(device + 5) : 0;
  const weir__cuda_driver *cuda = all->driver;
  weir_status status = failed_call(all, cuda->cuDeviceGet(&all->device, ordinal), "cuDeviceGet");
  if (status == WEIR_OK) {
    status = failed_call(all, cuda->cuDevicePrimaryCtxRetain(&all->primary, all->device), "cuDevicePrimaryCtxRetain");
  }
  if (status == WEIR_OK) status = failed_call(all, cuda->cuCtxSetCurrent(all->primary), "cuCtxSetCurrent");
  if (status == WEIR_OK) {
    status = failed_call(all, cuda->cuStreamCreateWithPriority(&all->stream, 1, 0), "cuStreamCreateWithPriority");
  }
  if (status == WEIR_OK) status = failed_call(all, cuda->cuMemHostAlloc(&all->host, all->bytes, 0), "cuMemHostAlloc");
  for (int i = 0; i < COPIES && status == WEIR_OK; i++) {
    status = failed_call(all, cuda->cuMemAlloc(&all->plain[i], all->bytes), "cuMemAlloc");
  }
  if (status == WEIR_OK) memset(all->host, 1, all->bytes);
  return status;
}

static weir_status open_weir(const char *device, copies *all) {
  static const uint64_t ns = KERNEL_NS;
  const weir_cuda_code code = {.source = weir__spin_source};
  const weir_cuda_launch launch = {
      .function = "spin", .grid = {8, 1, 1}, .block = {256, 1, 1}, .value = &ns, .value_bytes = sizeof ns};
  weir_status status = weir_context_create(&(weir_context_options){.devices = device}, &all->context);
  if (status == WEIR_OK) status = weir_kernel_create(all->context, "spin", &all->kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cuda(all->kernel, &code, &launch, 1);
  if (status == WEIR_OK) status = weir_buffer_create(all->context, 64, &all->chain);
  for (int i = 0; i < COPIES && status == WEIR_OK; i++) {
    status = weir_buffer_create(all->context, all->bytes, &all->buffers[i]);
  }
  return status;
}

static void close_all(copies *all) {
  const weir__cuda_driver *cuda = all->driver;
  weir_context_release(all->context);
  if (!cuda || !all->primary) return;
  for (int i = 0; i < COPIES; i++) {
    if (all->plain[i]) cuda->cuMemFree(all->plain[i]);
  }
  if (all->host) cuda->cuMemFreeHost(all->host);
  if (all->stream) cuda->cuStreamDestroy(all->stream);
  cuda->cuDevicePrimaryCtxRelease(all->device);
}

static weir_status copy_plain(const copies *all, bool in) {
  CUdeviceptr host = (CUdeviceptr)(uintptr_t)all->host;
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < COPIES && result == CUDA_SUCCESS; i++) {
    result = all->driver->cuMemcpyAsync(in ? all->plain[i] : host, in ? host : all->plain[i], all->bytes, all->stream);
  }
  if (result == CUDA_SUCCESS) result = all->driver->cuStreamSynchronize(all->stream);
  return failed_call(all, result, "cuMemcpyAsync");
}

static weir_status copy_by_weir(const copies *all, bool in) {
  weir_event *events[COPIES] = {NULL};
  weir_status status = WEIR_OK;
  for (int i = 0; i < COPIES && status == WEIR_OK; i++) {
    status = in ? weir_copy_in(all->buffers[i], 0, all->bytes, all->host, &events[i])
                : weir_copy_out(all->buffers[i], 0, all->bytes, all->host, &events[i]);
  }
  for (int i = 0; i < COPIES; i++) {
    weir_status ended = events[i] ? weir_event_wait(events[i], WEIR_FOREVER) : WEIR_OK;
    if (status == WEIR_OK) status = ended;
    weir_event_release(events[i]);
  }
  return status;
}

// Submits a chain of kernels that runs for longer than the copies take.
static weir_status start_kernels(const copies *all, weir_event **out_last) {
  const weir_arg arg = weir_updates(all->chain);
  const weir_task task = {.kernel = all->kernel, .args = &arg, .arg_count = 1};
  weir_status status = WEIR_OK;
  *out_last = NULL;
  for (int i = 0; i < KERNELS && status == WEIR_OK; i++) {
    status = weir_submit(all->context, &task, i + 1 == KERNELS ? out_last : NULL);
  }
  return status;
}

// Which copies, and beside what.
typedef struct copy_case {
  const char *name;
  bool in, by_weir, beside_kernels;
} copy_case;

static weir_status measure_once(const copies *all, const copy_case *what, double *out_gb_per_s, bool *out_overlapped) {
  weir_event *last = NULL;
  weir_status status = what->beside_kernels ? start_kernels(all, &last) : WEIR_OK;
  uint64_t start = weir__clock_ns();
  if (status == WEIR_OK) status = what->by_weir ? copy_by_weir(all, what->in) : copy_plain(all, what->in);
  *out_gb_per_s = (double)(COPIES * all->bytes) / (double)(weir__clock_ns() - start);
  // The copies were beside the kernels if these are still running.
  *out_overlapped = !what->beside_kernels || (last && weir_event_poll(last) == WEIR_PENDING);
  weir_event_release(last);
  weir_status ended = weir_finish(all->context);
  return status == WEIR_OK ? ended : status;
}

static weir_status measure(const copies *all, const weir__bench_options *options, weir__bench_report *report) {
  static const copy_case cases[] = {
      {"in", true, true, false},
      {"in", true, false, false},
      {"out", false, true, false},
      {"out", false, false, false},
      {"in, kernels run", true, true, true},
      {"in, kernels run", true, false, true},
      {"out, kernels run", false, true, true},
      {"out, kernels run", false, false, true},
  };
  weir_status status = WEIR_OK;
  for (size_t c = 0; c < sizeof cases / sizeof *cases && status == WEIR_OK; c++) {
    double samples[SAMPLES], untimed;
    bool overlapped, all_overlapped = true;
    weir__bench_progress("copies: %s", cases[c].name);
    status = measure_once(all, &cases[c], &untimed, &overlapped);
    for (uint32_t i = 0; i < options->runs && status == WEIR_OK; i++) {
      status = measure_once(all, &cases[c], &samples[i], &overlapped);
      all_overlapped = all_overlapped && overlapped;
    }
    const char *runtime = cases[c].by_weir ? "weir" : "cuMemcpyAsync";
    if (status == WEIR_OK) {
      weir__bench_add(report, "copies", cases[c].name, runtime, "GB/s", samples, options->runs);
    }
    if (!all_overlapped) {
      weir__bench_note(report, "copies: %s, %s: the kernels were done before the copies, which did not overlap them",
                       cases[c].name, runtime);
    }
  }
  return status;
}

int weir__bench_copies(const weir__bench_options *options, weir__bench_report *report) {
  const char *device = options->device ? options->device : "cuda";
  if (strncmp(device, "cuda", 4) != 0) {
    weir__bench_note(report, "copies: skipped, --device %s is not a CUDA device", device);
    return WEIR__EXIT_OK;
  }
  copies all = {.bytes = options->quick ? QUICK_BYTES : COPY_BYTES};
  weir_status status = open_weir(device, &all);
  if (status == WEIR_OK) status = open_plain(device, &all);
  if (status == WEIR_OK) status = measure(&all, options, report);
  close_all(&all);
  if (status == WEIR_ERROR_UNAVAILABLE && !options->named) {
    weir__bench_note(report, "copies: skipped, %s", weir_last_error());
    return WEIR__EXIT_OK;
  }
  if (status != WEIR_OK) weir__cli_error("bench", "copies: %s", weir_last_error());
  return weir__cli_exit_code(status);
}
