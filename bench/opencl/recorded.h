// SPDX-License-Identifier: Apache-2.0
//
// `weir-bench-opencl streams`: recorded streams on an OpenCL device. Each task is one launch that counts for the task's recorded
// time on one compute unit, as with `weir replay --device opencl`.
#ifndef WEIR_BENCH_OPENCL_RECORDED_H
#define WEIR_BENCH_OPENCL_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/graph.h"
#include "stream/stream.h"
#include "timing.h"

// A stream, as OpenCL's own queues get it. The order is known beforehand: to find it costs them nothing.
typedef struct bench_recorded_stream {
  weir__stream *stream;
  double *us;             // by task, scaled
  weir__plan_graph order; // between logical buffers, without edges that others imply
  double work_us, path_us;
} bench_recorded_stream;

// The two ways without Weir.
typedef struct bench_peers bench_peers;

// For a device whose kernel counts `per_us` in a microsecond. NULL: it cannot be set up, as was said on stderr.
bench_peers *bench_peers_open(uint32_t device, double per_us);
void bench_peers_close(bench_peers *peers); // NULL is allowed

// Times `runs` passes, each until all is done, after two that do not count: in one in-order queue, or in an out-of-order queue with
// event lists. `out_submit`: until the last task was enqueued. False: OpenCL refused something.
bool bench_peers_measure(bench_peers *peers, const bench_recorded_stream *recorded, bool out_of_order, uint32_t runs,
                         gpu_stat *out_pass, gpu_stat *out_submit);

// Whether a pass in the out-of-order queue, by its queue's times, keeps the order.
bool bench_peers_check(bench_peers *peers, const bench_recorded_stream *recorded);

// The whole table, or JSON. Returns an exit code.
int bench_recorded(uint32_t device, char **paths, uint32_t count, double scale, uint32_t runs, bool json);

#endif // WEIR_BENCH_OPENCL_RECORDED_H
