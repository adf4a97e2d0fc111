// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { TEXT_BYTES = 4096, LINE_BYTES = 320, PRINTED = 32 };

static stub_counter *counters;
static uint64_t violation_count;
static char violation_text[TEXT_BYTES];

static struct {
  char function[64]; // "": any
  uint64_t left;     // calls until then; 0: none is asked for
  CUresult result;
  const char *happened; // the function that failed
} failure;

void stub_ledger_reset(void) {
  for (stub_counter *counter = counters; counter != NULL; counter = counter->next) counter->calls = 0;
  violation_count = 0;
  violation_text[0] = '\0';
  memset(&failure, 0, sizeof failure);
}

void stub_ledger_call(stub_counter *counter) {
  counter->calls++;
  if (counter->listed) return;
  counter->listed = true;
  counter->next = counters;
  counters = counter;
}

// Whether `symbol` is `name`, perhaps with a suffix such as _v2.
static bool names(const char *name, const char *symbol) {
  size_t length = strlen(name);
  return strncmp(name, symbol, length) == 0 && (symbol[length] == '\0' || strncmp(symbol + length, "_v", 2) == 0);
}

CUresult stub_ledger_fails(const stub_counter *counter, bool only_by_name) {
  if (failure.left == 0 || (only_by_name && failure.function[0] == '\0')) return CUDA_SUCCESS;
  if (failure.function[0] != '\0' && !names(failure.function, counter->name)) return CUDA_SUCCESS;
  if (--failure.left > 0) return CUDA_SUCCESS;
  failure.happened = counter->name;
  return failure.result;
}

void stub_violation(const char *format, ...) {
  char line[LINE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (violation_count++ < PRINTED) fprintf(stderr, "stub driver: violation: %s\n", line);
  size_t used = strlen(violation_text);
  if (used + strlen(line) + 2 <= sizeof violation_text)
    snprintf(violation_text + used, sizeof violation_text - used, "%s\n", line);
  const char *ends = getenv("WEIR_STUB_ABORT");
  if (ends != NULL && strcmp(ends, "1") == 0) abort();
}

void stub_fail_nth(const char *function, uint64_t nth, int result) {
  pthread_mutex_lock(&stub.lock);
  snprintf(failure.function, sizeof failure.function, "%s", function == NULL ? "" : function);
  failure.left = nth;
  failure.result = (CUresult)result;
  failure.happened = NULL;
  pthread_mutex_unlock(&stub.lock);
}

const char *stub_failed(void) {
  pthread_mutex_lock(&stub.lock);
  const char *happened = failure.happened;
  pthread_mutex_unlock(&stub.lock);
  return happened;
}

uint64_t stub_calls(const char *function) {
  pthread_mutex_lock(&stub.lock);
  uint64_t calls = 0;
  for (const stub_counter *counter = counters; counter != NULL; counter = counter->next)
    if (function == NULL || names(function, counter->name)) calls += counter->calls;
  pthread_mutex_unlock(&stub.lock);
  return calls;
}

stub_live_objects stub_live(void) {
  pthread_mutex_lock(&stub.lock);
  stub_live_objects live = {
      .contexts = stub_context_live(),
      .streams = stub_object_live(STUB_STREAM),
      .events = stub_object_live(STUB_EVENT),
      .modules = stub_object_live(STUB_MODULE),
      .graphs = stub_object_live(STUB_GRAPH),
      .execs = stub_object_live(STUB_EXEC),
      .queued = stub_queued(),
      .resident = stub_alone_count(),
  };
  stub_memory_count(&live);
  pthread_mutex_unlock(&stub.lock);
  return live;
}

uint64_t stub_live_count(void) {
  stub_live_objects live = stub_live();
  return live.contexts + live.device_allocations + live.pinned + live.streams + live.events + live.modules +
         live.graphs + live.execs + live.queued;
}

uint64_t stub_violations(void) {
  pthread_mutex_lock(&stub.lock);
  uint64_t count = violation_count;
  pthread_mutex_unlock(&stub.lock);
  return count;
}

const char *stub_violation_text(void) {
  return violation_text;
}
