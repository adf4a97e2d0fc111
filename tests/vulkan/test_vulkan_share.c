// SPDX-License-Identifier: Apache-2.0
//
// A VkDevice, VkBuffers and timeline semaphores of the caller's, used by Weir and by the caller in turn.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <vulkan/vulkan_core.h>

#include "add.spv.h"
#include "double.spv.h"
#include "gate.h"
#include "rig.h"
#include "scale.spv.h"
#include "weir/external.h"
#include "weir/vulkan.h"

enum { COUNT = 4096, BYTES = COUNT * 4, ROUNDS = 24, SECOND = 1000000000 };

static vulkan_rig rig;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static char name[32];
static weir_context *context;
static weir_device *device;
static weir_kernel *scale; // numbers = 2 * numbers + add
static VkSemaphore theirs, ours;
static rig_buffer buffer, read_back;

static void good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

static void refused(weir_status status, weir_status expected, const char *text) {
  assert_int_equal(status, expected);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
}

static void take_queue(void *user, weir_vulkan_queue queue) {
  assert_ptr_equal(user, &rig);
  assert_int_equal(queue.family, rig.family);
  pthread_mutex_lock(&queue_lock);
}

static void give_queue(void *user, weir_vulkan_queue queue) {
  (void)user;
  (void)queue;
  pthread_mutex_unlock(&queue_lock);
}

// What the rig made its device with, as far as Weir asks.
static const float PRIORITY = 1;
static VkDeviceQueueCreateInfo queue_info;
static VkPhysicalDeviceVulkan12Features features12;
static VkPhysicalDeviceFeatures2 features;
static VkDeviceCreateInfo create_info;
static weir_vulkan_queue queue;

static weir_vulkan_handles handles(void) {
  queue_info = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = rig.family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &PRIORITY};
  features12 = rig.facts.features12;
  features = (VkPhysicalDeviceFeatures2){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features12, .features = rig.facts.features};
  create_info = (VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue_info};
  queue = (weir_vulkan_queue){rig.family, 0};
  return (weir_vulkan_handles){
      .get_instance_proc_addr = (weir_vulkan_function)rig.driver->vkGetInstanceProcAddr,
      .instance = rig.driver->instance,
      .physical_device = rig.driver->devices[0],
      .device = rig.device,
      .api_version = rig.driver->version,
      .create_info = &create_info,
      .queues = &queue,
      .queue_count = 1,
      .lock = take_queue,
      .unlock = give_queue,
      .user = &rig,
  };
}

static VkSemaphore make_semaphore(void) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkSemaphore semaphore;
  assert_int_equal(rig.calls.vkCreateSemaphore(rig.device, &info, NULL, &semaphore), VK_SUCCESS);
  return semaphore;
}

static int create(void **state) {
  (void)state;
  rig_create(&rig);
  const weir_vulkan_handles given = handles();
  good(weir_vulkan_register(&given, name, sizeof name));
  char devices[64];
  snprintf(devices, sizeof devices, "%s,cpu:1", name);
  good(weir_context_create(&(weir_context_options){.devices = devices}, &context));
  device = weir_context_device(context, 0);
  assert_string_equal(weir_device_information(device)->name, name);
  good(weir_kernel_create(context, "scale", &scale));
  const weir_vulkan_constant size = {.id = 0, .bytes = 4, .u32 = 64};
  good(weir_kernel_set_vulkan(scale, &(weir_vulkan_code){scale_spv, sizeof scale_spv},
                              &(weir_vulkan_launch){.constants = &size, .constant_count = 1, .groups = {COUNT / 64}},
                              1));
  theirs = make_semaphore();
  ours = make_semaphore();
  buffer = rig_make_buffer(&rig, BYTES);
  read_back = rig_make_buffer(&rig, BYTES);
  return 0;
}

static int destroy(void **state) {
  (void)state;
  if (context != NULL) weir_context_release(context);
  good(weir_vulkan_unregister(name));
  refused(weir_vulkan_unregister(name), WEIR_ERROR_INVALID_ARGUMENT, "there is no '");
  rig.calls.vkDestroySemaphore(rig.device, theirs, NULL);
  rig.calls.vkDestroySemaphore(rig.device, ours, NULL);
  rig_free_buffer(&rig, &buffer);
  rig_free_buffer(&rig, &read_back);
  rig_destroy(&rig);
  return 0;
}

static weir_buffer *wrap(uint64_t offset, uint64_t bytes) {
  weir_buffer *wrapped;
  good(weir_buffer_wrap_vulkan(device, (uint64_t)buffer.buffer, offset, bytes, &wrapped));
  return wrapped;
}

static void submit_scale_after(weir_buffer *numbers, uint32_t add, weir_event *after, weir_event **out_event) {
  const uint32_t count = (uint32_t)(weir_buffer_bytes(numbers) / 4);
  const weir_arg args[] = {weir_updates(numbers), weir_value(&add, 4), weir_value(&count, 4)};
  good(weir_submit(
      context,
      &(weir_task){.kernel = scale, .args = args, .arg_count = 3, .after = &after, .after_count = after != NULL},
      out_event));
}

static void submit_scale(weir_buffer *numbers, uint32_t add, weir_event **out_event) {
  submit_scale_after(numbers, add, NULL, out_event);
}

// ---------------------------------------------------------------------------------------------------------------
// The caller's own work, in the queue that Weir uses as well

static void caller_submit(VkSemaphore semaphore, uint64_t value) {
  assert_int_equal(rig.calls.vkEndCommandBuffer(rig.commands), VK_SUCCESS);
  const VkTimelineSemaphoreSubmitInfo timeline = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .signalSemaphoreValueCount = 1,
                                                  .pSignalSemaphoreValues = &value};
  const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .pNext = &timeline,
                             .commandBufferCount = 1,
                             .pCommandBuffers = &rig.commands,
                             .signalSemaphoreCount = semaphore != VK_NULL_HANDLE,
                             .pSignalSemaphores = &semaphore};
  pthread_mutex_lock(&queue_lock);
  assert_int_equal(rig.calls.vkQueueSubmit(rig.queue, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
  pthread_mutex_unlock(&queue_lock);
}

static void caller_fill(uint32_t number, uint64_t value) {
  rig_begin(&rig);
  rig.calls.vkCmdFillBuffer(rig.commands, buffer.buffer, 0, BYTES, number);
  caller_submit(theirs, value);
}

static void caller_await(VkSemaphore semaphore, uint64_t value) {
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .semaphoreCount = 1,
                                    .pSemaphores = &semaphore,
                                    .pValues = &value};
  assert_int_equal(rig.calls.vkWaitSemaphores(rig.device, &info, 60ull * SECOND), VK_SUCCESS);
}

static void barrier(VkPipelineStageFlags before, VkAccessFlags from, VkPipelineStageFlags after, VkAccessFlags to) {
  const VkMemoryBarrier item = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = from, .dstAccessMask = to};
  rig.calls.vkCmdPipelineBarrier(rig.commands, before, after, 0, 1, &item, 0, NULL, 0, NULL);
}

// Every number from `first` on.
static void caller_expects(uint32_t first, uint32_t count, uint32_t number) {
  const VkBufferCopy region = {.size = BYTES};
  void *memory;
  rig_begin(&rig);
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  rig.calls.vkCmdCopyBuffer(rig.commands, buffer.buffer, read_back.buffer, 1, &region);
  barrier(VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_HOST_READ_BIT);
  caller_submit(VK_NULL_HANDLE, 0);
  pthread_mutex_lock(&queue_lock);
  rig_wait(&rig);
  pthread_mutex_unlock(&queue_lock);
  assert_int_equal(rig.calls.vkMapMemory(rig.device, read_back.memory, 0, VK_WHOLE_SIZE, 0, &memory), VK_SUCCESS);
  for (uint32_t i = first; i < first + count; i++) {
    uint32_t found = ((const uint32_t *)memory)[i];
    if (found != number) fail_msg("number %u is %u, not %u", i, found, number);
  }
  rig.calls.vkUnmapMemory(rig.device, read_back.memory);
}

// ---------------------------------------------------------------------------------------------------------------
// Tests

static void in_turns(void **state) {
  (void)state;
  weir_buffer *numbers = wrap(0, BYTES);
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    caller_fill(round, round);
    good(weir_vulkan_wait_semaphore(device, (uint64_t)theirs, round));
    weir_event *last;
    submit_scale(numbers, 1, NULL);
    submit_scale(numbers, 5, &last);
    good(weir_vulkan_signal_semaphore(device, (uint64_t)ours, round, round % 2 == 0 ? last : NULL));
    caller_await(ours, round);
    caller_expects(0, COUNT, 4 * round + 7);
    weir_event_release(last);
  }
  good(weir_finish(context));
  weir_buffer_release(numbers);
  good(weir_vulkan_forget_buffer(device, (uint64_t)buffer.buffer));
  refused(weir_vulkan_forget_buffer(device, (uint64_t)buffer.buffer), WEIR_ERROR_INVALID_ARGUMENT, "was not wrapped");
}

static void add_one(const weir_work *work) {
  uint32_t *numbers = work->args[0];
  for (uint32_t i = 0; i < COUNT / 2; i++) numbers[i]++;
}

// Two wraps of one VkBuffer, used by the device and by the CPU, whose results come back.
static void parts(void **state) {
  (void)state;
  weir_buffer *halves[] = {wrap(0, BYTES / 2), wrap(BYTES / 2, BYTES / 2)};
  uint32_t numbers[COUNT / 2], found[COUNT / 2];
  for (uint32_t half = 0; half < 2; half++) {
    for (uint32_t i = 0; i < COUNT / 2; i++) numbers[i] = half;
    good(weir_copy_in(halves[half], 0, WEIR_WHOLE, numbers, NULL));
    submit_scale(halves[half], 10, NULL); // 10, 12
    const weir_arg args[] = {weir_updates(halves[half])};
    good(weir_submit(context, &(weir_task){.host = add_one, .args = args, .arg_count = 1}, NULL));
    submit_scale(halves[half], 0, NULL); // 22, 26
    good(weir_submit(context, &(weir_task){.host = add_one, .args = args, .arg_count = 1}, NULL));
    good(weir_copy_out(halves[half], 0, WEIR_WHOLE, found, NULL));
    good(weir_finish(context));
    for (uint32_t i = 0; i < COUNT / 2; i++) assert_int_equal(found[i], half == 0 ? 23 : 27);
  }
  caller_expects(0, COUNT / 2, 23);
  caller_expects(COUNT / 2, COUNT / 2, 27);
  for (int half = 0; half < 2; half++) weir_buffer_release(halves[half]);
  good(weir_vulkan_forget_buffer(device, (uint64_t)buffer.buffer));
}

static void host_signal(VkSemaphore semaphore, uint64_t value) {
  const VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
  assert_int_equal(rig.calls.vkSignalSemaphore(rig.device, &info), VK_SUCCESS);
}

// What was submitted before a wait goes on, even if it could start only later; what comes after starts behind it.
static void a_wait_holds_up_what_comes_after(void **state) {
  (void)state;
  VkSemaphore semaphore = make_semaphore();
  weir_buffer *before, *after, *held;
  gate door = {0};
  weir_event *early, *late;
  good(weir_buffer_create(context, BYTES, &before));
  good(weir_buffer_create(context, BYTES, &after));
  good(weir_buffer_create(context, BYTES, &held));
  uint32_t zeros[COUNT] = {0};
  good(weir_copy_in(before, 0, BYTES, zeros, NULL));
  good(weir_copy_in(after, 0, BYTES, zeros, NULL));
  const weir_arg args[] = {weir_updates(before)};
  good(gate_submit(context, &door, args, 1, NULL));
  submit_scale(before, 3, &early);
  good(weir_vulkan_wait_semaphore(device, (uint64_t)semaphore, 2));
  submit_scale(after, 3, &late);
  gate_open(&door);
  good(weir_event_wait(early, WEIR_FOREVER));
  assert_int_equal(weir_event_wait(late, SECOND / 50), WEIR_TIMEOUT);
  host_signal(semaphore, 1);
  assert_int_equal(weir_event_wait(late, SECOND / 50), WEIR_TIMEOUT);
  host_signal(semaphore, 2);
  good(weir_event_wait(late, WEIR_FOREVER));
  weir_event_release(early);
  weir_event_release(late);
  weir_buffer_release(before);
  weir_buffer_release(after);
  weir_buffer_release(held);
  good(weir_finish(context));
  rig.calls.vkDestroySemaphore(rig.device, semaphore, NULL);
}

// The queue, Weir's batches included.
static void idle(void) {
  pthread_mutex_lock(&queue_lock);
  assert_int_equal(rig.calls.vkQueueWaitIdle(rig.queue), VK_SUCCESS);
  pthread_mutex_unlock(&queue_lock);
}

// One task waits for a value, others do not, whatever the order in which values come; the wait ends with its task.
static void one_task_waits(void **state) {
  (void)state;
  enum { IMPORTS = 6 };
  VkSemaphore semaphores[IMPORTS], never = make_semaphore();
  weir_buffer *numbers[IMPORTS], *other;
  weir_event *outside[IMPORTS], *steps[IMPORTS], *held, *stuck;
  uint32_t zeros[COUNT] = {0};
  good(weir_buffer_create(context, BYTES, &other));
  good(weir_copy_in(other, 0, BYTES, zeros, NULL));
  for (uint32_t i = 0; i < IMPORTS; i++) {
    semaphores[i] = make_semaphore();
    good(weir_vulkan_import_semaphore(device, (uint64_t)semaphores[i], i + 1, &outside[i]));
    good(weir_buffer_create(context, BYTES, &numbers[i]));
    good(weir_copy_in(numbers[i], 0, BYTES, zeros, NULL));
    submit_scale_after(numbers[i], i, outside[i], &steps[i]);
  }
  good(weir_vulkan_import_semaphore(device, (uint64_t)never, 1, &held));
  submit_scale_after(other, 0, held, &stuck);
  for (uint32_t i = IMPORTS; i-- > 0;) {
    weir_event *apart;
    weir_buffer *free_of_it;
    good(weir_buffer_create(context, BYTES, &free_of_it));
    good(weir_copy_in(free_of_it, 0, BYTES, zeros, NULL));
    submit_scale(free_of_it, 1, &apart);
    good(weir_event_wait(apart, WEIR_FOREVER));
    weir_event_release(apart);
    weir_buffer_release(free_of_it);
    assert_int_equal(weir_event_wait(steps[i], SECOND / 200), WEIR_TIMEOUT);
    assert_non_null(strstr(weir_last_error(), "of VkSemaphore 0x"));
    host_signal(semaphores[i], i + 1);
    good(weir_event_wait(steps[i], WEIR_FOREVER));
    good(weir_event_wait(outside[i], WEIR_FOREVER));
    weir_event_release(steps[i]);
    weir_event_release(outside[i]);
    weir_buffer_release(numbers[i]);
  }
  weir_context_cancel(context);
  assert_int_equal(weir_event_wait(stuck, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  assert_int_equal(weir_finish(context), WEIR_ERROR_CANCELLED);
  host_signal(never, 1);
  good(weir_event_wait(held, WEIR_FOREVER));
  weir_event_release(held);
  weir_event_release(stuck);
  weir_buffer_release(other);
  good(weir_finish(context));
  idle();
  for (uint32_t i = 0; i < IMPORTS; i++) rig.calls.vkDestroySemaphore(rig.device, semaphores[i], NULL);
  rig.calls.vkDestroySemaphore(rig.device, never, NULL);
}

// As in_turns, by events of the buffer alone, while another one follows something else all the time.
static void turns_of_one_buffer(void **state) {
  (void)state;
  enum { TURNS = 6 };
  VkSemaphore mine = make_semaphore(), weirs = make_semaphore(), never = make_semaphore();
  weir_buffer *numbers = wrap(0, BYTES), *apart = NULL;
  uint32_t memory[COUNT] = {0};
  weir_event *outside, *users, *stuck, *held;
  good(weir_buffer_wrap(context, memory, sizeof memory, &apart));
  good(weir_vulkan_import_semaphore(device, (uint64_t)never, 1, &held));
  good(weir_buffer_follow(apart, WEIR_WRITE, held));
  submit_scale(apart, 1, &stuck);
  uint32_t expected = 0;
  for (uint64_t turn = 1; turn <= TURNS; turn++) {
    rig_begin(&rig);
    rig.calls.vkCmdFillBuffer(rig.commands, buffer.buffer, 0, BYTES, (uint32_t)turn);
    barrier(VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
            VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    caller_submit(mine, turn);
    good(weir_vulkan_import_semaphore(device, (uint64_t)mine, turn, &outside));
    good(weir_buffer_follow(numbers, WEIR_WRITE, outside));
    weir_event_release(outside);
    submit_scale(numbers, 3, NULL);
    good(weir_buffer_event(numbers, WEIR_READ_WRITE, &users));
    good(weir_vulkan_signal_semaphore(device, (uint64_t)weirs, turn, users));
    weir_event_release(users);
    caller_await(weirs, turn);
    expected = 2 * (uint32_t)turn + 3;
    caller_expects(0, COUNT, expected);
  }
  assert_int_equal(weir_event_poll(stuck), WEIR_PENDING);
  host_signal(never, 1);
  good(weir_event_wait(stuck, WEIR_FOREVER));
  weir_event_release(stuck);
  weir_event_release(held);
  good(weir_finish(context));
  weir_buffer_release(numbers);
  weir_buffer_release(apart);
  good(weir_finish(context));
  idle();
  rig.calls.vkDestroySemaphore(rig.device, mine, NULL);
  rig.calls.vkDestroySemaphore(rig.device, weirs, NULL);
  rig.calls.vkDestroySemaphore(rig.device, never, NULL);
}

static void expect_part(weir_buffer *part, uint32_t wanted) {
  uint32_t words[COUNT / 2];
  good(weir_read(part, 0, BYTES / 2, words));
  for (int i = 0; i < COUNT / 2; i++) assert_int_equal(words[i], wanted);
}

// Work outside reads a part of a VkBuffer: later tasks read that part, and write another one, and who writes it waits.
// What is to be overwritten outside, and is cancelled, is missing.
static void a_part_is_read_outside(void **state) {
  (void)state;
  VkSemaphore mine = make_semaphore();
  weir_buffer *parts[2] = {wrap(0, BYTES / 2), wrap(BYTES / 2, BYTES / 2)}, *own;
  weir_event *outside[2], *written, *reader;
  good(weir_buffer_create(context, BYTES, &own));
  for (int i = 0; i < 2; i++) good(weir_fill(parts[i], 0, BYTES / 2, 1, NULL));
  for (uint64_t i = 0; i < 2; i++) good(weir_vulkan_import_semaphore(device, (uint64_t)mine, i + 1, &outside[i]));
  good(weir_buffer_follow(parts[0], WEIR_READ, outside[0]));
  refused(weir_buffer_follow(own, WEIR_READ, outside[0]), WEIR_ERROR_INVALID_ARGUMENT, "is Weir's own");
  expect_part(parts[0], 1);
  good(weir_fill(parts[1], 0, BYTES / 2, 7, NULL));
  expect_part(parts[1], 7);
  good(weir_fill(parts[0], 0, BYTES / 2, 5, &written));
  assert_int_equal(weir_event_wait(written, SECOND / 100), WEIR_TIMEOUT);
  host_signal(mine, 1);
  good(weir_event_wait(written, WEIR_FOREVER));
  expect_part(parts[0], 5);
  weir_event_release(written);
  good(weir_buffer_follow(parts[1], WEIR_WRITE, outside[1]));
  good(weir_copy(own, 0, parts[1], 0, BYTES / 2, &reader));
  weir_context_cancel(context);
  assert_int_not_equal(weir_event_wait(reader, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_ERROR_CANCELLED);
  uint32_t word;
  assert_int_equal(weir_read(parts[1], 0, sizeof word, &word), WEIR_ERROR_UPSTREAM_FAILED);
  host_signal(mine, 2);
  good(weir_event_wait(outside[1], WEIR_FOREVER));
  good(weir_fill(parts[1], 0, BYTES / 2, 9, NULL));
  expect_part(parts[1], 9);
  weir_event_release(reader);
  for (int i = 0; i < 2; i++) weir_event_release(outside[i]);
  for (int i = 0; i < 2; i++) weir_buffer_release(parts[i]);
  weir_buffer_release(own);
  weir_finish(context);
  idle();
  rig.calls.vkDestroySemaphore(rig.device, mine, NULL);
}

// A semaphore is signalled when an event of the host is.
static void signal_follows_the_host(void **state) {
  (void)state;
  VkSemaphore semaphore = make_semaphore();
  weir_event *flag = NULL;
  uint64_t value = 1;
  good(weir_host_event_create(context, "flag", &flag));
  good(weir_vulkan_signal_semaphore(device, (uint64_t)semaphore, 5, flag));
  assert_int_equal(weir_finish_for(context, SECOND / 100), WEIR_TIMEOUT);
  assert_non_null(strstr(weir_last_error(), "which waits for host event 'flag'"));
  assert_int_equal(rig.calls.vkGetSemaphoreCounterValue(rig.device, semaphore, &value), VK_SUCCESS);
  assert_int_equal(value, 0);
  good(weir_host_event_signal(flag, WEIR_OK));
  caller_await(semaphore, 5);
  weir_event_release(flag);
  good(weir_finish(context));
  rig.calls.vkDestroySemaphore(rig.device, semaphore, NULL);
}

static void fail_here(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

// A signal is sent whatever became of the tasks; a wait ends with its context's tasks when they are cancelled.
static void failed_and_cancelled(void **state) {
  (void)state;
  VkSemaphore semaphore = make_semaphore(), never = make_semaphore();
  weir_buffer *numbers;
  weir_event *event;
  good(weir_buffer_create(context, BYTES, &numbers));
  const weir_arg args[] = {weir_writes(numbers)};
  good(weir_submit(context, &(weir_task){.host = fail_here, .args = args, .arg_count = 1}, NULL));
  submit_scale(numbers, 0, &event);
  good(weir_vulkan_signal_semaphore(device, (uint64_t)semaphore, 1, event));
  caller_await(semaphore, 1);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(event);
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);

  good(weir_vulkan_wait_semaphore(device, (uint64_t)never, 1));
  uint32_t zeros[COUNT] = {0};
  good(weir_copy_in(numbers, 0, BYTES, zeros, NULL));
  submit_scale(numbers, 0, &event);
  good(weir_vulkan_signal_semaphore(device, (uint64_t)semaphore, 2, NULL));
  weir_context_cancel(context);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  caller_await(semaphore, 2);
  weir_event_release(event);
  weir_finish(context);
  weir_buffer_release(numbers);
  good(weir_finish(context));
  rig.calls.vkDestroySemaphore(rig.device, semaphore, NULL);
  rig.calls.vkDestroySemaphore(rig.device, never, NULL);
}

static void host_memory(void **state) {
  (void)state;
  uint32_t *memory[2];
  weir_buffer *numbers;
  for (int i = 0; i < 2; i++) {
    good(weir_host_allocate(device, BYTES, (void **)&memory[i]));
    assert_int_equal((uintptr_t)memory[i] % 64, 0);
  }
  for (uint32_t i = 0; i < COUNT; i++) memory[0][i] = i;
  good(weir_buffer_create(context, BYTES, &numbers));
  good(weir_copy_in(numbers, 0, BYTES, memory[0], NULL));
  submit_scale(numbers, 1, NULL);
  good(weir_copy_out(numbers, 0, BYTES, memory[1], NULL));
  good(weir_finish(context));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(memory[1][i], 2 * i + 1);
  weir_buffer_release(numbers);
  for (int i = 0; i < 2; i++) weir_host_free(device, memory[i]);
  weir_host_free(device, NULL);
}

static void refused_calls(void **state) {
  (void)state;
  void *memory;
  weir_buffer *wrapped;
  weir_device *cpu = weir_context_device(context, 1);
  const uint64_t handle = (uint64_t)buffer.buffer;
  refused(weir_host_allocate(device, 0, &memory), WEIR_ERROR_INVALID_ARGUMENT, "0 bytes");
  refused(weir_host_allocate(device, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_memory is NULL");
  refused(weir_host_allocate(NULL, 8, &memory), WEIR_ERROR_INVALID_ARGUMENT, "the device is NULL");
  refused(weir_buffer_wrap_vulkan(cpu, handle, 0, 4, &wrapped), WEIR_ERROR_INVALID_ARGUMENT, "is no Vulkan device");
  refused(weir_buffer_wrap_vulkan(device, handle, 0, 4, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_buffer is NULL");
  refused(weir_buffer_wrap_vulkan(device, 0, 0, 4, &wrapped), WEIR_ERROR_INVALID_ARGUMENT, "VK_NULL_HANDLE");
  refused(weir_buffer_wrap_vulkan(device, handle, 4, 4, &wrapped), WEIR_ERROR_INVALID_ARGUMENT, "no multiple of");
  refused(weir_buffer_wrap_vulkan(device, handle, 0, 0, &wrapped), WEIR_ERROR_INVALID_ARGUMENT, "at least 1 byte");
  refused(weir_buffer_wrap_vulkan(device, handle, 1 << 20, 4, &wrapped), WEIR_ERROR_OUT_OF_RANGE, "leave the VkBuffer");
  refused(weir_buffer_wrap_vulkan(device, handle, 256, BYTES, &wrapped), WEIR_ERROR_OUT_OF_RANGE, "leave the VkBuffer");
  assert_null(wrapped);
  refused(weir_vulkan_wait_semaphore(cpu, 1, 1), WEIR_ERROR_INVALID_ARGUMENT, "is no Vulkan device");
  refused(weir_vulkan_wait_semaphore(device, 0, 1), WEIR_ERROR_INVALID_ARGUMENT, "VK_NULL_HANDLE");
  weir_event *outside = NULL;
  refused(weir_vulkan_import_semaphore(cpu, 1, 1, &outside), WEIR_ERROR_INVALID_ARGUMENT, "is no Vulkan device");
  refused(weir_vulkan_import_semaphore(device, 0, 1, &outside), WEIR_ERROR_INVALID_ARGUMENT, "VK_NULL_HANDLE");
  refused(weir_vulkan_import_semaphore(device, 1, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_event is NULL");
  assert_null(outside);
  refused(weir_vulkan_signal_semaphore(device, 0, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "VK_NULL_HANDLE");
  good(weir_vulkan_forget_buffer(device, handle));
}

static void refused_registrations(void **state) {
  (void)state;
  char other[32];
  const weir_vulkan_handles right = handles();
  weir_vulkan_handles wrong = right;
  weir_context *second;
  refused(weir_vulkan_register(NULL, other, sizeof other), WEIR_ERROR_INVALID_ARGUMENT, "the handles are NULL");
  refused(weir_vulkan_register(&right, NULL, 0), WEIR_ERROR_INVALID_ARGUMENT, "out_name is NULL");
  refused(weir_vulkan_register(&right, other, 8), WEIR_ERROR_INVALID_ARGUMENT, "no room for the name");
  wrong.device = NULL;
  refused(weir_vulkan_register(&wrong, other, sizeof other), WEIR_ERROR_INVALID_ARGUMENT, "a handle");
  wrong = right;
  wrong.unlock = NULL;
  refused(weir_vulkan_register(&wrong, other, sizeof other), WEIR_ERROR_INVALID_ARGUMENT,
          "only one of lock and unlock");
  wrong = right;
  wrong.queue_count = 0;
  refused(weir_vulkan_register(&wrong, other, sizeof other), WEIR_ERROR_INVALID_ARGUMENT, "there are no queues");
  const weir_vulkan_queue queues[] = {queue, queue, {rig.family, 1}, {99, 0}};
  wrong.queues = queues;
  wrong.queue_count = 2;
  refused(weir_vulkan_register(&wrong, other, sizeof other), WEIR_ERROR_INVALID_ARGUMENT, "listed twice");
  for (int i = 2; i < 4; i++) {
    wrong.queues = &queues[i];
    wrong.queue_count = 1;
    refused(weir_vulkan_register(&wrong, other, sizeof other), WEIR_ERROR_INVALID_ARGUMENT,
            i == 2 ? "was made with 1 of this family" : "was made with 0 of this family");
  }
  wrong = right;
  wrong.api_version = VK_API_VERSION_1_1;
  refused(weir_vulkan_register(&wrong, other, sizeof other), WEIR_ERROR_UNAVAILABLE, "Weir needs 1.2");
  features12.timelineSemaphore = VK_FALSE;
  refused(weir_vulkan_register(&right, other, sizeof other), WEIR_ERROR_UNAVAILABLE, "without timelineSemaphore");
  refused(weir_vulkan_unregister("vulkan:shared77"), WEIR_ERROR_INVALID_ARGUMENT, "there is no 'vulkan:shared77'");
  refused(weir_vulkan_unregister(NULL), WEIR_ERROR_INVALID_ARGUMENT, "there is no ''");
  refused(weir_vulkan_unregister(name), WEIR_ERROR_INVALID_ARGUMENT, "a context uses");
  refused(weir_context_create(&(weir_context_options){.devices = name}, &second), WEIR_ERROR_INVALID_ARGUMENT,
          "another context uses it");
  refused(weir_context_create(&(weir_context_options){.devices = "vulkan:shared77"}, &second),
          WEIR_ERROR_INVALID_ARGUMENT, "no such device is registered");
}

// Another Vulkan device reads what is wrapped, by way of the host, and does not write to it.
static void beside_another_device(void **state) {
  (void)state;
  weir_context_release(context);
  char devices[64];
  snprintf(devices, sizeof devices, "%s,vulkan:0,cpu:1", name);
  good(weir_context_create(&(weir_context_options){.devices = devices}, &context));
  device = weir_context_device(context, 0);
  weir_device *other = weir_context_device(context, 1);
  weir_kernel *add;
  good(weir_kernel_create(context, "add", &add));
  good(weir_kernel_set_vulkan(add, &(weir_vulkan_code){add_spv, sizeof add_spv}, &(weir_vulkan_launch){0}, 1));
  weir_buffer *numbers = wrap(0, BYTES), *sum;
  good(weir_buffer_create(context, BYTES, &sum));
  float sent[COUNT], found[COUNT];
  const uint32_t count = COUNT;
  for (uint32_t i = 0; i < COUNT; i++) sent[i] = (float)i;
  good(weir_copy_in(numbers, 0, BYTES, sent, NULL));
  const weir_arg args[] = {weir_reads(numbers), weir_reads(numbers), weir_writes(sum), weir_value(&count, 4)};
  const weir_arg wrong[] = {weir_reads(sum), weir_reads(sum), weir_writes(numbers), weir_value(&count, 4)};
  const weir_task task = {.kernel = add, .args = args, .arg_count = 4, .groups = {COUNT / 64}, .device = other};
  const weir_task wrong_task = {.kernel = add, .args = wrong, .arg_count = 4, .groups = {COUNT / 64}, .device = other};
  good(weir_submit(context, &task, NULL));
  refused(weir_submit(context, &wrong_task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "cannot write buffer");
  good(weir_copy(numbers, 0, sum, 0, BYTES, NULL)); // the host does it
  good(weir_copy_out(numbers, 0, BYTES, found, NULL));
  good(weir_finish(context));
  for (uint32_t i = 0; i < COUNT; i++) assert_true(found[i] == 2 * (float)i);
  weir_buffer_release(numbers);
  weir_buffer_release(sum);
  good(weir_vulkan_forget_buffer(device, (uint64_t)buffer.buffer));
}

// Shaders may use only what the caller's device was made with, though the card has more.
static void features_are_the_callers(void **state) {
  (void)state;
  weir_context_release(context);
  context = NULL;
  weir_vulkan_handles given = handles();
  char plain[32];
  features = (VkPhysicalDeviceFeatures2){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features12};
  features12 = (VkPhysicalDeviceVulkan12Features){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                  .timelineSemaphore = VK_TRUE};
  good(weir_vulkan_register(&given, plain, sizeof plain));
  weir_context *other;
  weir_kernel *kernel;
  good(weir_context_create(&(weir_context_options){.devices = plain}, &other));
  good(weir_kernel_create(other, "wide", &kernel));
  refused(
      weir_kernel_set_vulkan(kernel, &(weir_vulkan_code){double_spv, sizeof double_spv}, &(weir_vulkan_launch){0}, 1),
      WEIR_ERROR_INVALID_ARGUMENT, "Float64");
  weir_context_release(other);
  good(weir_vulkan_unregister(plain));
}

int main(void) {
  rig_skip_without_device();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(in_turns, create, destroy),
      cmocka_unit_test_setup_teardown(parts, create, destroy),
      cmocka_unit_test_setup_teardown(a_wait_holds_up_what_comes_after, create, destroy),
      cmocka_unit_test_setup_teardown(one_task_waits, create, destroy),
      cmocka_unit_test_setup_teardown(turns_of_one_buffer, create, destroy),
      cmocka_unit_test_setup_teardown(a_part_is_read_outside, create, destroy),
      cmocka_unit_test_setup_teardown(signal_follows_the_host, create, destroy),
      cmocka_unit_test_setup_teardown(failed_and_cancelled, create, destroy),
      cmocka_unit_test_setup_teardown(host_memory, create, destroy),
      cmocka_unit_test_setup_teardown(beside_another_device, create, destroy),
      cmocka_unit_test_setup_teardown(refused_calls, create, destroy),
      cmocka_unit_test_setup_teardown(refused_registrations, create, destroy),
      cmocka_unit_test_setup_teardown(features_are_the_callers, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
