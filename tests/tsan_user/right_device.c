// SPDX-License-Identifier: Apache-2.0
//
// A program without a race on a device with memory of its own, which may report tasks in another order than theirs. It
// runs on a driver without a card, whose own accesses ThreadSanitizer is told to ignore.
#include "user.h"
#include "weir/enqueue.h"

static void count_use(const weir_work *work) {
  uint32_t *words = work->args[0];
  for (uint32_t i = 0; i < WORDS; i++) words[i]++;
  ++*(uint32_t *)work->user;
}

// `uses` goes with the buffer, whose contents move to the device and back.
static void there_and_back(weir_context *context) {
  uint32_t in[WORDS] = {0}, out[WORDS] = {0}, uses = 0;
  weir_buffer *buffer;
  weir_arg arg;
  weir_event *event;
  must(weir_buffer_create(context, BYTES, &buffer));
  for (int round = 0; round < 20; round++) {
    weir_open_task *open;
    const weir_enqueue *call;
    must(weir_copy_in(buffer, 0, BYTES, in, NULL));
    arg = weir_updates(buffer);
    submit(context, count_use, &uses, &arg, 1, NULL);
    must(weir_task_begin(context, &(weir_task){.args = &arg, .arg_count = 1}, &open, &call));
    must(weir_task_end(open, NULL, 0, NULL));
    must(weir_copy_out(buffer, 0, BYTES, out, &event));
    must(weir_event_wait(event, WEIR_FOREVER));
    weir_event_release(event);
    in[1] += out[2];
    uses++;
    if (round % 3 == 0) submit(context, count_use, &uses, &arg, 1, NULL);
    if (round % 4 == 0) must(weir_finish(context));
    must(weir_read(buffer, 0, BYTES, out));
    uses++;
  }
  must(weir_finish(context));
}

static const program programs[] = {{"there_and_back", there_and_back, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv) {
  return run_programs(programs, argc, argv);
}
