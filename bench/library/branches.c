// SPDX-License-Identifier: Apache-2.0
#include "branches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

static const char source[] =
    "extern \"C\" __global__ void pool(const float *in, float *out, int side) {\n"
    "  int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;\n"
    "  if (pixel >= side * side) return;\n"
    "  int x = pixel % side, y = pixel / side;\n"
    "  float sum = 0;\n"
    "  in += channel * side * side;\n"
    "  for (int v = y - 1; v <= y + 1; v++)\n"
    "    for (int u = x - 1; u <= x + 1; u++)\n"
    "      if (u >= 0 && u < side && v >= 0 && v < side) sum += in[v * side + u];\n"
    "  out[channel * side * side + pixel] = sum / 9;\n"
    "}\n"
    "extern \"C\" __global__ void windows(const float *in, float *out, int side, int wide, int high) {\n"
    "  int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y, tap = blockIdx.z;\n"
    "  if (pixel >= side * side) return;\n"
    "  int x = pixel % side + tap % wide - wide / 2, y = pixel / side + tap / wide - high / 2;\n"
    "  bool inside = x >= 0 && x < side && y >= 0 && y < side;\n"
    "  out[(channel * wide * high + tap) * side * side + pixel] = inside ? in[(channel * side + y) * side + x] : 0;\n"
    "}\n";

static void load(branches *net) {
  nvrtcProgram program;
  size_t bytes;
  CHECK(lib.p_nvrtcCreateProgram(&program, source, "branches.cu", 0, NULL, NULL));
  CHECK(lib.p_nvrtcCompileProgram(program, 0, NULL));
  CHECK(lib.p_nvrtcGetPTXSize(program, &bytes));
  char *ptx = gpu_memory(bytes, 1);
  CHECK(lib.p_nvrtcGetPTX(program, ptx));
  CUmodule module;
  CHECK(lib.p_cuModuleLoadData(&module, ptx));
  CHECK(lib.p_cuModuleGetFunction(&net->pool, module, "pool"));
  CHECK(lib.p_cuModuleGetFunction(&net->windows, module, "windows"));
  free(ptx);
}

int branches_call(const branches *net, const net_layer *layer, cublasHandle_t blas, CUstream stream, CUdeviceptr input,
                  CUdeviceptr output, CUdeviceptr scratch) {
  static const float one = 1, zero = 0;
  enum { THREADS = 64 };
  int side = net->side, wide = layer->wide, high = layer->high, pixels = side * side, inner = layer->from * wide * high;
  unsigned blocks = (unsigned)(pixels + THREADS - 1) / THREADS, channels = (unsigned)layer->from;
  if (high == 0) {
    void *parameters[] = {&input, &output, &side};
    return (int)lib.p_cuLaunchKernel(net->pool, blocks, channels, 1, THREADS, 1, 1, 0, stream, parameters, NULL);
  }
  if (wide * high > 1) {
    void *parameters[] = {&input, &scratch, &side, &wide, &high};
    int result = (int)lib.p_cuLaunchKernel(net->windows, blocks, channels, (unsigned)(wide * high), THREADS, 1, 1, 0,
                                           stream, parameters, NULL);
    if (result != 0) return result;
    input = scratch;
  }
  CUdeviceptr weights = net->weights[layer - net->layers];
  CHECK(lib.p_cublasSetMathMode(blas, net->math));
  return (int)lib.p_cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, pixels, layer->to, inner, &one,
                                (float *)(uintptr_t)input, pixels, (float *)(uintptr_t)weights, inner, &zero,
                                (float *)(uintptr_t)output, pixels);
}

// ---------------------------------------------------------------------------------------------------------------
// The networks

static int activation(branches *net, int channels) {
  net->channels[net->activation_count] = channels;
  return net->activation_count++;
}

// Adds a layer with an output of its own. Returns its number.
static int add(branches *net, int branch, int wide, int high, int from, int to, int input) {
  int output = activation(net, to);
  net->layers[net->layer_count++] = (net_layer){.wide = wide,
                                                .high = high,
                                                .from = from,
                                                .to = to,
                                                .input = input,
                                                .output = output,
                                                .block = net->block,
                                                .branch = branch};
  return output;
}

// Has the layer that was added last write to channels of `output` from the first on. Returns the channel behind them.
static int into(branches *net, int output, int first) {
  net_layer *layer = &net->layers[net->layer_count - 1];
  layer->output = output;
  layer->output_first = first;
  net->activation_count--;
  return first + layer->to;
}

// Mixed_5b to 5d; `pooled`: channels of the branch with the pool. Each function returns the block's output.
static int add_a(branches *net, int input, int from, int pooled) {
  int output = activation(net, 224 + pooled);
  add(net, 0, 1, 1, from, 64, input);
  int at = into(net, output, 0);
  add(net, 1, 5, 5, 48, 64, add(net, 1, 1, 1, from, 48, input));
  at = into(net, output, at);
  add(net, 2, 3, 3, 96, 96, add(net, 2, 3, 3, 64, 96, add(net, 2, 1, 1, from, 64, input)));
  at = into(net, output, at);
  add(net, 3, 1, 1, from, pooled, add(net, 3, 0, 0, from, from, input));
  into(net, output, at);
  net->block++;
  return output;
}

// Mixed_6b to 6e; `inner`: channels within branches.
static int add_b(branches *net, int input, int inner) {
  int output = activation(net, 768), last;
  add(net, 0, 1, 1, 768, 192, input);
  int at = into(net, output, 0);
  last = add(net, 1, 1, 1, 768, inner, input);
  last = add(net, 1, 7, 1, inner, inner, last);
  add(net, 1, 1, 7, inner, 192, last);
  at = into(net, output, at);
  last = add(net, 2, 1, 1, 768, inner, input);
  for (int i = 0; i < 3; i++) last = add(net, 2, i % 2 == 0 ? 1 : 7, i % 2 == 0 ? 7 : 1, inner, inner, last);
  add(net, 2, 7, 1, inner, 192, last);
  at = into(net, output, at);
  add(net, 3, 1, 1, 768, 192, add(net, 3, 0, 0, 768, 768, input));
  into(net, output, at);
  net->block++;
  return output;
}

// Mixed_7b and 7c.
static int add_c(branches *net, int input, int from) {
  int output = activation(net, 2048), last;
  add(net, 0, 1, 1, from, 320, input);
  int at = into(net, output, 0);
  last = add(net, 1, 1, 1, from, 384, input);
  add(net, 1, 3, 1, 384, 384, last);
  at = into(net, output, at);
  add(net, 1, 1, 3, 384, 384, last);
  at = into(net, output, at);
  last = add(net, 2, 3, 3, 448, 384, add(net, 2, 1, 1, from, 448, input));
  add(net, 2, 3, 1, 384, 384, last);
  at = into(net, output, at);
  add(net, 2, 1, 3, 384, 384, last);
  at = into(net, output, at);
  add(net, 3, 1, 1, from, 192, add(net, 3, 0, 0, from, from, input));
  into(net, output, at);
  net->block++;
  return output;
}

static void add_blocks(branches *net) {
  if (net->side == 35) {
    int output = add_a(net, activation(net, 192), 192, 32);
    add_a(net, add_a(net, output, 256, 64), 288, 64);
  } else if (net->side == 17) {
    int output = add_b(net, add_b(net, activation(net, 768), 128), 160);
    add_b(net, add_b(net, output, 160), 192);
  } else {
    add_c(net, add_c(net, activation(net, 1280), 1280), 2048);
  }
}

// Random numbers from -scale to scale.
static CUdeviceptr random_memory(size_t count, float scale) {
  static unsigned state = 1;
  float *host = gpu_memory(count, sizeof *host);
  CUdeviceptr memory;
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    host[i] = scale * ((float)(state >> 8) / (float)(1 << 23) - 1);
  }
  CHECK(lib.p_cuMemAlloc(&memory, count * sizeof *host));
  CHECK(lib.p_cuMemcpyHtoD(memory, host, count * sizeof *host));
  free(host);
  return memory;
}

static void create(branches *net) {
  load(net);
  add_blocks(net);
  size_t pixels = (size_t)branches_pixels(net);
  for (int i = 0; i < net->activation_count; i++)
    net->activations[i] = random_memory((size_t)net->channels[i] * pixels, 1);
  for (int i = 0; i < net->layer_count; i++) {
    const net_layer *layer = &net->layers[i];
    size_t taps = (size_t)layer->wide * (size_t)layer->high, inner = (size_t)layer->from * taps;
    if (taps == 0) continue;
    net->weights[i] = random_memory(inner * (size_t)layer->to, sqrtf(3 / (float)inner));
    if (taps > 1 && inner * pixels * sizeof(float) > net->scratch_bytes)
      net->scratch_bytes = inner * pixels * sizeof(float);
  }
}

double branches_sum(const float *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += fabs(values[i]);
  return sum;
}

static double sum_of(const branches *net) {
  int last = net->layers[net->layer_count - 1].output;
  size_t bytes = branches_bytes(net, net->channels[last]);
  float *host = gpu_memory(bytes, 1);
  CHECK(lib.p_cuMemcpyDtoH(host, net->activations[last], bytes));
  double sum = branches_sum(host, bytes / sizeof *host);
  free(host);
  return sum;
}

// ---------------------------------------------------------------------------------------------------------------
// By hand: one stream, or one for each branch, captured

typedef struct hand_run {
  const branches *net;
  int streams;
  call_lane lanes[BRANCHES_STREAMS];
  CUdeviceptr scratch[BRANCHES_STREAMS];
  CUevent fork, joins[BRANCHES_STREAMS];
} hand_run;

static void begin_block(const hand_run *hand) {
  if (hand->streams > 1) CHECK(lib.p_cuEventRecord(hand->fork, hand->lanes[0].stream));
  for (int s = 1; s < hand->streams; s++) CHECK(lib.p_cuStreamWaitEvent(hand->lanes[s].stream, hand->fork, 0));
}

static void end_block(const hand_run *hand) {
  for (int s = 1; s < hand->streams; s++) {
    CHECK(lib.p_cuEventRecord(hand->joins[s], hand->lanes[s].stream));
    CHECK(lib.p_cuStreamWaitEvent(hand->lanes[0].stream, hand->joins[s], 0));
  }
}

static void enqueue_all(const hand_run *hand) {
  const branches *net = hand->net;
  for (int i = 0; i < net->layer_count; i++) {
    const net_layer *layer = &net->layers[i];
    int stream = layer->branch % hand->streams;
    if (i == 0 || layer->block != layer[-1].block) begin_block(hand);
    CHECK(branches_call(
        net, layer, hand->lanes[stream].blas, hand->lanes[stream].stream, net->activations[layer->input],
        net->activations[layer->output] + branches_bytes(net, layer->output_first), hand->scratch[stream]));
    if (i + 1 == net->layer_count || layer->block != layer[1].block) end_block(hand);
  }
}

static CUgraphExec capture(const hand_run *hand) {
  CUgraph graph;
  CUgraphExec exec;
  CHECK(lib.p_cuStreamBeginCapture(hand->lanes[0].stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  enqueue_all(hand);
  CHECK(lib.p_cuStreamEndCapture(hand->lanes[0].stream, &graph));
  CHECK(lib.p_cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(lib.p_cuGraphDestroy(graph));
  return exec;
}

static double by_hand(const branches *net, int streams, int passes, table *report) {
  hand_run hand = {.net = net, .streams = streams};
  for (int s = 0; s < BRANCHES_STREAMS; s++) {
    hand.lanes[s] = lane_create(1, NULL, 0);
    CHECK(lib.p_cuMemAlloc(&hand.scratch[s], net->scratch_bytes));
    CHECK(lib.p_cuEventCreate(&hand.joins[s], CU_EVENT_DISABLE_TIMING));
  }
  CHECK(lib.p_cuEventCreate(&hand.fork, CU_EVENT_DISABLE_TIMING));
  enqueue_all(&hand); // sets cuBLAS up
  CHECK(lib.p_cuCtxSynchronize());
  CUgraphExec exec = capture(&hand);
  double times[REPORT_MOST];
  for (int pass = 0; pass <= passes; pass++) {
    double start = gpu_now_us();
    CHECK(lib.p_cuGraphLaunch(exec, hand.lanes[0].stream));
    CHECK(lib.p_cuStreamSynchronize(hand.lanes[0].stream));
    times[pass] = gpu_now_us() - start;
  }
  report_add(report, net->name, streams == 1 ? "captured in one stream" : "captured by hand, 4 streams", "us", times,
             passes + 1);
  double sum = sum_of(net);
  CHECK(lib.p_cuGraphExecDestroy(exec));
  CHECK(lib.p_cuEventDestroy(hand.fork));
  for (int s = 0; s < BRANCHES_STREAMS; s++) {
    CHECK(lib.p_cuMemFree(hand.scratch[s]));
    CHECK(lib.p_cuEventDestroy(hand.joins[s]));
    lane_destroy(&hand.lanes[s], true);
  }
  return sum;
}

static void measure(const char *name, int side, cublasMath_t math, int passes, table *report) {
  branches net = {.name = name, .side = side, .math = math};
  create(&net);
  double expected = by_hand(&net, 1, passes, report);
  by_hand(&net, BRANCHES_STREAMS, passes, report);
  branches_by_weir(&net, WEIR_ISSUE_QUEUES, false, expected, passes, report);
  branches_by_weir(&net, WEIR_ISSUE_AUTO, false, expected, passes, report);
  branches_by_weir(&net, WEIR_ISSUE_AUTO, true, expected, passes, report);
  for (int i = 0; i < net.activation_count; i++) CHECK(lib.p_cuMemFree(net.activations[i]));
  for (int i = 0; i < net.layer_count; i++) {
    if (net.weights[i] != 0) CHECK(lib.p_cuMemFree(net.weights[i]));
  }
}

// In single precision, and as frameworks have convolutions do it unless told otherwise: by tensor cores (TF32).
void branches_measure(int passes, table *report) {
  measure("inception, 35 x 35", 35, CUBLAS_DEFAULT_MATH, passes, report);
  measure("inception, 17 x 17", 17, CUBLAS_DEFAULT_MATH, passes, report);
  measure("inception, 8 x 8", 8, CUBLAS_DEFAULT_MATH, passes, report);
  measure("inception, 35 x 35, TF32", 35, CUBLAS_TF32_TENSOR_OP_MATH, passes, report);
  measure("inception, 17 x 17, TF32", 17, CUBLAS_TF32_TENSOR_OP_MATH, passes, report);
  measure("inception, 8 x 8, TF32", 8, CUBLAS_TF32_TENSOR_OP_MATH, passes, report);
}
