// SPDX-License-Identifier: Apache-2.0
//
// Each call of each function of OpenCL that Weir makes fails in turn, some with the next two, in each kind of memory:
// copies, fills, kernels, enqueue functions, graphs in all queues and timed ones, images, memory that is not aligned,
// code from source and from the cache. What is reported as done is right, what is not says why, and nothing is left.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/opencl/symbols.h"
#include "fault_loader.h"
#include "faults.h"
#include "leaks.h"
#include "scratch.h"
#include "sweep.h"
#include "weir/enqueue.h"
#include "weir/opencl.h"

#define DECLARE(result, name, need, parameters) result name parameters;
WEIR__OPENCL_SYMBOLS(DECLARE)
#undef DECLARE

enum {
  COUNT = 256,
  BYTES = COUNT * 4,
  SIDE = 16, // of an image
  MOST_BUFFERS = 16,
  MOST_CALLS = 600,
  MOST_STATUSES = 20, // how many are asked for depends on time
  OUT_OF_RESOURCES = -5
};

static const char source[] =
    "__kernel void add(__global uint *to, __global const uint *from, uint value) {\n"
    "  to[get_global_id(0)] = from[get_global_id(0)] + value;\n"
    "}\n"
    "__kernel void load(__global uint *to, read_only image2d_t from, sampler_t how, uint value) {\n"
    "  int i = get_global_id(0);\n"
    "  to[i] = read_imageui(from, how, (float2)((i % 16 + 0.5f) / 16, (i / 16 + 0.5f) / 16)).x + value;\n"
    "}\n";

// A buffer, and what it should hold.
typedef struct holder {
  weir_buffer *buffer;
  uint32_t wanted[COUNT], found[COUNT];
  weir_event *event; // of the copy to `found`
} holder;

typedef struct play {
  weir_status status; // of the calls so far; after the first that is refused there are no more
  weir_context *context;
  weir_kernel *add, *load, *call; // `call`: an enqueue function
  weir_graph *graph;              // not NULL: what is next is recorded
  weir_graph *graphs[2];
  holder holders[MOST_BUFFERS];
  uint32_t count;
  uint32_t input[COUNT];
  _Alignas(4) unsigned char memory[BYTES + 1];
} play;

#define DO(call)                                                                                                       \
  do {                                                                                                                 \
    if (p->status == WEIR_OK) p->status = (call);                                                                      \
  } while (false)

static holder *make_buffer(play *p) {
  holder *made = &p->holders[p->count++];
  DO(weir_buffer_create(p->context, BYTES, &made->buffer));
  return made;
}

// Of the caller's, at an odd address.
static holder *make_unaligned(play *p) {
  holder *made = &p->holders[p->count++];
  DO(weir_buffer_wrap(p->context, p->memory + 1, BYTES, &made->buffer));
  return made;
}

static holder *make_image(play *p) {
  const weir_image_info info = {.dimensions = 2,
                                .width = SIDE,
                                .height = SIDE,
                                .type = WEIR_IMAGE_UINT32,
                                .channels = 1,
                                .storage = true,
                                .sampled = true};
  holder *made = &p->holders[p->count++];
  DO(weir_image_create(weir_context_device(p->context, 0), &info, &made->buffer));
  return made;
}

static void begin_graph(play *p, uint32_t index, const weir_graph_options *options) {
  DO(weir_graph_create(p->context, options, &p->graphs[index]));
  p->graph = p->graphs[index];
}

static void launch_graph(play *p) {
  DO(weir_graph_launch(p->graph, NULL));
  p->graph = NULL;
}

static void copy_in(play *p, holder *to) {
  DO(weir_copy_in(to->buffer, 0, BYTES, p->input, NULL));
  memcpy(to->wanted, p->input, BYTES);
}

static void copy(play *p, holder *to, const holder *from) {
  if (p->graph != NULL)
    DO(weir_graph_copy(p->graph, to->buffer, 0, from->buffer, 0, BYTES, NULL));
  else
    DO(weir_copy(to->buffer, 0, from->buffer, 0, BYTES, NULL));
  memcpy(to->wanted, from->wanted, BYTES);
}

static void fill(play *p, holder *to, uint32_t first, uint32_t count, uint32_t pattern) {
  if (p->graph != NULL)
    DO(weir_graph_fill(p->graph, to->buffer, first * 4, count * 4, pattern, NULL));
  else
    DO(weir_fill(to->buffer, first * 4, count * 4, pattern, NULL));
  for (uint32_t i = 0; i < count; i++) to->wanted[first + i] = pattern;
}

static void run(play *p, weir_kernel *kernel, holder *to, const holder *from, uint32_t value) {
  const weir_arg args[] = {weir_writes(to->buffer), weir_reads(from->buffer), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {COUNT}};
  if (p->graph != NULL)
    DO(weir_graph_add(p->graph, &task, NULL));
  else
    DO(weir_submit(p->context, &task, NULL));
  for (uint32_t i = 0; i < COUNT; i++) to->wanted[i] = from->wanted[i] + value;
}

static weir_status copy_by_call(const weir_enqueue *call) {
  const weir_enqueue_arg *to = &call->args[0], *from = &call->args[1];
  cl_int result = to->handle != 0
                      ? clEnqueueCopyBuffer(call->queue, (cl_mem)(uintptr_t)from->handle, (cl_mem)(uintptr_t)to->handle,
                                            from->offset, to->offset, BYTES, 0, NULL, NULL)
                      : clEnqueueSVMMemcpy(call->queue, CL_FALSE, (void *)(uintptr_t)to->pointer,
                                           (const void *)(uintptr_t)from->pointer, BYTES, 0, NULL, NULL);
  if (result == CL_SUCCESS) return WEIR_OK;
  weir_enqueue_fail(call, "the driver refused");
  return WEIR_ERROR_TASK_FAILED;
}

static void call(play *p, holder *to, const holder *from) {
  const weir_arg args[] = {weir_writes(to->buffer), weir_reads(from->buffer)};
  const weir_task task = {.kernel = p->call, .args = args, .arg_count = 2};
  if (p->graph != NULL)
    DO(weir_graph_add(p->graph, &task, NULL));
  else
    DO(weir_submit(p->context, &task, NULL));
  memcpy(to->wanted, from->wanted, BYTES);
}

static weir_kernel *make_kernel(play *p, const char *entry) {
  weir_kernel *kernel = NULL;
  DO(weir_kernel_create(p->context, entry, &kernel));
  DO(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source}, &(weir_opencl_launch){.entry = entry}));
  return kernel;
}

static void use_images(play *p, bool objects) {
  holder *image = make_image(p), *other = make_image(p), *buffer = make_buffer(p);
  copy_in(p, image);
  copy(p, other, image);
  run(p, p->load, buffer, other, 3);
  if (!objects) return; // there no command copies between an image and a buffer
  holder *another = make_buffer(p);
  copy(p, image, buffer);
  copy(p, another, image);
}

static void use_all(play *p, const char *memory) {
  holder *first = make_buffer(p), *second = make_buffer(p), *third = make_buffer(p), *odd = make_unaligned(p);
  holder *fourth = make_buffer(p), *fifth = make_buffer(p), *sixth = make_buffer(p), *seventh = make_buffer(p);
  holder *eighth = make_buffer(p);
  copy_in(p, first);
  copy(p, second, first);
  fill(p, second, 32, 64, 7);
  run(p, p->add, third, second, 5);
  fill(p, odd, 0, COUNT, 0x01020304);
  copy(p, fourth, odd);
  call(p, eighth, second);
  begin_graph(p, 0, NULL);
  fill(p, fifth, 0, COUNT, 9);
  fill(p, odd, 8, 40, 0x05060708);
  run(p, p->add, sixth, third, 1);
  copy(p, seventh, odd);
  run(p, p->add, fourth, fifth, 2);
  call(p, first, eighth);
  call(p, eighth, fourth);
  launch_graph(p);
  begin_graph(p, 1, &(weir_graph_options){.queue = 1, .timing = true});
  copy(p, fifth, seventh);
  call(p, second, fifth);
  run(p, p->add, third, fifth, 4);
  launch_graph(p);
  if (strcmp(memory, "host") != 0) use_images(p, strcmp(memory, "objects") == 0);
  for (uint32_t i = 0; i < p->count; i++)
    DO(weir_copy_out(p->holders[i].buffer, 0, BYTES, p->holders[i].found, &p->holders[i].event));
}

// `fresh`: the cache is empty, so that code is built from source first, in a context of its own.
static void open_and_build(play *p, const weir_context_options *options, bool fresh) {
  if (fresh) {
    scratch_remove();
    scratch_create();
    DO(weir_context_create(options, &p->context));
    weir_kernel_release(make_kernel(p, "add"));
    weir_context_release(p->context);
    p->context = NULL;
  }
  DO(weir_context_create(options, &p->context));
  p->add = make_kernel(p, "add");
  p->load = make_kernel(p, "load");
  DO(weir_kernel_create(p->context, "call", &p->call));
  DO(weir_kernel_set_enqueue(p->call, "opencl", &(weir_enqueue_code){.function = copy_by_call}));
}

static void check(play *p, const char *function, const char *what) {
  for (uint32_t i = 0; i < p->count; i++)
    if (p->holders[i].event != NULL) weir_event_wait(p->holders[i].event, WEIR_FOREVER);
  bool came = fault_loader_failed();
  for (uint32_t i = 0; i < p->count; i++) {
    holder *of = &p->holders[i];
    weir_status status = of->event == NULL ? WEIR_PENDING : weir_event_poll(of->event);
    if (status == WEIR_OK && memcmp(of->found, of->wanted, BYTES) != 0) faults_wrong("%s: buffer %u is wrong", what, i);
    if (status == WEIR_OK || status == WEIR_PENDING) continue;
    const char *message = weir_event_message(of->event);
    if (!came) faults_wrong("%s: buffer %u: %s, though no call failed", what, i, message);
    if (!faults_are_documented(status) || message[0] == '\0')
      faults_wrong("%s: buffer %u: %s: '%s'", what, i, weir_status_name(status), message);
  }
  if (p->status == WEIR_OK) return;
  // Without what the driver tells of arguments, a sampler is one.
  bool untold = p->status == WEIR_ERROR_INVALID_ARGUMENT && strcmp(function, "clGetKernelArgInfo") == 0;
  if (!came) faults_wrong("%s: %s, though no call failed", what, weir_last_error());
  if (!faults_are_documented(p->status) && !untold)
    faults_wrong("%s: %s: %s", what, weir_status_name(p->status), weir_last_error());
}

static void release(play *p) {
  for (int i = 0; i < 2; i++) weir_graph_release(p->graphs[i]);
  for (uint32_t i = 0; i < p->count; i++) {
    weir_event_release(p->holders[i].event);
    weir_buffer_release(p->holders[i].buffer);
  }
  weir_kernel_release(p->add);
  weir_kernel_release(p->load);
  weir_kernel_release(p->call);
  weir_context_release(p->context);
}

// Whether the Nth call of the function came, and failed.
static bool fails(const char *memory, const char *function, uint64_t n) {
  static play p;
  char what[160];
  snprintf(what, sizeof what, "memory '%s', call %llu of %s", memory, (unsigned long long)n, function);
  memset(&p, 0, sizeof p);
  for (uint32_t i = 0; i < COUNT; i++) p.input[i] = i * 2654435761u;
  const weir_context_options options = {.devices = "opencl", .queues = 3, .flags = n % 2 == 0 ? WEIR_CONTEXT_TRACE : 0};
  alarm(60);
  fault_loader_fail(function, n, OUT_OF_RESOURCES);
  if (n % 3 == 0) fault_loader_fail_also(function, 2);
  open_and_build(&p, &options, strstr(function, "Program") != NULL);
  if (p.status == WEIR_OK) use_all(&p, memory);
  check(&p, function, what);
  bool came = fault_loader_failed();
  fault_loader_fail("", 0, 0);
  release(&p);
  alarm(0);
  if (fault_loader_live() != 0) faults_wrong("%s: %lld objects are left", what, (long long)fault_loader_live());
  return came;
}

// All but those whose failure is an object that is left, and those that the loader does not let fail.
static bool is_swept(const char *function) {
  static const char *const others[] = {"clSVMFree", "clGetPlatformIDs", "clGetDeviceInfo"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(function, others[i]) == 0) return false;
  return strncmp(function, "clRelease", strlen("clRelease")) != 0;
}

static void each_call_fails(const char *memory, uint32_t least) {
#define NAME(result, name, need, parameters) #name,
  static const char *const functions[] = {WEIR__OPENCL_SYMBOLS(NAME)};
#undef NAME
  uint32_t count = 0;
  scratch_create();
  setenv("WEIR_OPENCL_MEMORY", memory, 1);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (!is_swept(functions[i])) continue;
    uint64_t n = 1, most = strcmp(functions[i], "clGetEventInfo") == 0 ? MOST_STATUSES : MOST_CALLS;
    while (n < most && fails(memory, functions[i], n)) n = sweep_after(n);
    count += n > 1;
    assert_true(n < MOST_CALLS);
  }
  unsetenv("WEIR_OPENCL_MEMORY");
  scratch_remove();
  faults_expect_none();
  assert_true(count >= least);
}

static void in_the_hosts_memory(void **state) {
  (void)state;
  each_call_fails("host", 20);
}

static void in_shared_memory(void **state) {
  (void)state;
  each_call_fails("device", 26);
}

static void in_objects(void **state) {
  (void)state;
  each_call_fails("objects", 28);
}

static void nothing_leaked(void **state) {
  (void)state;
  check_leaks();
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  weir_context *context = NULL; // so that the device is known to work in the host's memory
  if (weir_context_create(&(weir_context_options){.devices = "opencl"}, &context) != WEIR_OK) return 1;
  weir_context_release(context);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_the_hosts_memory),
      cmocka_unit_test(in_shared_memory),
      cmocka_unit_test(in_objects),
      cmocka_unit_test(nothing_leaked),
  };
  return cmocka_run_group_tests_name("OpenCL: each call fails", tests, NULL, NULL);
}
