// SPDX-License-Identifier: Apache-2.0
#include "device/loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *weir__symbols_find(weir__symbols symbols, void *table, weir__function (*find)(void *user, const char *name),
                               void *user) {
  for (size_t i = 0; i < symbols.count; i++) {
    const weir__symbol *symbol = &symbols.list[i];
    weir__function function = find(user, symbol->name);
    if (function == NULL && symbol->need == WEIR__REQUIRED) return symbol->name;
    memcpy((char *)table + symbol->offset, &function, sizeof function);
  }
  return NULL;
}

static weir__function find_in_library(void *handle, const char *name) {
  void *found = dlsym(handle, name);
  weir__function function;
  memcpy(&function, &found, sizeof function);
  return function;
}

static const char *from_environment(const char *variable) {
  const char *value = variable != NULL ? getenv(variable) : NULL;
  return value != NULL && value[0] != '\0' ? value : NULL;
}

// The first reason is kept: a name without a folder is tried first, and its reason says most.
static void *open_file(const weir__library *library, const char *path, char *reason, size_t size) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *why = handle == NULL ? dlerror() : NULL;
  if (handle == NULL && reason[0] == '\0') snprintf(reason, size, "no %s: %s", library->name, why != NULL ? why : path);
  return handle;
}

// `path` becomes the file that was opened.
static void *open_in(const weir__library *library, const char *folder, char path[PATH_MAX], char *reason, size_t size) {
  void *handle = NULL;
  for (const char *const *file = library->files; *file != NULL && handle == NULL; file++) {
    snprintf(path, PATH_MAX, "%s%s%s", folder != NULL ? folder : "", folder != NULL ? "/lib64/" : "", *file);
    handle = open_file(library, path, reason, size);
  }
  return handle;
}

static void *open_library(const weir__library *library, char path[PATH_MAX], char *reason, size_t size) {
  const char *given = from_environment(library->variable), *home = from_environment(library->home_variable);
  reason[0] = '\0';
  if (given != NULL) {
    snprintf(path, PATH_MAX, "%s", given);
    return open_file(library, path, reason, size);
  }
  void *handle = open_in(library, NULL, path, reason, size);
  if (handle == NULL && home != NULL) handle = open_in(library, home, path, reason, size);
  if (handle != NULL || library->home == NULL) return handle;
  handle = open_in(library, library->home, path, reason, size);
  size_t used = strlen(reason);
  if (handle == NULL)
    snprintf(reason + used, size - used, " (nor in $%s/lib64 or %s/lib64)", library->home_variable, library->home);
  return handle;
}

static bool load(const weir__library *library, char *reason, size_t size) {
  char path[PATH_MAX];
  void *handle = open_library(library, path, reason, size);
  if (handle == NULL) return false;
  const char *missing = weir__symbols_find(library->symbols, library->table, find_in_library, handle);
  if (missing != NULL) {
    snprintf(reason, size, "%s: %s %s", path, library->lacks, missing);
    dlclose(handle);
    return false;
  }
  return library->start == NULL || library->start(library->table, reason, size);
}

const void *weir__library_load(weir__library *library, char *reason, size_t size) {
  weir__lock_acquire(&library->lock);
  if (!library->loaded) library->loaded = load(library, reason, size);
  bool loaded = library->loaded;
  weir__lock_release(&library->lock);
  return loaded ? library->table : NULL;
}
