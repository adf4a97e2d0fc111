// SPDX-License-Identifier: Apache-2.0
#include "failing_malloc.h"

#include <stdlib.h>

#include <jansson.h>

static size_t allocations, fail_at; // the next one is number allocations + 1; 0: none fails
static bool parser_failed;

static bool permit(void) {
  return ++allocations != fail_at;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t bytes) {
  return permit() ? __real_malloc(bytes) : NULL;
}
void *__wrap_calloc(size_t count, size_t bytes) {
  return permit() ? __real_calloc(count, bytes) : NULL;
}
void *__wrap_realloc(void *memory, size_t bytes) {
  return permit() ? __real_realloc(memory, bytes) : NULL;
}
char *__wrap_strdup(const char *text) {
  return permit() ? __real_strdup(text) : NULL;
}

static void *parser_malloc(size_t bytes) {
  void *memory = __wrap_malloc(bytes);
  parser_failed |= !memory;
  return memory;
}

void failing_malloc_begin(size_t n) {
  allocations = 0;
  fail_at = n;
  parser_failed = false;
}

bool failing_malloc_end(void) {
  bool failed = fail_at != 0 && allocations >= fail_at;
  fail_at = 0;
  return failed;
}

bool failing_malloc_of_parser(void) {
  return parser_failed;
}

void failing_malloc_use_parser(void) {
  json_set_alloc_funcs(parser_malloc, free);
}
