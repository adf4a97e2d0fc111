// SPDX-License-Identifier: Apache-2.0
#include "clocks.h"

#include <sched.h>
#include <stdio.h>

#include "answer.kernels.h"
#include "base/clock.h"
#include "device_clock.h"

enum { STEPS = 1000, MOST_TRIES = 5, ANSWER = 16, WORDS = 32 }; // ANSWER: index of a word in a line of its own

static const uint64_t PATIENCE_NS = 10000000000, DEADLINE_NS = 20000000000;

uint64_t wait_clock_ns(void) {
  return weir__clock_ns();
}

void wait_yield(void) {
  sched_yield();
}

// As the kernel wait_steps finds the card's.
static uint64_t host_step(void) {
  uint64_t smallest = UINT64_MAX, last = wait_clock_ns();
  for (int i = 0; i < STEPS; i++) {
    uint64_t now = wait_clock_ns();
    while (now == last) now = wait_clock_ns();
    if (now - last < smallest) smallest = now - last;
    last = now;
  }
  return smallest;
}

static CUresult launch(const wait_clocks *clocks, CUfunction function, void **parameters) {
  return clocks->card->driver->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, clocks->stream, parameters, NULL);
}

static CUresult find_step(wait_clocks *clocks) {
  const weir__cuda_driver *driver = clocks->card->driver;
  CUfunction function = NULL;
  uint64_t out = (uintptr_t)clocks->words, steps = STEPS;
  void *parameters[] = {&out, &steps};
  CUresult result = driver->cuModuleGetFunction(&function, clocks->module, "wait_steps");
  if (result == CUDA_SUCCESS) result = launch(clocks, function, parameters);
  if (result == CUDA_SUCCESS) result = driver->cuStreamSynchronize(clocks->stream);
  clocks->step_ns = wait_read(clocks->words);
  return result;
}

bool wait_clocks_open(const nvrtc_card *card, uint64_t questions, wait_clocks *clocks, char *reason,
                      size_t reason_bytes) {
  *clocks = (wait_clocks){.card = card, .questions = questions};
  if (card == NULL) {
    clocks->step_ns = host_step();
    return true;
  }
  const weir__cuda_driver *driver = card->driver;
  void *words = NULL;
  if (!nvrtc_card_compile(card, "wait_answer", answer_kernels_source, &clocks->module, reason, reason_bytes))
    return false;
  CUresult result = driver->cuModuleGetFunction(&clocks->answer, clocks->module, "wait_answer");
  if (result == CUDA_SUCCESS) result = driver->cuStreamCreateWithPriority(&clocks->stream, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS)
    result =
        driver->cuMemHostAlloc(&words, WORDS * sizeof(uint64_t), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  clocks->words = words;
  if (result == CUDA_SUCCESS) result = find_step(clocks);
  return nvrtc_card_good(card, result, "the clock cannot be read", reason, reason_bytes);
}

void wait_clocks_close(wait_clocks *clocks) {
  if (clocks->card == NULL) return;
  const weir__cuda_driver *driver = clocks->card->driver;
  if (clocks->stream != NULL) driver->cuStreamDestroy(clocks->stream);
  if (clocks->words != NULL) driver->cuMemFreeHost(clocks->words);
  if (clocks->module != NULL) driver->cuModuleUnload(clocks->module);
}

// The answer to a question, which is another one than the last. False: none came.
static bool await_answer(const uint64_t *answer, uint64_t last, uint64_t *out_answer) {
  const uint64_t begin = wait_clock_ns();
  for (uint32_t looks = 1;; looks++) {
    *out_answer = wait_read(answer);
    if (*out_answer != last) return true;
    if (looks % WAIT_LOOKS_PER_YIELD != 0) continue;
    if (wait_clock_ns() - begin > DEADLINE_NS) return false;
    wait_yield();
  }
}

static bool ask(wait_clocks *clocks, wait_relation *relation) {
  uint64_t last = 0;
  relation->round_ns = UINT64_MAX;
  for (uint64_t question = 1; question <= clocks->questions; question++) {
    uint64_t answer, asked = wait_clock_ns();
    wait_write(clocks->words, question);
    if (!await_answer(clocks->words + ANSWER, last, &answer)) return false;
    uint64_t round = wait_clock_ns() - asked;
    last = answer;
    if (round < relation->round_ns) *relation = (wait_relation){asked + round / 2, answer, round};
  }
  return true;
}

static bool relate_once(wait_clocks *clocks, wait_relation *relation) {
  uint64_t question = (uintptr_t)clocks->words, answer = (uintptr_t)(clocks->words + ANSWER);
  uint64_t questions = clocks->questions, patience = PATIENCE_NS;
  void *parameters[] = {&question, &answer, &questions, &patience};
  char reason[512];
  clocks->words[0] = clocks->words[ANSWER] = 0;
  CUresult result = launch(clocks, clocks->answer, parameters);
  bool answered = result == CUDA_SUCCESS && ask(clocks, relation);
  if (result == CUDA_SUCCESS) result = clocks->card->driver->cuStreamSynchronize(clocks->stream);
  bool good = nvrtc_card_good(clocks->card, result, "the clocks", reason, sizeof reason);
  if (!good || !answered) fprintf(stderr, "weir-bench-wait: %s\n", good ? "the card does not answer" : reason);
  return good && answered;
}

bool wait_clocks_relate(wait_clocks *clocks, wait_relation *relation) {
  if (clocks->card == NULL) {
    uint64_t now = wait_clock_ns();
    *relation = (wait_relation){now, now, 0};
    return true;
  }
  relation->round_ns = UINT64_MAX;
  for (int i = 0; i < MOST_TRIES; i++) {
    wait_relation found;
    if (!relate_once(clocks, &found)) return false;
    if (found.round_ns < relation->round_ns) *relation = found;
    if (clocks->least_round_ns == 0 || found.round_ns < clocks->least_round_ns) clocks->least_round_ns = found.round_ns;
    if (relation->round_ns <= clocks->least_round_ns * 3 / 2) break;
  }
  return true;
}

// Clocks begin at any time: only differences of one clock are small.
static int64_t since(uint64_t later_ns, uint64_t earlier_ns) {
  return (int64_t)(later_ns - earlier_ns);
}

int64_t wait_drift_ns(const wait_relation *before, const wait_relation *after) {
  return since(after->host_ns, before->host_ns) - since(after->device_ns, before->device_ns);
}

uint64_t wait_to_host(const wait_relation *before, const wait_relation *after, uint64_t device_ns) {
  int64_t span = since(after->device_ns, before->device_ns), passed = since(device_ns, before->device_ns);
  double share = span > 0 ? (double)passed / (double)span : 0;
  return before->host_ns + (uint64_t)(passed + (int64_t)(share * (double)wait_drift_ns(before, after)));
}

uint64_t wait_error_ns(const wait_clocks *clocks, const wait_relation *before, const wait_relation *after) {
  uint64_t round = before->round_ns > after->round_ns ? before->round_ns : after->round_ns;
  return round == 0 ? 0 : round / 2 + clocks->step_ns;
}
