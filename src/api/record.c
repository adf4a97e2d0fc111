// SPDX-License-Identifier: Apache-2.0
#include "api/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "engine/process.h"
#include "trace/lines.h"
#include "trace/ranks.h"

enum { MOST_PATH = 4096 };

// How long the end of a program waits for the tasks of a context that was not released.
static const uint64_t END_WAIT_NS = 10000000000u;

typedef struct recorded {
  struct recorded *next;
  weir_context *context;
  unsigned number; // of the context in the process, from 1
} recorded;

static struct {
  weir__lock lock;
  recorded *first;
  unsigned count;
  bool told; // that the name is of no use
  bool at_exit;
  pid_t process; // that has the contexts; not one that it forks
} list;

static const char *ending_of(const char *path) {
  static const char *const endings[] = {".jsonl", ".json"};
  size_t length = strlen(path);
  for (int i = 0; i < 2; i++) {
    size_t ending = strlen(endings[i]);
    if (length > ending && strcmp(path + length - ending, endings[i]) == 0) return endings[i];
  }
  return NULL;
}

bool weir__record_wanted(void) {
  const char *path = getenv("WEIR_TRACE");
  if (path == NULL || path[0] == '\0') return false;
  if (ending_of(path) != NULL && strlen(path) < MOST_PATH) return true;
  weir__lock_acquire(&list.lock);
  bool told = list.told;
  list.told = true;
  weir__lock_release(&list.lock);
  if (!told)
    fprintf(stderr,
            "weir: WEIR_TRACE=%s: nothing is recorded; the name of a timeline ends in .json, that of a recorded stream "
            "in .jsonl\n",
            path);
  return false;
}

// Which of several ranks the process is, as the context or the launcher of MPI says: ".rank1"; "" if it is alone.
static void name_rank(const weir_context *context, char *text, size_t size) {
  static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}};
  const weir__trace_rank *noted = weir__trace_rank_of(context->host.trace);
  unsigned long rank = noted->rank, ranks = noted->ranks;
  for (size_t i = 0; i < sizeof names / sizeof *names && ranks == 0; i++) {
    const char *number = getenv(names[i][0]), *count = getenv(names[i][1]);
    if (number == NULL || count == NULL) continue;
    rank = strtoul(number, NULL, 10);
    ranks = strtoul(count, NULL, 10);
  }
  text[0] = '\0';
  if (ranks > 1) snprintf(text, size, ".rank%lu", rank);
}

// The tasks are done, or are not waited for any longer.
static void save(weir_context *context, unsigned number) {
  const char *path = getenv("WEIR_TRACE");
  const char *ending = path == NULL ? NULL : ending_of(path);
  if (ending == NULL) return; // the program changed it
  char rank[32], numbered[MOST_PATH + 64], message[WEIR__MESSAGE_BYTES] = "";
  int stem = (int)(strlen(path) - strlen(ending));
  weir__context_lock(context);
  name_rank(context, rank, sizeof rank);
  if (number == 1)
    snprintf(numbered, sizeof numbered, "%.*s%s%s", stem, path, rank, ending);
  else
    snprintf(numbered, sizeof numbered, "%.*s%s.%u%s", stem, path, rank, number, ending);
  weir__trace_set_now(context->host.trace, weir__clock_ns() - context->host.start_ns);
  weir_status status =
      weir__trace_save(context->host.trace, numbered, program_invocation_short_name, message, sizeof message);
  weir__context_unlock(context);
  if (status != WEIR_OK) fprintf(stderr, "weir: WEIR_TRACE: %s\n", message);
}

// The program ends, and these contexts were not released.
static void save_all(void) {
  if (getpid() != list.process) return;
  weir__lock_acquire(&list.lock);
  recorded *each = list.first;
  list.first = NULL;
  weir__lock_release(&list.lock);
  while (each != NULL) {
    recorded *next = each->next;
    bool foreign = weir__is_foreign(each->context); // its own process saves it
    if (!foreign && !weir__this_thread.in_task) {
      weir__context_lock(each->context);
      weir__context_flush(each->context);
      weir__context_wait(each->context, each->context->host.window.next, END_WAIT_NS);
      weir__context_unlock(each->context);
    }
    if (!foreign) save(each->context, each->number);
    weir__free(each);
    each = next;
  }
}

void weir__record_open(weir_context *context) {
  if (context->host.trace == NULL || !weir__record_wanted()) return;
  recorded *entry = weir__allocate(sizeof *entry);
  if (entry == NULL) {
    fprintf(stderr, "weir: WEIR_TRACE: no memory to record a context\n");
    return;
  }
  weir__lock_acquire(&list.lock);
  *entry = (recorded){.next = list.first, .context = context, .number = ++list.count};
  list.first = entry;
  list.process = getpid();
  bool registered = list.at_exit;
  list.at_exit = true;
  weir__lock_release(&list.lock);
  if (!registered && atexit(save_all) != 0)
    fprintf(stderr, "weir: WEIR_TRACE: only contexts that are released are recorded\n");
}

void weir__record_close(weir_context *context) {
  weir__lock_acquire(&list.lock);
  recorded **link = &list.first;
  while (*link != NULL && (*link)->context != context) link = &(*link)->next;
  recorded *entry = *link;
  if (entry != NULL) *link = entry->next;
  weir__lock_release(&list.lock);
  if (entry == NULL) return;
  save(context, entry->number);
  weir__free(entry);
}
