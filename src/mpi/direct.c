// SPDX-License-Identifier: Apache-2.0
#include "direct.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_message.h"
#include "job.h"
#include "weir/enqueue.h"

static weir_device *find_card(const weir_context *context) {
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    weir_device *device = weir_context_device(context, i);
    if (weir__mpi_is_card(device)) return device;
  }
  return NULL;
}

__attribute__((format(printf, 3, 4))) static void decide(weir__mpi_direct *direct, bool is_on, const char *format,
                                                         ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(direct->reason, sizeof direct->reason, format, arguments);
  va_end(arguments);
  direct->is_on = is_on;
}

// What the environment says in place of AUTO.
static weir_status read_variable(uint32_t *direct) {
  const char *value = getenv("WEIR_MPI_DIRECT");
  if (value == NULL || value[0] == '\0') return WEIR_OK;
  if (strcmp(value, "never") == 0)
    *direct = WEIR_MPI_DIRECT_NEVER;
  else if (strcmp(value, "always") == 0)
    *direct = WEIR_MPI_DIRECT_ALWAYS;
  else
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "WEIR_MPI_DIRECT is '%.40s'; never and always are possible",
                           value);
  return WEIR_OK;
}

static void find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
}

// The driver is there already if a device is.
static void find_driver(weir__mpi_direct *direct) {
  const char *file = getenv("WEIR_CUDA_DRIVER");
  void *driver = dlopen(file != NULL && file[0] != '\0' ? file : "libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == NULL) return;
  find(driver, "cuCtxPushCurrent_v2", &direct->push);
  find(driver, "cuCtxPopCurrent_v2", &direct->pop);
  find(driver, "cuDeviceGet", &direct->get);
  find(driver, "cuDevicePrimaryCtxRetain", &direct->retain);
  find(driver, "cuMemcpyAsync", &direct->copy_async);
  dlclose(driver); // the device keeps it
}

static weir_status make_kernel(weir_context *context, const char *name, weir_enqueue_function function,
                               weir_kernel **out_kernel) {
  const weir_enqueue_code code = {.function = function, .flags = WEIR_ENQUEUE_NO_CAPTURE};
  weir_status status = weir_kernel_create(context, name, out_kernel);
  if (status == WEIR_OK) status = weir_kernel_set_enqueue(*out_kernel, "cuda", &code);
  return status == WEIR_OK ? WEIR_OK : weir__mpi_error(status, "messages from devices: %.200s", weir_last_error());
}

static weir_status make_kernels(weir_mpi *mpi) {
  weir__mpi_direct *direct = &mpi->direct;
  weir_status status = WEIR_OK;
  find_driver(direct);
  if (direct->copy_async != NULL)
    status = make_kernel(mpi->context, "mpi copy", weir__mpi_copy_to_device, &direct->copy);
  if (status != WEIR_OK || !direct->is_on) return status;
  status = make_kernel(mpi->context, "mpi address", weir__mpi_note_address, &direct->address);
  return status == WEIR_OK ? make_kernel(mpi->context, "mpi hold", weir__mpi_end_hold, &direct->hold) : status;
}

weir_status weir__mpi_direct_open(weir_mpi *mpi) {
  weir__mpi_direct *direct = &mpi->direct;
  const weir__mpi_transport *transport = mpi->transport;
  uint32_t wanted = mpi->options.direct;
  bool says = false;
  if (wanted > WEIR_MPI_DIRECT_ALWAYS)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "there is no weir_mpi_direct %u", wanted);
  if (wanted == WEIR_MPI_DIRECT_AUTO) {
    weir_status status = read_variable(&wanted);
    if (status != WEIR_OK) return status;
    says = wanted != WEIR_MPI_DIRECT_AUTO;
  }
  direct->card = mpi->pool.device = find_card(mpi->context);
  if (direct->card == NULL)
    decide(direct, false, "the context has no CUDA device");
  else if (wanted != WEIR_MPI_DIRECT_AUTO)
    decide(direct, wanted == WEIR_MPI_DIRECT_ALWAYS, "%s says %s", says ? "WEIR_MPI_DIRECT" : "weir_mpi_options.direct",
           wanted == WEIR_MPI_DIRECT_ALWAYS ? "always" : "never");
  else
    decide(direct, transport->takes == WEIR__MPI_DEVICE_MEMORY, "%s",
           transport->takes_text != NULL ? transport->takes_text : "the transport does not tell");
  return direct->card != NULL ? make_kernels(mpi) : WEIR_OK;
}

void weir__mpi_direct_close(weir__mpi_direct *direct) {
  if (direct->address != NULL) weir_kernel_release(direct->address);
  if (direct->hold != NULL) weir_kernel_release(direct->hold);
  if (direct->copy != NULL) weir_kernel_release(direct->copy);
}

void weir__mpi_direct_keep_pinned(const weir__mpi_direct *direct) {
  int ordinal = 0, device;
  void *native_context;
  bool named = direct->card != NULL && direct->get != NULL && direct->retain != NULL &&
               sscanf(weir_device_information(direct->card)->name, "cuda:%d", &ordinal) == 1;
  if (named && direct->get(&device, ordinal) == 0)
    (void)direct->retain(&native_context, device); // and does not release it
}

bool weir__mpi_direct_enter(weir__mpi_direct *direct, void *native_context) {
  if (native_context == NULL || direct->push == NULL || direct->pop == NULL) return false;
  direct->in_use = native_context;
  return direct->push(native_context) == 0;
}

void weir__mpi_direct_leave(const weir__mpi_direct *direct, bool entered) {
  void *native_context;
  if (entered) direct->pop(&native_context);
}

bool weir_mpi_is_direct(const weir_mpi *mpi, char *reason, uint64_t reason_bytes) {
  if (reason != NULL && reason_bytes > 0)
    snprintf(reason, (size_t)reason_bytes, "%s", mpi == NULL ? "mpi is NULL" : mpi->direct.reason);
  return mpi != NULL && mpi->direct.is_on;
}
