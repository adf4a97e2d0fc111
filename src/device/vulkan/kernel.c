// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/host.h"
#include "device/use.h"
#include "device/vulkan/vulkan.h"

static void destroy(weir__code *head) {
  weir__vulkan_kernel *vulkan = (weir__vulkan_kernel *)head;
  for (uint32_t i = 0; i < vulkan->count; i++) weir__free(vulkan->launches[i].value);
  weir__free(vulkan);
}

bool weir__vulkan_kernel_has_code(const weir__vulkan_kernel *vulkan, uint32_t device) {
  if (vulkan == NULL || device >= WEIR__MAX_DEVICES) return false;
  for (uint32_t i = 0; i < vulkan->count; i++)
    if (vulkan->launches[i].pipelines[device] == NULL) return false;
  return true;
}

static weir_status no_memory(const weir_kernel *kernel) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its launches", kernel->name);
}

static weir_status check_launch(const weir_kernel *kernel, uint32_t index, const weir_vulkan_launch *launch) {
  if (launch->constants == NULL && launch->constant_count > 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', launch %u: the list of constants is NULL",
                       kernel->name, index);
  if (launch->value != NULL && launch->value_bytes == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', launch %u: a value of 0 bytes", kernel->name, index);
  return WEIR_OK;
}

static weir_status check_code(const weir_kernel *kernel, const weir_vulkan_code *code,
                              const weir_vulkan_launch *launches, uint32_t count) {
  if (count == 0) {
    if (code == NULL) return WEIR_OK;
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': code, but no launch", kernel->name);
  }
  if (code == NULL || code->words == NULL || launches == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': %s is NULL", kernel->name,
                       code == NULL || code->words == NULL ? "the code" : "the list of launches");
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) status = check_launch(kernel, i, &launches[i]);
  return status;
}

// Copies what a launch says, apart from its shader.
static weir_status copy_launch(const weir_kernel *kernel, const weir_vulkan_launch *from, weir__vulkan_launch *to) {
  if (weir__sets_reserved(from->reserved))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', a launch: " WEIR__RESERVED_TEXT, kernel->name);
  bool own_groups = from->groups[0] != 0 || from->groups[1] != 0 || from->groups[2] != 0;
  for (int i = 0; i < 3; i++) to->groups[i] = own_groups && from->groups[i] == 0 ? 1 : from->groups[i];
  if (from->value == NULL) return WEIR_OK;
  to->value = weir__allocate(from->value_bytes);
  if (to->value == NULL) return no_memory(kernel);
  memcpy(to->value, from->value, from->value_bytes);
  to->value_bytes = from->value_bytes;
  return WEIR_OK;
}

static weir_status make_launches(const weir_kernel *kernel, const weir_vulkan_launch *launches, uint32_t count,
                                 weir__vulkan_kernel **out_vulkan) {
  *out_vulkan = NULL;
  weir__vulkan_kernel *vulkan = weir__allocate_zeroed(sizeof *vulkan + count * sizeof vulkan->launches[0]);
  if (vulkan == NULL) return no_memory(kernel);
  vulkan->head.destroy = destroy;
  vulkan->count = count;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++)
    status = copy_launch(kernel, &launches[i], &vulkan->launches[i]);
  if (status == WEIR_OK)
    *out_vulkan = vulkan;
  else
    destroy(&vulkan->head);
  return status;
}

static bool groups_fit(const weir_device *device, const uint32_t groups[3]) {
  const uint32_t *most = weir__vulkan_device_facts(device)->properties.limits.maxComputeWorkGroupCount;
  return groups[0] <= most[0] && groups[1] <= most[1] && groups[2] <= most[2];
}

static weir_status too_many_groups(const weir_device *device, const char *what, const uint32_t groups[3]) {
  const uint32_t *most = weir__vulkan_device_facts(device)->properties.limits.maxComputeWorkGroupCount;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u x %u x %u work-groups; %s allows %u x %u x %u", what,
                     groups[0], groups[1], groups[2], device->name, most[0], most[1], most[2]);
}

// Makes a launch's pipeline on one device, and checks what does not depend on the task.
static weir_status prepare(weir_device *device, const weir_kernel *kernel, uint32_t index, const weir_vulkan_code *code,
                           const weir_vulkan_launch *given, weir__vulkan_launch *launch) {
  char what[WEIR__WHAT_BYTES];
  snprintf(what, sizeof what, "kernel '%.47s', launch %u", kernel->name, index);
  if (!groups_fit(device, launch->groups)) return too_many_groups(device, what, launch->groups);
  const weir__vulkan_pipeline *pipeline = NULL;
  weir_status status = weir__vulkan_pipeline_get(weir__vulkan_device_pipelines(device), what, code, given, &pipeline);
  if (status != WEIR_OK) return status;
  if (launch->value != NULL && launch->value_bytes != pipeline->layout->push_bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the shader's push constants have %u bytes, the value %u", what,
                       pipeline->layout->push_bytes, launch->value_bytes);
  launch->pipelines[device->index] = pipeline;
  return WEIR_OK;
}

weir_status weir_kernel_set_vulkan_sized(weir_kernel *kernel, const weir_vulkan_code *given, size_t code_size,
                                         const weir_vulkan_launch *launches, uint32_t count) {
  weir_vulkan_code taken, *code = given == NULL ? NULL : &taken;
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for Vulkan");
  if (status == WEIR_OK) status = weir__struct_take(&taken, sizeof taken, given, code_size, "kernel code for Vulkan");
  if (status == WEIR_OK) status = check_code(kernel, code, launches, count);
  if (status != WEIR_OK) return status;
  const weir__host *host = weir__host_of(kernel->object.context);
  weir__vulkan_kernel *vulkan = NULL;
  status = make_launches(kernel, launches, count, &vulkan);
  if (status != WEIR_OK) return status;
  uint32_t devices = 0;
  for (uint32_t i = 0; i < host->device_count && status == WEIR_OK; i++) {
    if (!weir__is_vulkan(host->devices[i])) continue;
    devices++;
    for (uint32_t j = 0; j < count && status == WEIR_OK; j++)
      status = prepare(host->devices[i], kernel, j, code, &launches[j], &vulkan->launches[j]);
  }
  if (devices == 0)
    status = weir__error(WEIR_ERROR_UNAVAILABLE, "kernel '%s': the context has no Vulkan device for this code",
                         kernel->name);
  if (status != WEIR_OK) {
    destroy(&vulkan->head);
    return status;
  }
  return weir__host_set_code(kernel, WEIR__CODE_VULKAN, &vulkan->head, "Vulkan code", NULL);
}

// What a task's arguments come to.
typedef struct arguments {
  uint32_t buffers;
  uint64_t value_bytes;
} arguments;

static arguments count_arguments(const weir_task *task) {
  arguments found = {0};
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode == WEIR_VALUE)
      found.value_bytes += task->args[i].bytes;
    else
      found.buffers++;
  }
  return found;
}

// The bytes of the push constants that a value at `at` could have: of the member that begins there; 0: there is none, or the
// value is that member and further ones.
static uint64_t expected_bytes(const weir__vulkan_pipeline *pipeline, uint64_t at, uint64_t bytes) {
  const weir__spirv_member *members = pipeline->members;
  for (uint32_t i = 0; i < pipeline->member_count; i++) {
    if (members[i].offset != at) continue;
    for (uint32_t j = i; j < pipeline->member_count; j++)
      if (members[j].offset + members[j].bytes == at + bytes) return 0;
    return members[i].bytes;
  }
  return 0;
}

static weir_status wrong_counts(const weir_task *task, uint32_t index, const weir__vulkan_pipeline *pipeline,
                                const arguments *given) {
  char what[WEIR__WHAT_BYTES], place[96];
  const weir__vulkan_layout *layout = pipeline->layout;
  weir__describe_task(task, what);
  if (given->buffers != layout->binding_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u buffers; the shader of launch %u has %u bindings", what,
                       given->buffers, index, layout->binding_count);
  uint64_t at = 0;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode != WEIR_VALUE) continue;
    uint64_t bytes = expected_bytes(pipeline, at, task->args[i].bytes);
    snprintf(place, sizeof place, "the shader of launch %u, at byte %llu of its push constants,", index,
             (unsigned long long)at);
    if (bytes != 0) return weir__value_refuse(task, i, bytes, place);
    at += task->args[i].bytes;
  }
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: values of %llu bytes together; the push constants of launch %u have %u", what,
                     (unsigned long long)given->value_bytes, index, layout->push_bytes);
}

// A launch with push constants of its own takes none of the task's values, and, where its shader declares no bindings, none of
// its buffers.
static weir_status check_counts(const weir_task *task, uint32_t index, const weir__vulkan_launch *launch,
                                const weir__vulkan_pipeline *pipeline, const arguments *given) {
  const weir__vulkan_layout *layout = pipeline->layout;
  bool own = launch->value != NULL;
  bool buffers_fit = given->buffers == layout->binding_count || (own && layout->binding_count == 0);
  bool values_fit = own || given->value_bytes == layout->push_bytes;
  return buffers_fit && values_fit ? WEIR_OK : wrong_counts(task, index, pipeline, given);
}

// "task 'blur' (tag 3), argument 1, buffer 7 'image' (binding 0)".
enum { PLACE_BYTES = 224 };
static void describe_place(const weir_task *task, uint32_t index, uint32_t binding, char place[PLACE_BYTES]) {
  char what[WEIR__WHAT_BYTES];
  const weir_buffer *buffer = task->args[index].buffer;
  weir__describe_task(task, what);
  snprintf(place, PLACE_BYTES, "%s, argument %u, buffer %llu '%s' (binding %u)", what, index,
           (unsigned long long)buffer->id, buffer->label, binding);
}

static bool is_buffer(const weir_device *device, const weir_buffer *buffer) {
  return buffer != NULL && weir__object_is(&buffer->object, WEIR__KIND_BUFFER) &&
         weir__host_of(buffer->object.context) == device->host;
}

// Whether the range of one buffer can be bound. What is wrong with the argument
// by itself is found later, by the check of all tasks' arguments.
static weir_status check_buffer(const weir_device *device, const weir_task *task, uint32_t index, uint32_t binding,
                                const weir__vulkan_binding *declared) {
  const VkPhysicalDeviceLimits *limits = &weir__vulkan_device_facts(device)->properties.limits;
  const weir_arg *arg = &task->args[index];
  const weir_buffer *buffer = arg->buffer;
  if (!is_buffer(device, buffer) || arg->offset >= buffer->bytes) return WEIR_OK;
  uint64_t bytes = arg->bytes == WEIR_WHOLE ? buffer->bytes - arg->offset : arg->bytes;
  bool aligned = arg->offset % limits->minStorageBufferOffsetAlignment == 0;
  if (aligned && bytes <= limits->maxStorageBufferRange && declared->dimensions == 0) return WEIR_OK;
  char place[PLACE_BYTES];
  describe_place(task, index, binding, place);
  if (declared->dimensions != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the shader has a %uD image there, and this is no image", place,
                       declared->dimensions);
  if (!aligned)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: a range from byte %llu on; %s binds multiples of %llu bytes",
                       place, (unsigned long long)arg->offset, device->name,
                       (unsigned long long)limits->minStorageBufferOffsetAlignment);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: a range of %llu bytes; %s binds at most %u", place,
                     (unsigned long long)bytes, device->name, limits->maxStorageBufferRange);
}

static weir_status check_image(weir_device *device, const weir_task *task, uint32_t index, uint32_t binding,
                               const weir__vulkan_pipeline *pipeline) {
  const weir_arg *arg = &task->args[index];
  const weir__vulkan_binding *declared = &pipeline->bindings[binding];
  const weir_buffer *buffer = arg->buffer;
  char place[PLACE_BYTES], reason[128];
  if (buffer->home != device->space) {
    describe_place(task, index, binding, place);
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: an image of another device than %s", place, device->name);
  }
  const weir__vulkan_chunk *chunk =
      weir__vulkan_chunk_find(&weir__vulkan_of(device)->memory, buffer->replicas[buffer->home].memory);
  if (weir__vulkan_image_fits(chunk->image, declared, pipeline->layout->types[binding], reason, sizeof reason))
    return WEIR_OK;
  describe_place(task, index, binding, place);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s", place, reason);
}

static bool is_image(const weir_device *device, const weir_buffer *buffer) {
  return is_buffer(device, buffer) && buffer->image;
}

static weir_status check_buffers(const weir_device *device, const weir_task *task,
                                 const weir__vulkan_pipeline *pipeline) {
  weir_status status = WEIR_OK;
  uint32_t binding = 0;
  for (uint32_t i = 0; i < task->arg_count && binding < pipeline->layout->binding_count && status == WEIR_OK; i++) {
    if (task->args[i].mode == WEIR_VALUE) continue;
    status = is_image(device, task->args[i].buffer)
                 ? check_image((weir_device *)(uintptr_t)device, task, i, binding, pipeline)
                 : check_buffer(device, task, i, binding, &pipeline->bindings[binding]);
    binding++;
  }
  return status;
}

static weir_status check_task_groups(const weir_device *device, const weir_task *task) {
  if (groups_fit(device, task->groups)) return WEIR_OK;
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(task, what);
  return too_many_groups(device, what, task->groups);
}

// By all dispatches together. A kernel without any may stand for something else.
static uint8_t use_of(const weir__vulkan_kernel *vulkan, const weir_device *device, uint32_t binding) {
  uint8_t use = vulkan->count > 0 ? WEIR__USE_KNOWN : 0;
  for (uint32_t i = 0; i < vulkan->count; i++) {
    const weir__vulkan_pipeline *pipeline = vulkan->launches[i].pipelines[device->index];
    uint8_t beyond = pipeline->known ? WEIR__USE_KNOWN : 0;
    use = weir__use_both(use, binding < pipeline->layout->binding_count ? pipeline->bindings[binding].use : beyond);
  }
  return use;
}

uint8_t weir__vulkan_kernel_use(const weir_device *device, const weir_task *task, uint32_t index) {
  uint32_t binding = 0;
  for (uint32_t i = 0; i < index; i++) binding += task->args[i].mode != WEIR_VALUE;
  return use_of(weir__vulkan_code_of(task->kernel), device, binding);
}

static weir_status check_modes(const weir_device *device, const weir_task *task) {
  const weir__vulkan_kernel *vulkan = weir__vulkan_code_of(task->kernel);
  uint32_t binding = 0;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < task->arg_count && status == WEIR_OK; i++) {
    if (task->args[i].mode == WEIR_VALUE) continue;
    uint8_t use = use_of(vulkan, device, binding++);
    if (weir__use_refutes(use, task->args[i].mode)) status = weir__use_refuse(device, task, i, use);
  }
  return status;
}

weir_status weir__vulkan_kernel_check(const weir_device *device, const weir_task *task) {
  if (task->kernel == NULL || weir__vulkan_code_of(task->kernel) == NULL) return WEIR_OK;
  const weir__vulkan_kernel *vulkan = weir__vulkan_code_of(task->kernel);
  if (vulkan->head.enqueue != NULL) return weir__enqueue_check(vulkan->head.enqueue, task);
  const arguments given = count_arguments(task);
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < vulkan->count && status == WEIR_OK; i++) {
    const weir__vulkan_launch *launch = &vulkan->launches[i];
    const weir__vulkan_pipeline *pipeline = launch->pipelines[device->index];
    if (launch->groups[0] == 0) status = check_task_groups(device, task);
    if (status == WEIR_OK) status = check_counts(task, i, launch, pipeline, &given);
    if (status == WEIR_OK) status = check_buffers(device, task, pipeline);
  }
  return status == WEIR_OK ? check_modes(device, task) : status;
}
