// SPDX-License-Identifier: Apache-2.0
#include "joined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mpi_program.h"
#include "timeline/join.h"

enum { PATH = 64 };
static char folder[] = "/tmp/weir-mpi-timeline-XXXXXX";
static uint32_t program_count;

static void path_of(uint32_t rank, char *path) {
  snprintf(path, PATH, "%s/rank%u.json", folder, rank);
}

// Without failures: what failed proves nothing.
static void random_body(rank_run *run) {
  for (uint32_t i = 0; i < program_count && run->text[0] == '\0'; i++)
    snprintf(run->text, sizeof run->text, "%s",
             mpi_program_run(run->context, run->mpi, run->seed * program_count + i, false));
}

static void save(rank_run *run) {
  char path[PATH];
  path_of(run->rank, path);
  run->status = weir_trace_save(run->context, path, "ranks");
}

weir__timeline *joined_run(uint32_t ranks, uint64_t seed, uint32_t programs, int64_t skew_ns) {
  char paths[RANK_THREADS_MOST][PATH], *names[RANK_THREADS_MOST], message[512], *json = NULL;
  size_t bytes = 0;
  rank_run runs[RANK_THREADS_MOST];
  memset(folder + strlen(folder) - 6, 'X', 6);
  assert_non_null(mkdtemp(folder));
  program_count = programs;
  rank_threads_flags = WEIR_CONTEXT_TRACE;
  rank_threads_skew_ns = skew_ns;
  rank_threads_after = save;
  // Messages in the memory of cards: some, all, or by way of the host.
  const weir_mpi_options options = {.direct = seed % 3 == 0 ? WEIR_MPI_DIRECT_NEVER : WEIR_MPI_DIRECT_ALWAYS,
                                    .direct_bytes = seed % 3 == 1 ? 1 : 100};
  rank_threads_run(runs, ranks, seed, &options, random_body);
  for (uint32_t rank = 0; rank < ranks; rank++) {
    assert_string_equal(runs[rank].text, "");
    assert_int_equal(runs[rank].status, WEIR_OK);
    path_of(rank, names[rank] = paths[rank]);
  }
  weir__timeline *timeline = NULL;
  if (weir__timeline_join(names, ranks, message, sizeof message, &json, &bytes) != WEIR_OK) fail_msg("%s", message);
  if (weir__timeline_read_memory("joined", json, bytes, message, sizeof message, &timeline) != WEIR_OK)
    fail_msg("%s", message);
  free(json);
  for (uint32_t rank = 0; rank < ranks; rank++) unlink(paths[rank]);
  rmdir(folder);
  return timeline;
}

const weir__timeline_task *joined_send(const weir__timeline *timeline, const weir__timeline_task *receive) {
  for (size_t i = 0; i < receive->wait_count; i++) {
    const weir__timeline_wait *wait = &timeline->waits[receive->wait_first + i];
    if (strcmp(wait->hazard, "MESSAGE") != 0) continue;
    for (size_t k = 0; k < timeline->task_count; k++) {
      if (timeline->tasks[k].id == wait->task) return &timeline->tasks[k];
    }
  }
  return NULL;
}

static void swap(weir__timeline *timeline, size_t a, size_t b) {
  weir__timeline_task task = timeline->tasks[a];
  timeline->tasks[a] = timeline->tasks[b];
  timeline->tasks[b] = task;
}

void joined_take_out(weir__timeline *timeline, size_t task) {
  swap(timeline, task, --timeline->task_count);
}

void joined_put_back(weir__timeline *timeline, size_t task) {
  swap(timeline, task, timeline->task_count++);
}
