// SPDX-License-Identifier: Apache-2.0
#include "device/sim/code.h"

#include <math.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/host.h"

static const double LONGEST_LAUNCH_US = 1e9;

static weir_status check_launch(const weir_kernel *kernel, uint32_t index, const weir_sim_launch *launch) {
  if (weir__sets_reserved(launch->reserved))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', simulated launch %u: " WEIR__RESERVED_TEXT,
                       kernel->name, index);
  if (!isfinite(launch->us) || launch->us < 0 || launch->us > LONGEST_LAUNCH_US)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %g us is no duration from 0 to %g us", kernel->name, index,
                       launch->us, LONGEST_LAUNCH_US);
  if (!isfinite(launch->group_us) || launch->group_us < 0 || launch->group_us > LONGEST_LAUNCH_US)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %g us per work-group is no duration from 0 to %g us",
                       kernel->name, index, launch->group_us, LONGEST_LAUNCH_US);
  if (launch->copy_bytes == 0 && (launch->threads == 0 || launch->threads > 1024))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %u threads per block; 1 to 1024 are possible", kernel->name,
                       index, launch->threads);
  if (launch->registers > 255)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %u registers per thread; at most 255 are possible",
                       kernel->name, index, launch->registers);
  return WEIR_OK;
}

static void destroy(weir__code *head) {
  weir__sim_code *code = (weir__sim_code *)head;
  for (uint32_t i = 0; i < code->count; i++) weir__free((void *)(uintptr_t)code->launches[i].name);
  weir__free(code);
}

// NULL: no memory.
static weir__sim_code *copy(const weir_sim_launch *launches, uint32_t count) {
  weir__sim_code *code = weir__allocate_zeroed(sizeof *code + count * sizeof code->launches[0]);
  if (code == NULL) return NULL;
  code->head.destroy = destroy;
  for (uint32_t i = 0; i < count; i++) {
    weir_sim_launch *launch = &code->launches[code->count++];
    *launch = launches[i];
    if (launch->name == NULL) continue;
    launch->name = weir__allocate_string(launch->name);
    if (launch->name != NULL) continue;
    destroy(&code->head);
    return NULL;
  }
  return code;
}

weir_status weir_kernel_set_sim(weir_kernel *kernel, const weir_sim_launch *launches, uint32_t count) {
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for simulation");
  if (status != WEIR_OK) return status;
  if (launches == NULL || count == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': no simulated launch", kernel->name);
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) status = check_launch(kernel, i, &launches[i]);
  if (status != WEIR_OK) return status;
  weir__sim_code *code = copy(launches, count);
  if (code == NULL)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its launches", kernel->name);
  return weir__host_set_code(kernel, WEIR__CODE_SIM, &code->head, "simulated launches", NULL);
}
