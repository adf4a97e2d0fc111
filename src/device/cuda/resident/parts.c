// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel's code: which kernels are in it, and for those that are not, why.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/resident/resident.h"

static bool reserve(weir__resident *resident) {
  if (resident->part_count < resident->part_capacity) return true;
  uint32_t capacity = resident->part_capacity == 0 ? 16 : 2 * resident->part_capacity;
  weir__resident_part **parts = weir__allocate(capacity * sizeof(weir__resident_part *));
  uint8_t *states = weir__allocate(capacity);
  if (parts == NULL || states == NULL) {
    weir__free(parts);
    weir__free(states);
    return false;
  }
  if (resident->part_count > 0) {
    memcpy(parts, resident->parts, resident->part_count * sizeof(weir__resident_part *));
    memcpy(states, resident->states, resident->part_count);
  }
  weir__free(resident->parts);
  weir__free(resident->states);
  resident->parts = parts;
  resident->states = states;
  resident->part_capacity = capacity;
  return true;
}

// Adds a part, or finds it: equal kernels share theirs. The list keeps it. 0: no memory.
static uint32_t add(weir__resident *resident, weir__resident_part *part) {
  weir__lock_acquire(&resident->lock);
  uint32_t index = 0;
  while (index < resident->part_count && resident->parts[index] != part) index++;
  if (index == resident->part_count && reserve(resident)) {
    resident->states[index] = WEIR__RESIDENT_UNLINKED;
    resident->parts[resident->part_count++] = weir__resident_part_retain(part);
    resident->added_ns = weir__clock_ns();
  }
  uint32_t number = index < resident->part_count ? index + 1 : 0;
  weir__lock_release(&resident->lock);
  return number;
}

weir_status weir__resident_add(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code,
                               const weir_cuda_launch *launch, uint32_t *out_part, char *reason, size_t reason_bytes) {
  weir__resident_part *part = NULL;
  *out_part = 0;
  reason[0] = '\0';
  if (launch->value != NULL && weir__resident_words(launch->value_bytes) > WEIR__R_ARGS) {
    snprintf(reason, reason_bytes, "a launch has a value of %u bytes", launch->value_bytes);
    return WEIR_OK;
  }
  weir_status status = weir__resident_compile(device, kernel, code, launch, false, &part, reason, reason_bytes);
  if (status == WEIR_ERROR_OUT_OF_MEMORY) return status;
  if (status != WEIR_OK) snprintf(reason, reason_bytes, "%s", weir_last_error());
  if (part == NULL) return WEIR_OK;
  *out_part = add(device->resident, part);
  weir__resident_part_release(part);
  weir__inbox_ring(&device->base.inbox); // see weir__resident_link_ahead
  return *out_part != 0 ? WEIR_OK
                        : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its code", kernel);
}

// Lets all that is published be done, and the kernel leave.
static void empty_card(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  while (resident->in_flight > 0 && weir__in_order_is_well(&device->base) && !resident->given_up) {
    weir__resident_ensure_running(device);
    weir__resident_publish(resident);
    weir__resident_poll(device);
  }
  weir__resident_stop(device);
}

// The parts that are to be in the module, in order; those that were refused are left out. The lock is held.
static uint32_t choose(const weir__resident *resident, weir__resident_part **parts) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < resident->part_count; i++) {
    if (resident->states[i] != WEIR__RESIDENT_REFUSED) parts[used++] = resident->parts[i];
  }
  return used;
}

// Parts that were left out are refused. Without a module all new ones are, and the others stay as they were.
static void note_linked(weir__resident *resident, uint32_t count, const weir__resident_module *module,
                        uint64_t *functions) {
  uint32_t used = 0;
  weir__lock_acquire(&resident->lock);
  for (uint32_t i = 0; i < count; i++) {
    functions[i] = i < resident->linked ? resident->functions[i] : 0;
    if (module != NULL && resident->states[i] != WEIR__RESIDENT_REFUSED) functions[i] = module->functions[used++];
    resident->states[i] = functions[i] != 0 ? WEIR__RESIDENT_LINKED : WEIR__RESIDENT_REFUSED;
  }
  const char *why = module != NULL ? module->left_out : weir_last_error();
  if (why[0] != '\0') snprintf(resident->refused, sizeof resident->refused, "%.*s", WEIR__MESSAGE_BYTES - 1, why);
  weir__lock_release(&resident->lock);
  weir__free(resident->functions);
  resident->functions = functions;
  resident->linked = count;
}

// Links all parts there are. Nothing of it is kept if there is no memory; the next task asks again.
static void link_all(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  empty_card(device);
  weir__lock_acquire(&resident->lock);
  uint32_t count = resident->part_count;
  weir__resident_part **parts = weir__allocate(count * sizeof(weir__resident_part *));
  uint64_t *functions = weir__allocate(count * sizeof *functions);
  uint32_t used = parts != NULL ? choose(resident, parts) : 0;
  weir__lock_release(&resident->lock);
  weir__resident_module module = {0};
  if (parts != NULL && functions != NULL && weir__in_order_is_well(&device->base)) {
    bool good = weir__resident_link(device, parts, used, &module) == WEIR_OK;
    note_linked(resident, count, good ? &module : NULL, functions);
    if (good) weir__resident_unlink(device, &resident->module);
    if (good) resident->module = module;
    functions = NULL;
  }
  weir__free(parts);
  weir__free(functions);
}

uint64_t weir__resident_function(weir__cuda_device *device, uint32_t part) {
  weir__resident *resident = device->resident;
  if (part >= resident->linked && device->automatic == NULL) link_all(device);
  return part < resident->linked ? resident->functions[part] : 0;
}

bool weir__resident_link_ahead(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  weir__lock_acquire(&resident->lock);
  uint32_t count = resident->part_count;
  uint64_t added_ns = resident->added_ns;
  weir__lock_release(&resident->lock);
  // With a seed, for tests, nothing is linked before its first task.
  if (device->automatic != NULL || device->base.device.host->seed != 0 || count <= resident->linked ||
      count <= resident->ahead)
    return false;
  if (weir__clock_ns() - added_ns < WEIR__RESIDENT_QUIET_NS) return true;
  resident->ahead = count; // once: if it fails, the next task asks again
  if (!resident->given_up) link_all(device);
  return false;
}

void weir__resident_exchange(weir__cuda_device *device, const weir__resident_module *module, uint64_t *functions,
                             uint32_t count) {
  weir__resident *resident = device->resident;
  weir__resident_unlink(device, &resident->module);
  weir__free(resident->functions);
  resident->module = *module;
  resident->functions = functions;
  resident->linked = count;
}

// Why a kernel's tasks go to queues; "": they do not. Both locks are held.
static const char *find_reason(const weir__resident *resident, const weir__cuda_kernel *kernel, uint32_t device,
                               char *text, size_t bytes) {
  if (kernel == NULL) return "it has no code for CUDA";
  snprintf(text, bytes, "%s", kernel->not_resident);
  if (text[0] != '\0') return text;
  bool refused = resident->given_up;
  for (uint32_t i = 0; i < kernel->count; i++) {
    uint32_t part = kernel->launches[i].resident[device];
    if (part == 0) return "its code is not written with weir/kernel.h";
    refused = refused || resident->states[part - 1] == WEIR__RESIDENT_REFUSED;
  }
  if (refused) snprintf(text, bytes, "%s", resident->refused);
  return text;
}

bool weir_cuda_is_resident(weir_kernel *kernel, weir_device *base, char *reason, uint64_t reason_bytes) {
  const char *why = "", *where = base != NULL ? base->name : "NULL";
  char text[WEIR__MESSAGE_BYTES];
  if (weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "resident kernel") != WEIR_OK) {
    why = weir_last_error();
  } else if (base == NULL || base->host != weir__host_of(kernel->object.context) || !weir__is_cuda(base) ||
             base->host->issue != WEIR_ISSUE_RESIDENT) {
    snprintf(text, sizeof text, "%s is no CUDA device of a context with resident issue", where);
    why = text;
  } else {
    weir__resident *resident = weir__cuda_of(base)->resident;
    weir__host_lock(base->host);
    weir__lock_acquire(&resident->lock);
    why = find_reason(resident, weir__cuda_code_of(kernel), base->index, text, sizeof text);
    weir__lock_release(&resident->lock);
    weir__host_unlock(base->host);
  }
  if (reason != NULL && reason_bytes > 0) snprintf(reason, reason_bytes, "%s", why);
  return why[0] == '\0';
}
