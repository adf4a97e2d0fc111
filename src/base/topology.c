// SPDX-License-Identifier: Apache-2.0
//
// Which cores there are, from hwloc, which is loaded at run time: without it workers are not pinned.
#include "base/topology.h"

#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/machine.h"

#define HWLOC_SYMBOLS(X)                                                                                               \
  X(hwloc_topology_init)                                                                                               \
  X(hwloc_topology_load)                                                                                               \
  X(hwloc_topology_destroy)                                                                                            \
  X(hwloc_get_type_depth)                                                                                              \
  X(hwloc_get_nbobjs_by_depth)                                                                                         \
  X(hwloc_get_obj_by_depth)                                                                                            \
  X(hwloc_bitmap_first)                                                                                                \
  X(hwloc_bitmap_next)                                                                                                 \
  X(hwloc_get_api_version)

enum { MAX_CORES = 1024 };

static struct {
#define MEMBER(name) __typeof__(&name) name;
  HWLOC_SYMBOLS(MEMBER)
#undef MEMBER
  uint32_t cores[MAX_CORES]; // processing units in the order in which workers get them: one per core first
  uint32_t core_count;       // 0: no hwloc
  uint32_t usable;           // that the process may run on
  cpu_set_t allowed;         // these
  char text[160];
} topology;

static pthread_once_t topology_once = PTHREAD_ONCE_INIT;

// The socket that has a processing unit's name, and 1. 0: the unit is free, or this system has no such sockets, so that others may
// have it, too.
static _Atomic int sockets[CPU_SETSIZE];

// Returns the first symbol that is missing, or NULL.
static const char *resolve(void *library) {
#define RESOLVE(name)                                                                                                  \
  *(void **)(&topology.name) = dlsym(library, #name);                                                                  \
  if (topology.name == NULL) return #name;
  HWLOC_SYMBOLS(RESOLVE)
#undef RESOLVE
  return NULL;
}

// Adds the `rank`-th processing unit of every core that the process may use.
static void add_units(hwloc_topology_t loaded, const cpu_set_t *allowed, int rank) {
  int depth = topology.hwloc_get_type_depth(loaded, HWLOC_OBJ_CORE);
  if (depth < 0) depth = topology.hwloc_get_type_depth(loaded, HWLOC_OBJ_PU);
  unsigned count = topology.hwloc_get_nbobjs_by_depth(loaded, depth);
  for (unsigned i = 0; i < count; i++) {
    hwloc_obj_t core = topology.hwloc_get_obj_by_depth(loaded, depth, i);
    int unit = topology.hwloc_bitmap_first(core->cpuset);
    for (int skipped = 0; unit >= 0 && skipped < rank; skipped++) unit = topology.hwloc_bitmap_next(core->cpuset, unit);
    if (unit < 0 || unit >= CPU_SETSIZE || !CPU_ISSET((size_t)unit, allowed)) continue;
    if (topology.core_count < MAX_CORES) topology.cores[topology.core_count++] = (uint32_t)unit;
  }
}

static void let_go(uint32_t unit) {
  int held = atomic_exchange(&sockets[unit], 0);
  if (held > 0) close(held - 1);
}

static void let_go_all(void) {
  for (uint32_t unit = 0; unit < CPU_SETSIZE; unit++) let_go(unit);
}

static void load(void) {
  (void)pthread_atfork(NULL, NULL, let_go_all); // without memory for it a forked process keeps them as long as it lives
  CPU_ZERO(&topology.allowed);
  sched_getaffinity(0, sizeof topology.allowed, &topology.allowed);
  topology.usable = weir__machine_cores();
  int allowed = CPU_COUNT(&topology.allowed);
  if (allowed > 0 && topology.usable < (uint32_t)allowed) {
    snprintf(topology.text, sizeof topology.text,
             "workers are not pinned: the control group allows the time of %u of %d cores", topology.usable, allowed);
    return;
  }
  void *library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(topology.text, sizeof topology.text, "workers are not pinned: %.110s", dlerror());
    return;
  }
  const char *missing = resolve(library);
  hwloc_topology_t loaded;
  if (missing != NULL) {
    snprintf(topology.text, sizeof topology.text, "workers are not pinned: libhwloc.so.15 has no %s", missing);
  } else if (topology.hwloc_topology_init(&loaded) != 0 || topology.hwloc_topology_load(loaded) != 0) {
    snprintf(topology.text, sizeof topology.text, "workers are not pinned: hwloc cannot read the topology");
  } else {
    for (int rank = 0; rank < 8; rank++) add_units(loaded, &topology.allowed, rank);
    unsigned version = topology.hwloc_get_api_version();
    snprintf(topology.text, sizeof topology.text, "workers are pinned by hwloc %u.%u", version >> 16,
             version >> 8 & 0xff);
    topology.hwloc_topology_destroy(loaded);
  }
}

// A name that begins with a zero byte is in no file system.
static bool take(uint32_t unit, weir__core *out_core) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "weir core %u", unit);
  int name = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  int error = name < 0 || bind(name, (struct sockaddr *)&address, bytes) != 0 ? errno : 0;
  if (error != 0 && name >= 0) close(name);
  if (error == EADDRINUSE) return false;
  *out_core = (weir__core){.taken = true, .unit = unit};
  if (error == 0) atomic_store(&sockets[unit], name + 1);
  return true;
}

static bool pin(pthread_t thread, uint32_t unit) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(unit, &set);
  return pthread_setaffinity_np(thread, sizeof set, &set) == 0;
}

bool weir__core_take(pthread_t thread, uint32_t first, weir__core *out_core) {
  pthread_once(&topology_once, load);
  *out_core = (weir__core){.taken = false};
  if (first >= topology.core_count) return false;
  for (uint32_t i = 0; i < topology.core_count && !out_core->taken; i++) {
    uint32_t unit = topology.cores[(first + i) % topology.core_count];
    if (!take(unit, out_core) || pin(thread, unit)) continue;
    weir__core_give(out_core);
    return false;
  }
  return out_core->taken;
}

void weir__core_give(weir__core *core) {
  if (core->taken) let_go(core->unit);
  *core = (weir__core){.taken = false};
}

void weir__unpin(void) {
  pthread_once(&topology_once, load);
  if (CPU_COUNT(&topology.allowed) > 0)
    pthread_setaffinity_np(pthread_self(), sizeof topology.allowed, &topology.allowed);
}

uint32_t weir__usable_cores(void) {
  pthread_once(&topology_once, load);
  return topology.usable;
}

void weir__pinning_text(char *text, size_t size) {
  pthread_once(&topology_once, load);
  snprintf(text, size, "%s", topology.text);
}
