// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <stdio.h>
#include <stdlib.h>

#include "layers.kernels.h"
#include "weights.h"
#include "weir/sim.h"

struct network {
  network_shape shape;
  network_weights weights;
  weir_context *context;
  weir_kernel *relu, *add, *join, *depthwise, *pointwise, *average, *gate;
  uint32_t tasks; // of the input that runs
  bool failed;
};

static bool check(network *self, weir_status status) {
  if (status != WEIR_OK && !self->failed) {
    fprintf(stderr, "dynroute: %s: %s\n", weir_status_name(status), weir_last_error());
    self->failed = true;
  }
  return status == WEIR_OK;
}

int network_map_count(const network_shape *shape) {
  return shape->channels * shape->size * shape->size;
}

weir_context *network_context(network *self) {
  return self->context;
}

// Creates a kernel; on a simulated device it takes what layers of this kind took in the stream dynroute_a.
static void create_kernel(network *self, const weir_kernel_code *code, double us, weir_kernel **out_kernel) {
  if (!check(self, weir_kernel_create_from(self->context, code, out_kernel))) return;
  uint32_t threads = code->block[0] * code->block[1] * code->block[2];
  weir_sim_launch launch = {.name = code->name, .threads = threads, .registers = 32, .shared_bytes = 4096, .us = us};
  check(self, weir_kernel_set_sim(*out_kernel, &launch, 1));
}

static void create_kernels(network *self) {
  create_kernel(self, &relu, 1.2, &self->relu);
  create_kernel(self, &add, 1.3, &self->add);
  create_kernel(self, &join, 1.2, &self->join);
  create_kernel(self, &depthwise, 3.5, &self->depthwise);
  create_kernel(self, &pointwise, 5.6, &self->pointwise);
  create_kernel(self, &average, 7.6, &self->average);
  create_kernel(self, &gate, 2.0, &self->gate);
}

weir_status network_create(const network_shape *shape, const char *devices, uint32_t context_flags, weir_issue issue,
                           network **out_network) {
  *out_network = NULL;
  network *self = calloc(1, sizeof *self);
  if (!self) return WEIR_ERROR_OUT_OF_MEMORY;
  self->shape = *shape;
  weir_context_options options = {.devices = devices, .flags = context_flags, .issue = issue};
  weir_status status = weir_context_create(&options, &self->context);
  if (check(self, status)) {
    create_kernels(self);
    if (!self->failed) check(self, network_weights_create(self->context, shape, &self->weights));
    if (self->failed) status = WEIR_ERROR_TASK_FAILED;
  }
  if (status != WEIR_OK) {
    network_release(self);
    return status;
  }
  *out_network = self;
  return WEIR_OK;
}

void network_release(network *self) {
  if (!self) return;
  weir_context_release(self->context); // and with it the kernels and buffers
  free(self);
}

static weir_buffer *new_buffer(network *self, int count, const char *label) {
  weir_buffer *buffer = NULL;
  if (self->failed) return NULL;
  check(self, weir_buffer_create(self->context, (uint64_t)count * sizeof(float), &buffer));
  if (buffer) weir_buffer_set_label(buffer, label);
  return buffer;
}

static weir_buffer *new_map(network *self) {
  return new_buffer(self, network_map_count(&self->shape), "map");
}

static void submit(network *self, weir_kernel *kernel, int x, int y, int z, const weir_arg *args, uint32_t arg_count,
                   uint32_t device) {
  if (self->failed) return;
  weir_task task = {.kernel = kernel, .args = args, .arg_count = arg_count};
  task.groups[0] = (uint32_t)x;
  task.groups[1] = (uint32_t)y;
  task.groups[2] = (uint32_t)z;
  task.device = weir_context_device(self->context, device % weir_context_device_count(self->context));
  check(self, weir_submit(self->context, &task, NULL));
  self->tasks++;
}

// Every layer makes a new buffer. The functions called "into" release what they read: its storage is used again as soon as
// its last reader is done, and nothing waits for that.

static weir_buffer *relu_of(network *self, weir_buffer *in, uint32_t device) {
  weir_buffer *out = new_map(self);
  weir_arg args[] = {weir_reads(in), weir_writes(out)};
  submit(self, self->relu, network_map_count(&self->shape) / 256, 1, 1, args, 2, device);
  return out;
}

static weir_buffer *depthwise_into(network *self, weir_buffer *in, weir_buffer *weights, uint32_t device) {
  weir_buffer *out = new_map(self);
  int32_t size = self->shape.size;
  weir_arg args[] = {weir_reads(in), weir_reads(weights), weir_writes(out), weir_value(&size, sizeof size)};
  submit(self, self->depthwise, (size + 31) / 32, (size + 7) / 8, self->shape.channels, args, 4, device);
  weir_buffer_release(in);
  return out;
}

static weir_buffer *pointwise_into(network *self, weir_buffer *in, int in_channels, weir_buffer *weights,
                                   weir_buffer *scale_shift, uint32_t device) {
  weir_buffer *out = new_map(self);
  int32_t pixels = self->shape.size * self->shape.size, inputs = in_channels, outputs = self->shape.channels;
  weir_arg args[] = {weir_reads(in),
                     weir_reads(weights),
                     weir_reads(scale_shift),
                     weir_writes(out),
                     weir_value(&pixels, sizeof pixels),
                     weir_value(&inputs, sizeof inputs),
                     weir_value(&outputs, sizeof outputs)};
  submit(self, self->pointwise, (pixels + 31) / 32, outputs / 32, 1, args, 7, device);
  weir_buffer_release(in);
  return out;
}

static weir_buffer *add_into(network *self, weir_buffer *a, weir_buffer *b) {
  weir_buffer *out = new_map(self);
  weir_arg args[] = {weir_reads(a), weir_reads(b), weir_writes(out)};
  submit(self, self->add, network_map_count(&self->shape) / 256, 1, 1, args, 3, 0);
  weir_buffer_release(a);
  weir_buffer_release(b);
  return out;
}

static weir_buffer *join_into(network *self, weir_buffer *in, weir_buffer *sum, int count) {
  weir_buffer *out = new_map(self);
  float branches = (float)count;
  weir_arg args[] = {weir_reads(in), weir_reads(sum), weir_writes(out), weir_value(&branches, sizeof branches)};
  submit(self, self->join, network_map_count(&self->shape) / 256, 1, 1, args, 4, 0);
  weir_buffer_release(in);
  weir_buffer_release(sum);
  return out;
}

// Copies a buffer to the host and waits for it.
static void read_back(network *self, weir_buffer *buffer, int count, float *out_numbers) {
  if (self->failed) return;
  if (check(self, weir_read(buffer, 0, (uint64_t)count * sizeof(float), out_numbers))) self->tasks++;
}

// The branches of a cell that the data opens, a bit each: those whose gates are positive, or else that with the greatest.
static uint8_t choose_route(network *self, weir_buffer *in, const cell_weights *cell) {
  int32_t channels = self->shape.channels, pixels = self->shape.size * self->shape.size, count = cell->branch_count;
  weir_buffer *means = new_buffer(self, channels, "means");
  weir_arg average_args[] = {weir_reads(in), weir_writes(means), weir_value(&pixels, sizeof pixels)};
  submit(self, self->average, channels, 1, 1, average_args, 3, 0);
  weir_buffer *gates = new_buffer(self, count, "gates");
  weir_arg gate_args[] = {weir_reads(means), weir_reads(cell->gate), weir_writes(gates),
                          weir_value(&channels, sizeof channels), weir_value(&count, sizeof count)};
  submit(self, self->gate, 1, 1, 1, gate_args, 5, 0);
  float values[NETWORK_MAX_BRANCHES] = {0};
  read_back(self, gates, count, values);
  weir_buffer_release(means);
  weir_buffer_release(gates);

  uint8_t route = 0;
  int greatest = 0;
  for (int i = 0; i < count; i++) {
    if (values[i] > 0) route |= (uint8_t)(1u << i);
    if (values[i] > values[greatest]) greatest = i;
  }
  if (route == 0) route = (uint8_t)(1u << greatest);
  return route;
}

static weir_buffer *run_branch(network *self, weir_buffer *in, const branch_weights *branch, uint32_t device) {
  weir_buffer *map = in;
  for (int i = 0; i < branch->depth; i++) {
    weir_buffer *positive = relu_of(self, map, device);
    if (map != in) weir_buffer_release(map);
    weir_buffer *filtered = depthwise_into(self, positive, branch->depthwise[i], device);
    map = pointwise_into(self, filtered, self->shape.channels, branch->pointwise[i], branch->scale_shift[i], device);
  }
  return map;
}

static weir_buffer *run_cell(network *self, weir_buffer *in, const cell_weights *cell, uint8_t *out_route) {
  *out_route = choose_route(self, in, cell);
  weir_buffer *outputs[NETWORK_MAX_BRANCHES] = {NULL};
  int count = 0;
  for (int i = 0; i < cell->branch_count; i++) {
    if ((*out_route >> i & 1) == 0) continue;
    outputs[count] = run_branch(self, in, &cell->branches[i], (uint32_t)count);
    count++;
  }
  weir_buffer *sum = outputs[0];
  for (int i = 1; i < count; i++) sum = add_into(self, sum, outputs[i]);
  return join_into(self, in, sum, count);
}

static double time_now(network *self) {
  return 1e-3 * (double)weir_device_time(weir_context_device(self->context, 0));
}

bool network_run(network *self, const float *image, network_result *out_result) {
  self->tasks = 0;
  double start = time_now(self);
  int image_count = NETWORK_IMAGE_CHANNELS * self->shape.size * self->shape.size;
  weir_buffer *in = new_buffer(self, image_count, "image");
  if (!self->failed) check(self, weir_copy_in(in, 0, (uint64_t)image_count * sizeof(float), image, NULL));
  self->tasks++;
  weir_buffer *map =
      pointwise_into(self, in, NETWORK_IMAGE_CHANNELS, self->weights.stem, self->weights.stem_scale_shift, 0);
  for (int i = 0; i < self->shape.cells; i++) {
    map = run_cell(self, map, &self->weights.cells[i], &out_result->routes[i]);
  }
  read_back(self, map, network_map_count(&self->shape), out_result->map);
  weir_buffer_release(map);
  out_result->us = time_now(self) - start;
  out_result->tasks = self->tasks;
  return !self->failed;
}
