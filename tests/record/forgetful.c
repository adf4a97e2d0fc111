// SPDX-License-Identifier: Apache-2.0
//
// A program with two contexts; the second is not released. It knows nothing of recording. With "child" it forks a
// process that has a context of its own and ends, and is gone itself without an end.
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/weir.h"

static void work(const weir_work *task) {
  for (int i = 0; i < 1000; i++) ((volatile unsigned char *)task->args[0])[i % 64]++;
}

static int run(weir_context **out_context) {
  weir_buffer *buffer;
  weir_event *event;
  unsigned char bytes[64] = {0};
  if (weir_context_create(&(weir_context_options){.devices = "cpu:2"}, out_context) != WEIR_OK ||
      weir_buffer_create(*out_context, 64, &buffer) != WEIR_OK || weir_copy_in(buffer, 0, 64, bytes, NULL) != WEIR_OK)
    return 1;
  const weir_arg arg = weir_updates(buffer);
  for (int i = 0; i < 10; i++) {
    const weir_task task = {.host = work, .args = &arg, .arg_count = 1, .label = i % 2 ? "odd" : "even"};
    if (weir_submit(*out_context, &task, i == 4 ? &event : NULL) != WEIR_OK) return 1;
    if (i == 4 && weir_event_wait(event, WEIR_FOREVER) != WEIR_OK) return 1;
  }
  return weir_read(buffer, 0, 64, bytes) != WEIR_OK;
}

// Returns in the child alone.
static int run_in_child(void) {
  weir_context *own;
  int status = 1;
  pid_t child = fork();
  if (child == 0) return run(&own);
  if (child > 0) (void)waitpid(child, &status, 0);
  _exit(status == 0 ? 0 : 1);
}

int main(int argc, char **argv) {
  weir_context *first, *second;
  if (run(&first) != 0 || run(&second) != 0) return 1;
  if (argc > 1 && strcmp(argv[1], "child") == 0) return run_in_child();
  weir_context_release(first);
  if (argc > 1 && strcmp(argv[1], "release") == 0) weir_context_release(second);
  return 0;
}
