// SPDX-License-Identifier: Apache-2.0
#include "branches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

static const char source[] =
    "extern \"C\" __global__ void pool(const float *in, float *out, int channels) {\n"
    "  int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;\n"
    "  if (pixel >= 1225) return;\n"
    "  int x = pixel % 35, y = pixel / 35;\n"
    "  float sum = 0;\n"
    "  for (int v = -1; v <= 1; v++)\n"
    "    for (int u = -1; u <= 1; u++)\n"
    "      if (x + u >= 0 && x + u < 35 && y + v >= 0 && y + v < 35) sum += in[channel * 1225 + (y + v) * 35 + x + "
    "u];\n"
    "  out[channel * 1225 + pixel] = sum / 9;\n"
    "}\n"
    "extern \"C\" __global__ void windows(const float *in, float *out, int side) {\n"
    "  int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y, tap = blockIdx.z;\n"
    "  if (pixel >= 1225) return;\n"
    "  int x = pixel % 35 + tap % side - side / 2, y = pixel / 35 + tap / side - side / 2;\n"
    "  bool inside = x >= 0 && x < 35 && y >= 0 && y < 35;\n"
    "  out[(channel * side * side + tap) * 1225 + pixel] = inside ? in[channel * 1225 + y * 35 + x] : 0;\n"
    "}\n";

static void load(branches *net) {
  nvrtcProgram program;
  size_t bytes;
  CHECK(lib.p_nvrtcCreateProgram(&program, source, "branches.cu", 0, NULL, NULL));
  CHECK(lib.p_nvrtcCompileProgram(program, 0, NULL));
  CHECK(lib.p_nvrtcGetPTXSize(program, &bytes));
  char *ptx = malloc(bytes);
  if (ptx == NULL) exit(1);
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
  enum { THREADS = 256, BLOCKS = (BRANCHES_PIXELS + THREADS - 1) / THREADS };
  int channels = layer->from, side = layer->side, taps = side * side, inner = layer->from * taps;
  if (layer->pool) {
    void *parameters[] = {&input, &output, &channels};
    return (int)lib.p_cuLaunchKernel(net->pool, BLOCKS, (unsigned)channels, 1, THREADS, 1, 1, 0, stream, parameters,
                                     NULL);
  }
  if (side > 1) {
    void *parameters[] = {&input, &scratch, &side};
    int result = (int)lib.p_cuLaunchKernel(net->windows, BLOCKS, (unsigned)channels, (unsigned)taps, THREADS, 1, 1, 0,
                                           stream, parameters, NULL);
    if (result != 0) return result;
    input = scratch;
  }
  CUdeviceptr weights = net->weights[layer - net->layers];
  return (int)lib.p_cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, BRANCHES_PIXELS, layer->to, inner, &one,
                                (float *)(uintptr_t)input, BRANCHES_PIXELS, (float *)(uintptr_t)weights, inner, &zero,
                                (float *)(uintptr_t)output, BRANCHES_PIXELS);
}

// ---------------------------------------------------------------------------------------------------------------
// The network

static int activation(branches *net, int channels) {
  net->channels[net->activation_count] = channels;
  return net->activation_count++;
}

static int add(branches *net, int side, int from, int to, int input, int output, int output_first) {
  if (output < 0) output = activation(net, to);
  net->layers[net->layer_count++] = (net_layer){.pool = side == 0,
                                                .side = side,
                                                .from = from,
                                                .to = to,
                                                .input = input,
                                                .output = output,
                                                .output_first = output_first};
  return output;
}

// A block; `pooled`: channels of the branch with the pool. Returns its output.
static int add_block(branches *net, int input, int from, int pooled) {
  int output = activation(net, 224 + pooled);
  add(net, 1, from, 64, input, output, 0);
  add(net, 5, 48, 64, add(net, 1, from, 48, input, -1, 0), output, 64);
  add(net, 3, 96, 96, add(net, 3, 64, 96, add(net, 1, from, 64, input, -1, 0), -1, 0), output, 128);
  add(net, 1, from, pooled, add(net, 0, from, from, input, -1, 0), output, 224);
  return output;
}

// Random numbers from -scale to scale.
static CUdeviceptr random_memory(size_t count, float scale) {
  static unsigned state = 1;
  float *host = malloc(count * sizeof *host);
  CUdeviceptr memory;
  if (host == NULL) exit(1);
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
  int output = activation(net, 192);
  output = add_block(net, output, 192, 32);
  output = add_block(net, output, 256, 64);
  add_block(net, output, 288, 64);
  for (int i = 0; i < net->activation_count; i++)
    net->activations[i] = random_memory((size_t)net->channels[i] * BRANCHES_PIXELS, 1);
  for (int i = 0; i < net->layer_count; i++) {
    const net_layer *layer = &net->layers[i];
    size_t inner = (size_t)layer->from * (size_t)(layer->side * layer->side);
    if (layer->pool) continue;
    net->weights[i] = random_memory(inner * (size_t)layer->to, sqrtf(3 / (float)inner));
    if (layer->side > 1 && inner * BRANCHES_PIXELS * sizeof(float) > net->scratch_bytes)
      net->scratch_bytes = inner * BRANCHES_PIXELS * sizeof(float);
  }
}

double branches_sum(CUdeviceptr activations, int channels) {
  float *host = malloc(branches_bytes(channels));
  if (host == NULL) exit(1);
  CHECK(lib.p_cuMemcpyDtoH(host, activations, branches_bytes(channels)));
  double sum = 0;
  for (size_t i = 0; i < (size_t)channels * BRANCHES_PIXELS; i++) sum += fabs(host[i]);
  free(host);
  return sum;
}

// ---------------------------------------------------------------------------------------------------------------
// By hand: one stream, or one for each branch, captured

enum { STREAMS = 4 };

typedef struct hand_run {
  const branches *net;
  call_lane lanes[STREAMS];
  CUdeviceptr scratch[STREAMS];
  CUevent fork, joins[STREAMS];
} hand_run;

static void enqueue_layer(hand_run *hand, const net_layer *layer, int stream) {
  const branches *net = hand->net;
  CHECK(branches_call(net, layer, hand->lanes[stream].blas, hand->lanes[stream].stream, net->activations[layer->input],
                      net->activations[layer->output] + branches_bytes(layer->output_first), hand->scratch[stream]));
}

// A block's layers are those of its four branches, of 1, 2, 3 and 2 layers.
static void enqueue_block(hand_run *hand, const net_layer *layers, int streams) {
  static const int branch_of[] = {0, 1, 1, 2, 2, 2, 3, 3};
  if (streams > 1) CHECK(lib.p_cuEventRecord(hand->fork, hand->lanes[0].stream));
  for (int s = 1; s < streams; s++) CHECK(lib.p_cuStreamWaitEvent(hand->lanes[s].stream, hand->fork, 0));
  for (int i = 0; i < 8; i++) enqueue_layer(hand, &layers[i], branch_of[i] % streams);
  for (int s = 1; s < streams; s++) {
    CHECK(lib.p_cuEventRecord(hand->joins[s], hand->lanes[s].stream));
    CHECK(lib.p_cuStreamWaitEvent(hand->lanes[0].stream, hand->joins[s], 0));
  }
}

static double by_hand(const branches *net, int streams, int passes, table *report) {
  hand_run hand = {.net = net};
  for (int s = 0; s < STREAMS; s++) {
    hand.lanes[s] = lane_create(1, NULL, 0);
    CHECK(lib.p_cuMemAlloc(&hand.scratch[s], net->scratch_bytes));
    CHECK(lib.p_cuEventCreate(&hand.joins[s], CU_EVENT_DISABLE_TIMING));
  }
  CHECK(lib.p_cuEventCreate(&hand.fork, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < net->layer_count; i += 8) enqueue_block(&hand, &net->layers[i], streams); // sets cuBLAS up
  CHECK(lib.p_cuCtxSynchronize());
  CUgraph graph;
  CUgraphExec exec;
  CHECK(lib.p_cuStreamBeginCapture(hand.lanes[0].stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < net->layer_count; i += 8) enqueue_block(&hand, &net->layers[i], streams);
  CHECK(lib.p_cuStreamEndCapture(hand.lanes[0].stream, &graph));
  CHECK(lib.p_cuGraphInstantiateWithFlags(&exec, graph, 0));
  double times[REPORT_MOST];
  for (int pass = 0; pass <= passes; pass++) {
    double start = report_now_us();
    CHECK(lib.p_cuGraphLaunch(exec, hand.lanes[0].stream));
    CHECK(lib.p_cuStreamSynchronize(hand.lanes[0].stream));
    times[pass] = report_now_us() - start;
  }
  report_add(report, "inception blocks", streams == 1 ? "captured in one stream" : "captured by hand, 4 streams", "us",
             times, passes + 1);
  int last = net->layers[net->layer_count - 1].output;
  double sum = branches_sum(net->activations[last], net->channels[last]);
  CHECK(lib.p_cuGraphExecDestroy(exec));
  CHECK(lib.p_cuGraphDestroy(graph));
  CHECK(lib.p_cuEventDestroy(hand.fork));
  for (int s = 0; s < STREAMS; s++) {
    CHECK(lib.p_cuMemFree(hand.scratch[s]));
    CHECK(lib.p_cuEventDestroy(hand.joins[s]));
    lane_destroy(&hand.lanes[s], true);
  }
  return sum;
}

void branches_measure(int passes, table *report) {
  branches net = {.layer_count = 0};
  create(&net);
  double expected = by_hand(&net, 1, passes, report);
  by_hand(&net, STREAMS, passes, report);
  branches_by_weir(&net, WEIR_ISSUE_QUEUES, false, expected, passes, report);
  branches_by_weir(&net, WEIR_ISSUE_AUTO, false, expected, passes, report);
  branches_by_weir(&net, WEIR_ISSUE_AUTO, true, expected, passes, report);
  for (int i = 0; i < net.activation_count; i++) CHECK(lib.p_cuMemFree(net.activations[i]));
  for (int i = 0; i < net.layer_count; i++) {
    if (net.weights[i] != 0) CHECK(lib.p_cuMemFree(net.weights[i]));
  }
}
