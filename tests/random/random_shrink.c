// SPDX-License-Identifier: Apache-2.0
#include "random_shrink.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void attempt_in_child(random_run *run, uint32_t repeats, unsigned seconds, bool quiet) {
  if (quiet) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  }
  bool good = true;
  for (uint32_t i = 0; i < repeats && good; i++) {
    char message[PROGRAM_MESSAGE_BYTES];
    alarm(seconds);
    good = random_run_once(run, message);
    if (!good) fprintf(stderr, "%s\n", message);
  }
  fflush(NULL);
  _exit(good ? 0 : 1);
}

bool random_attempt(random_run *run, uint32_t repeats, unsigned seconds, bool quiet) {
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) {
    perror("fork");
    exit(1);
  }
  if (child == 0) attempt_in_child(run, repeats, seconds, quiet);
  int status = 0;
  waitpid(child, &status, 0);
  if (!quiet && WIFSIGNALED(status))
    fprintf(stderr, "ended by signal %d (%s)\n", WTERMSIG(status),
            WTERMSIG(status) == SIGALRM ? "hung" : strsignal(WTERMSIG(status)));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool drop_range(random_run *run, uint32_t first, uint32_t count, uint32_t repeats) {
  test_program *program = &run->program;
  bool *before = program_memory(program->count * sizeof(bool));
  memcpy(before, program->dropped, program->count * sizeof(bool));
  bool changed = false;
  for (uint32_t i = first; i < first + count && i < program->count; i++) {
    changed |= !program->dropped[i];
    program->dropped[i] = true;
  }
  program_drop_dependents(program);
  bool kept = changed && !random_attempt(run, repeats, 5, true);
  if (!kept) memcpy(program->dropped, before, program->count * sizeof(bool));
  free(before);
  return kept;
}

void random_shrink(random_run *run, uint32_t repeats) {
  for (int round = 0; round < 2; round++) {
    for (uint32_t size = run->program.count / 2; size > 0; size /= 2) {
      for (uint32_t end = run->program.count; end > 0; end = end > size ? end - size : 0)
        drop_range(run, end > size ? end - size : 0, end > size ? size : end, repeats);
    }
  }
}
