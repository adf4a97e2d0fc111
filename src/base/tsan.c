// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. Functions that a worker runs one after the other need not be ordered, though they run in one thread; so each runs in
// a fiber. The switch is not an order either. A fiber that is used again does order two functions: so there are some, which
// take turns, and a race between functions is missed only if as many others ran in between. A fiber has a stack of its own: locals
// of two functions at the same address would look like a race. Both have the thread's thread-locals, which are told to be
// benign for this reason.
// A new fiber comes after what its creator did so far. So all but the first are created in the first one, which does nothing else.
#include "base/tsan.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/allocate.h"
#include "base/lock.h"
#include "base/thread.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_SEES_ITSELF 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define WEIR_SEES_ITSELF 1
#endif

_Atomic bool weir__tsan_is_on;

#ifdef WEIR_SEES_ITSELF

void weir__tsan_find(void) {}
void weir__tsan_acquire(weir__point *point) {
  (void)point;
}
void weir__tsan_release(weir__point *point) {
  (void)point;
}
void weir__tsan_access(const void *memory, uint64_t bytes, bool writes) {
  (void)memory, (void)bytes, (void)writes;
}
void weir__tsan_ignore(void) {}
void weir__tsan_heed(void) {}
void weir__tsan_call(void (*function)(void *argument), void *argument) {
  function(argument);
}
void weir__tsan_note(void (*function)(void *argument), void *argument) {
  function(argument);
}

#else

#include <ucontext.h>

enum { TURNS = 32, NO_ORDER = 1 };
enum { LEAST_STACK = 8 << 20, MOST_STACK = 1 << 30, GUARD_BYTES = 1 << 16 };

typedef struct fiber {
  struct fiber *next;
  void *handle;
  char *stack; // NULL: none yet
} fiber;

// Functions of ThreadSanitizer's, as gcc's and clang's runtimes export them.
#define WEIR_TSAN_FUNCTIONS(X)                                                                                         \
  X(void, acquire, "__tsan_acquire", (void *address))                                                                  \
  X(void, release, "__tsan_release", (void *address))                                                                  \
  X(void, read_range, "__tsan_read_range", (void *address, unsigned long bytes))                                       \
  X(void, write_range, "__tsan_write_range", (void *address, unsigned long bytes))                                     \
  X(void *, current, "__tsan_get_current_fiber", (void))                                                               \
  X(void *, create, "__tsan_create_fiber", (unsigned flags))                                                           \
  X(void, go_to, "__tsan_switch_to_fiber", (void *fiber, unsigned flags))                                              \
  X(void, name, "__tsan_set_fiber_name", (void *fiber, const char *name))                                              \
  X(void, ignore_reads, "AnnotateIgnoreReadsBegin", (const char *file, int line))                                      \
  X(void, heed_reads, "AnnotateIgnoreReadsEnd", (const char *file, int line))                                          \
  X(void, ignore_writes, "AnnotateIgnoreWritesBegin", (const char *file, int line))                                    \
  X(void, heed_writes, "AnnotateIgnoreWritesEnd", (const char *file, int line))                                        \
  X(void, benign, "AnnotateBenignRaceSized",                                                                           \
    (const char *file, int line, const volatile void *address, unsigned long bytes, const char *text))

static struct {
#define X(result, member, symbol, parameters) result(*member) parameters;
  WEIR_TSAN_FUNCTIONS(X)
#undef X
} tsan;

static struct {
  weir__lock lock; // guards the rest
  bool looked;
  size_t stack_bytes;  // of each
  void *root;          // the fiber that creates the others
  fiber *first, *last; // those that are not in use, in the order in which they were given back
  uint32_t count;      // of all
} fibers;

static bool resolve(void) {
#define X(result, member, symbol, parameters)                                                                          \
  *(void **)(void *)&tsan.member = dlsym(RTLD_DEFAULT, symbol);                                                        \
  if (tsan.member == NULL) return false;
  WEIR_TSAN_FUNCTIONS(X)
#undef X
  return true;
}

// As much as the system gives a thread.
static size_t stack_bytes(void) {
  struct rlimit limit;
  bool more = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > LEAST_STACK && limit.rlim_cur <= MOST_STACK;
  return more ? (size_t)limit.rlim_cur & ~(size_t)(GUARD_BYTES - 1) : LEAST_STACK;
}

void weir__tsan_find(void) {
  weir__lock_acquire(&fibers.lock);
  if (!fibers.looked) {
    fibers.looked = true;
    const char *wanted = getenv("WEIR_TSAN");
    bool on = (wanted == NULL || strcmp(wanted, "0") != 0) && resolve();
    if (on) fibers.root = tsan.create(0);
    fibers.stack_bytes = stack_bytes();
    atomic_store_explicit(&weir__tsan_is_on, on, memory_order_relaxed);
  }
  weir__lock_release(&fibers.lock);
}

void weir__tsan_acquire(weir__point *point) {
  if (weir__tsan_on()) tsan.acquire(point);
}

void weir__tsan_release(weir__point *point) {
  if (weir__tsan_on()) tsan.release(point);
}

void weir__tsan_access(const void *memory, uint64_t bytes, bool writes) {
  if (!weir__tsan_on()) return;
  (writes ? tsan.write_range : tsan.read_range)((void *)(uintptr_t)memory, bytes);
}

void weir__tsan_ignore(void) {
  if (!weir__tsan_on()) return;
  tsan.ignore_reads(__FILE__, __LINE__);
  tsan.ignore_writes(__FILE__, __LINE__);
}

void weir__tsan_heed(void) {
  if (!weir__tsan_on()) return;
  tsan.heed_writes(__FILE__, __LINE__);
  tsan.heed_reads(__FILE__, __LINE__);
}

// ---------------------------------------------------------------------------------------------------------------
// Fibers

static fiber *create(void) {
  fiber *made = weir__allocate_zeroed(sizeof *made);
  if (made == NULL) return NULL;
  void *here = tsan.current();
  tsan.go_to(fibers.root, NO_ORDER);
  made->handle = tsan.create(0);
  tsan.go_to(here, NO_ORDER);
  tsan.name(made->handle, "weir function");
  fibers.count++;
  return made;
}

// NULL: no memory.
static fiber *take(void) {
  weir__lock_acquire(&fibers.lock);
  fiber *taken = fibers.first;
  if (taken == NULL || fibers.count < TURNS) {
    taken = create();
  } else {
    fibers.first = taken->next;
    if (fibers.first == NULL) fibers.last = NULL;
  }
  weir__lock_release(&fibers.lock);
  return taken;
}

static void give(fiber *given) {
  weir__lock_acquire(&fibers.lock);
  given->next = NULL;
  if (fibers.last != NULL)
    fibers.last->next = given;
  else
    fibers.first = given;
  fibers.last = given;
  weir__lock_release(&fibers.lock);
}

// Not the library's allocation: what is below the guard must not be touched.
static bool has_stack(fiber *own) {
  if (own->stack != NULL) return true;
  weir__tsan_ignore();
  void *stack = mmap(NULL, fibers.stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack != MAP_FAILED && mprotect(stack, GUARD_BYTES, PROT_NONE) == 0) own->stack = stack;
  weir__tsan_heed();
  return own->stack != NULL;
}

static int note_thread_locals(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size, (void)user;
  for (int i = 0; i < info->dlpi_phnum && info->dlpi_tls_data != NULL; i++) {
    if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
    tsan.benign(__FILE__, __LINE__, info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz, "thread-locals of one thread");
  }
  return 0;
}

// The thread-locals that the thread has by now: of all that was loaded when it started.
static void share_thread_locals(void) {
  if (weir__this_thread.shares) return;
  weir__this_thread.shares = true;
  weir__tsan_ignore();
  dl_iterate_phdr(note_thread_locals, NULL);
  weir__tsan_heed();
}

typedef struct call {
  void *own, *before; // fibers
  void (*function)(void *argument);
  void *argument;
  ucontext_t there, back;
} call;

static void begin(unsigned high, unsigned low) {
  call *self = (call *)((uintptr_t)high << 32 | low); // NOLINT: makecontext passes ints only
  tsan.go_to(self->own, NO_ORDER);
  self->function(self->argument);
  tsan.go_to(self->before, NO_ORDER);
  setcontext(&self->back);
}

void weir__tsan_call(void (*function)(void *argument), void *argument) {
  fiber *own = weir__tsan_on() ? take() : NULL;
  if (own == NULL || !has_stack(own)) {
    if (own != NULL) give(own);
    function(argument);
    return;
  }
  share_thread_locals();
  call self = {.own = own->handle, .before = tsan.current(), .function = function, .argument = argument};
  getcontext(&self.there);
  self.there.uc_stack.ss_sp = own->stack;
  self.there.uc_stack.ss_size = fibers.stack_bytes;
  self.there.uc_link = NULL;
  uintptr_t address = (uintptr_t)&self;
  makecontext(&self.there, (void (*)(void))begin, 2, (unsigned)(address >> 32), (unsigned)address);
  swapcontext(&self.back, &self.there);
  give(own);
}

void weir__tsan_note(void (*function)(void *argument), void *argument) {
  fiber *own = weir__tsan_on() ? take() : NULL;
  if (own == NULL) return;
  void *here = tsan.current();
  tsan.go_to(own->handle, NO_ORDER);
  function(argument);
  tsan.go_to(here, NO_ORDER);
  give(own);
}

#endif

// ---------------------------------------------------------------------------------------------------------------

typedef struct start {
  void *(*main)(void *argument);
  void *argument;
} start;

// All that the thread does by itself is the library's affair. Its functions of the caller's run in fibers.
static void *run_ignored(void *argument) {
  start *given = argument;
  start own = *given;
  weir__free(given);
  weir__tsan_ignore();
  void *result = own.main(own.argument);
  weir__tsan_heed(); // ThreadSanitizer insists
  return result;
}

int weir__thread_create(pthread_t *out_thread, void *(*main)(void *argument), void *argument) {
  start *given = weir__tsan_on() ? weir__allocate(sizeof *given) : NULL;
  if (given == NULL) return pthread_create(out_thread, NULL, main, argument);
  *given = (start){.main = main, .argument = argument};
  int error = pthread_create(out_thread, NULL, run_ignored, given);
  if (error != 0) weir__free(given);
  return error;
}

weir__sync *weir__sync_create(void) {
  weir__sync *sync = weir__tsan_on() ? weir__allocate_zeroed(sizeof *sync) : NULL;
  if (sync != NULL) sync->references = 1;
  return sync;
}

void weir__sync_drop(weir__sync *sync) {
  if (sync != NULL && --sync->references == 0) weir__free(sync);
}
