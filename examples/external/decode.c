// SPDX-License-Identifier: Apache-2.0
//
// A thread outside Weir decodes pictures into two frames in turn, and Weir's tasks add up their pixels. Each frame is
// ordered by itself: the decoder waits for the tasks that use its frame, and tasks wait for the decoder of theirs. No
// thread waits for a whole context before the end.
//
// Exit status: 0 the sums are right; 1 they are not, or something failed.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/external.h>

enum { FRAMES = 2, PIXELS = 4096, PICTURES = 40 };

// An order for the decoder.
typedef struct order {
  weir_event *unused;  // done when no task uses the frame any more
  weir_event *decoded; // what the decoder signals
} order;

static uint32_t frames[FRAMES][PIXELS];
static order orders[PICTURES];
static uint32_t ordered; // guarded by the lock
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void check(weir_status status, const char *what) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "decode: %s: %s\n", what, weir_last_error());
  exit(1);
}

static void *decoder(void *unused) {
  (void)unused;
  for (uint32_t i = 0; i < PICTURES; i++) {
    pthread_mutex_lock(&lock);
    while (ordered <= i) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    check(weir_event_wait(orders[i].unused, WEIR_FOREVER), "the frame's users");
    for (uint32_t pixel = 0; pixel < PIXELS; pixel++) frames[i % FRAMES][pixel] = i + pixel;
    check(weir_host_event_signal(orders[i].decoded, WEIR_OK), "signal");
    weir_event_release(orders[i].unused);
    weir_event_release(orders[i].decoded);
  }
  return NULL;
}

static void add_up(const weir_work *work) {
  const uint32_t *pixels = work->args[0];
  uint64_t *sum = work->args[1];
  *sum = 0;
  for (uint32_t i = 0; i < PIXELS; i++) *sum += pixels[i];
}

int main(void) {
  weir_context *context;
  weir_buffer *buffers[FRAMES], *sums;
  pthread_t thread;
  check(weir_context_create(&(weir_context_options){.devices = "cpu"}, &context), "context");
  for (int i = 0; i < FRAMES; i++) check(weir_buffer_wrap(context, frames[i], sizeof frames[i], &buffers[i]), "frame");
  check(weir_buffer_create(context, PICTURES * sizeof(uint64_t), &sums), "sums");
  if (pthread_create(&thread, NULL, decoder, NULL) != 0) return 1;
  for (uint32_t i = 0; i < PICTURES; i++) {
    weir_buffer *frame = buffers[i % FRAMES];
    check(weir_host_event_create(context, "picture", &orders[i].decoded), "event");
    check(weir_buffer_event(frame, WEIR_WRITE, &orders[i].unused), "event of a buffer");
    check(weir_buffer_follow(frame, WEIR_WRITE, orders[i].decoded), "follow");
    pthread_mutex_lock(&lock);
    ordered++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    const weir_arg args[] = {weir_reads(frame), weir_writes_range(sums, i * sizeof(uint64_t), sizeof(uint64_t))};
    check(weir_submit(context, &(weir_task){.host = add_up, .args = args, .arg_count = 2, .label = "add up"}, NULL),
          "task");
  }
  uint64_t found[PICTURES];
  check(weir_read(sums, 0, WEIR_WHOLE, found), "sums");
  check(weir_finish(context), "tasks");
  pthread_join(thread, NULL);
  weir_context_release(context);
  for (uint64_t i = 0; i < PICTURES; i++) {
    if (found[i] == i * PIXELS + (uint64_t)PIXELS * (PIXELS - 1) / 2) continue;
    fprintf(stderr, "decode: the sum of picture %d is wrong\n", (int)i);
    return 1;
  }
  printf("right: %d pictures in %d frames\n", PICTURES, FRAMES);
  return fflush(stdout) == 0 ? 0 : 1;
}
