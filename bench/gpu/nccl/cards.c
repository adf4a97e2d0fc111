// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "bench.h"
#include "weir/cuda.h"

static weir_kernel *make(const two_cards *cards, const char *name, uint32_t threads, uint32_t blocks) {
  weir_kernel *kernel;
  const weir_cuda_launch launch = {.function = name, .block = {threads}, .grid = {blocks, blocks > 0, blocks > 0}};
  must(weir_kernel_create(cards->context, name, &kernel), name);
  must(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.image = cards_code}, &launch, 1), name);
  return kernel;
}

void cards_open(const bench_options *options, uint32_t queues, two_cards *out_cards) {
  char devices[128];
  snprintf(devices, sizeof devices, "cpu:2,%s,%s", options->devices[0], options->devices[1]);
  must(weir_context_create(&(weir_context_options){.devices = devices, .queues = queues}, &out_cards->context),
       "context");
  for (uint32_t i = 0; i < CARDS; i++) out_cards->card[i] = weir_context_device(out_cards->context, 1 + i);
  out_cards->set = make(out_cards, "set", 128, 0);
  out_cards->step = make(out_cards, "step", 128, 0);
  out_cards->sum = make(out_cards, "sum", 128, 0);
  out_cards->spin = make(out_cards, "spin", SPIN_THREADS, SPIN_BLOCKS);
  out_cards->layer = make(out_cards, "layer", SPIN_THREADS, SPIN_BLOCKS);
}

void cards_close(two_cards *cards) {
  must(weir_finish(cards->context), "finish");
  must(weir_context_release(cards->context), "release");
}

void cards_number_task(const two_cards *cards, weir_kernel *kernel, uint32_t card, weir_buffer *buffer, uint32_t count,
                       uint32_t value) {
  weir_arg args[] = {kernel == cards->set ? weir_writes(buffer) : weir_updates(buffer),
                     weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  const weir_task task = {
      .kernel = kernel, .device = cards->card[card], .args = args, .arg_count = 3, .groups = {(count + 127) / 128}};
  must(weir_submit(cards->context, &task, NULL), "task");
}

void cards_spin(const two_cards *cards, uint32_t card, weir_buffer *buffer, uint64_t ns) {
  weir_arg args[] = {weir_updates(buffer), weir_value(&ns, sizeof ns)};
  const weir_task task = {.kernel = cards->spin, .device = cards->card[card], .args = args, .arg_count = 2};
  must(weir_submit(cards->context, &task, NULL), "spin");
}
