// SPDX-License-Identifier: Apache-2.0
//
// A program with CUDA code of its own (the runtime's interface, kernels, a stream) that hands a part of its work to Weir:
//
//   its stream:  fill x                                            sum += y   fill x ...
//   Weir:                 squares = x * x, y = squares + x, part by part
//
// The two share memory (cudaMalloc) and order: Weir's tasks start when `fill` is done, `sum` starts when they are done,
// and the host waits for nothing before the end. In half of the rounds all of Weir waits for the stream, and the stream
// for all of Weir; in the others they wait for each other on x and on y only, so that other tasks of a larger program
// would go on. All parts use the same buffer `squares`; Weir gives each one storage of its own, so that parts overlap.
//
// Exit status: 0 the sums are right; 1 they are not, or something failed; 3 this machine lacks what it takes.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include <weir/cuda.h>
#include <weir/external.h>

enum { COUNT = 1 << 20, PARTS = 8, PART = COUNT / PARTS, THREADS = 256, ROUNDS = 10, PERIOD = 1000 };

// The program's own kernels.
static __global__ void fill(float *x, int round) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = (float)((i + round) % PERIOD);
}

static __global__ void accumulate(float *sum, const float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sum[i] += y[i];
}

// Weir's.
static const char SOURCE[] = R"(
extern "C" __global__ void square(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * in[i];
}

extern "C" __global__ void add(float *out, const float *a, const float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] + b[i];
}
)";

[[noreturn]] static void stop(int status, const char *what, const char *why) {
  fprintf(stderr, "interop: %s: %s\n", what, why);
  exit(status);
}

static void check(cudaError_t error, const char *what) {
  if (error != cudaSuccess) stop(1, what, cudaGetErrorString(error));
}

static void check(weir_status status, const char *what) {
  if (status != WEIR_OK) stop(status == WEIR_ERROR_UNAVAILABLE ? 3 : 1, what, weir_last_error());
}

static weir_kernel *make_kernel(weir_context *context, const char *name) {
  weir_kernel *kernel;
  weir_cuda_code code = {};
  weir_cuda_launch launch = {};
  code.source = SOURCE;
  launch.function = name;
  launch.block[0] = THREADS;
  check(weir_kernel_create(context, name, &kernel), name);
  check(weir_kernel_set_cuda(kernel, &code, &launch, 1), name);
  return kernel;
}

static void submit(weir_context *context, const char *name, weir_kernel *kernel, const weir_arg *args,
                   uint32_t arg_count) {
  weir_task task = {};
  task.kernel = kernel;
  task.args = args;
  task.arg_count = arg_count;
  task.groups[0] = PART / THREADS;
  check(weir_submit(context, &task, nullptr), name);
}

static bool is_right(const std::vector<float> &sum) {
  for (int i = 0; i < COUNT; i++) {
    float wanted = 0; // small whole numbers: exact
    for (int round = 0; round < ROUNDS; round++) {
      float x = (float)((i + round) % PERIOD);
      wanted += x * x + x;
    }
    if (sum[i] == wanted) continue;
    fprintf(stderr, "interop: sum %d is %.1f, not %.1f\n", i, sum[i], wanted);
    return false;
  }
  return true;
}

// Later tasks that conflict with what the stream did to the buffer so far come after it.
static void follow_stream(weir_device *device, cudaStream_t stream, weir_buffer *buffer, weir_mode mode) {
  weir_event *outside;
  check(weir_cuda_import_stream(device, stream, &outside), "import");
  check(weir_buffer_follow(buffer, mode, outside), "follow");
  weir_event_release(outside);
}

// The same, by an event of the program's, which must stay as it is until it is done.
static void follow_event(weir_device *device, cudaEvent_t event, weir_buffer *buffer, weir_mode mode) {
  weir_event *outside;
  check(weir_cuda_import_event(device, event, &outside), "import");
  check(weir_buffer_follow(buffer, mode, outside), "follow");
  weir_event_release(outside);
}

// Later work of the stream comes after the tasks that conflict with its access to the buffer.
static void follow_buffer(weir_device *device, cudaStream_t stream, weir_buffer *buffer, weir_mode mode) {
  weir_event *users;
  check(weir_buffer_event(buffer, mode, &users), "event of a buffer");
  check(weir_cuda_stream_waits_for_tasks(device, stream, users), "the stream behind a buffer");
  weir_event_release(users);
}

int main() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) stop(3, "CUDA runtime", cudaGetErrorString(error));

  float *x, *y, *sum;
  cudaStream_t stream;
  check(cudaSetDevice(0), "device 0");
  check(cudaMalloc(&x, COUNT * sizeof *x), "x");
  check(cudaMalloc(&y, COUNT * sizeof *y), "y");
  check(cudaMalloc(&sum, COUNT * sizeof *sum), "sum");
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaMemsetAsync(sum, 0, COUNT * sizeof *sum, stream), "sum");

  weir_context *context;
  weir_context_options options = {};
  options.devices = "cuda:0";
  check(weir_context_create(&options, &context), "Weir");
  weir_device *device = weir_context_device(context, 0);
  weir_kernel *square = make_kernel(context, "square"), *add = make_kernel(context, "add");
  weir_buffer *shared_x, *shared_y, *squares;
  check(weir_buffer_wrap_cuda(device, (uint64_t)x, COUNT * sizeof *x, &shared_x), "x");
  check(weir_buffer_wrap_cuda(device, (uint64_t)y, COUNT * sizeof *y, &shared_y), "y");
  check(weir_buffer_create(context, PART * sizeof(float), &squares), "squares");

  cudaEvent_t summed[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    bool all = round % 2 == 0;
    check(cudaEventCreateWithFlags(&summed[round], cudaEventDisableTiming), "event");
    fill<<<COUNT / THREADS, THREADS, 0, stream>>>(x, round);
    check(cudaGetLastError(), "fill");
    if (all)
      check(weir_cuda_tasks_wait_for_stream(device, stream), "Weir behind the stream");
    else
      follow_stream(device, stream, shared_x, WEIR_WRITE);
    for (int part = 0; part < PARTS; part++) {
      uint64_t bytes = PART * sizeof(float), offset = part * bytes;
      weir_arg of_square[] = {weir_writes(squares), weir_reads_range(shared_x, offset, bytes)};
      weir_arg of_add[] = {weir_writes_range(shared_y, offset, bytes), weir_reads(squares),
                           weir_reads_range(shared_x, offset, bytes)};
      submit(context, "square", square, of_square, 2);
      submit(context, "add", add, of_add, 3);
    }
    if (all)
      check(weir_cuda_stream_waits_for_tasks(device, stream, nullptr), "the stream behind Weir");
    else
      follow_buffer(device, stream, shared_y, WEIR_READ); // whose writers come after all readers of x
    accumulate<<<COUNT / THREADS, THREADS, 0, stream>>>(sum, y);
    check(cudaGetLastError(), "accumulate");
    check(cudaEventRecord(summed[round], stream), "event");
    if (!all) follow_event(device, summed[round], shared_y, WEIR_READ);
  }

  std::vector<float> result(COUNT);
  check(cudaMemcpyAsync(result.data(), sum, COUNT * sizeof *sum, cudaMemcpyDeviceToHost, stream), "copy");
  check(cudaStreamSynchronize(stream), "stream");
  check(weir_finish(context), "Weir");
  bool right = is_right(result);
  printf("%s: %d rounds on %s, %s\n", right ? "right" : "wrong", ROUNDS, weir_device_information(device)->name,
         weir_device_information(device)->description);
  weir_context_release(context);
  for (cudaEvent_t event : summed) cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  cudaFree(x);
  cudaFree(y);
  cudaFree(sum);
  return right && fflush(stdout) == 0 ? 0 : 1;
}
