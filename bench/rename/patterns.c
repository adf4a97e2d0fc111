// SPDX-License-Identifier: Apache-2.0
#include "patterns.h"

enum { TILES = 8 };

// Values: how many elements. Writes argument 1 from argument 0.
static void advance(const weir_work *work) {
  const float *from = work->args[0];
  float *to = work->args[1];
  const uint64_t *count = work->args[2];
  for (uint64_t i = 0; i < *count; i++) to[i] = from[i] * 0.5F + 1;
}

static void produce(const weir_work *work) {
  float *to = work->args[0];
  const uint64_t *count = work->args[1];
  for (uint64_t i = 0; i < *count; i++) to[i] = (float)i;
}

static void consume(const weir_work *work) {
  const float *from = work->args[0];
  float sum = 0;
  const uint64_t *count = work->args[2];
  for (uint64_t i = 0; i < *count; i++) sum += from[i];
  *(float *)work->args[1] = sum;
}

static weir_status submit(weir_context *context, weir_function host, const weir_arg *args, uint32_t arg_count) {
  weir_task task = {.host = host, .args = args, .arg_count = arg_count};
  return weir_submit(context, &task, NULL);
}

static weir_status around(weir_context *context, weir_buffer **buffers, uint64_t count, uint32_t step, uint32_t ring) {
  weir_arg args[] = {weir_reads(buffers[step % ring]), weir_writes(buffers[(step + 1) % ring]),
                     weir_value(&count, sizeof count)};
  return submit(context, advance, args, 3);
}

static weir_status ping_pong(weir_context *context, weir_buffer **buffers, uint64_t count, uint32_t step) {
  return around(context, buffers, count, step, 2);
}

static weir_status three_in_turn(weir_context *context, weir_buffer **buffers, uint64_t count, uint32_t step) {
  return around(context, buffers, count, step, 3);
}

static weir_status stencil(weir_context *context, weir_buffer **buffers, uint64_t count, uint32_t step) {
  weir_buffer **from = buffers + (step & 1) * TILES, **to = buffers + (~step & 1) * TILES;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < TILES && status == WEIR_OK; i++) {
    weir_arg args[] = {weir_reads(from[i]), weir_writes(to[i]), weir_value(&count, sizeof count),
                       weir_reads(from[(i + 1) % TILES]), weir_reads(from[(i + TILES - 1) % TILES])};
    status = submit(context, advance, args, 5);
  }
  return status;
}

static weir_status producer_and_consumer(weir_context *context, weir_buffer **buffers, uint64_t count, uint32_t step) {
  (void)step;
  weir_arg write[] = {weir_writes(buffers[0]), weir_value(&count, sizeof count)};
  weir_arg read[] = {weir_reads(buffers[0]), weir_writes(buffers[1]), weir_value(&count, sizeof count)};
  weir_status status = submit(context, produce, write, 2);
  return status == WEIR_OK ? submit(context, consume, read, 3) : status;
}

const pattern patterns[] = {
    {"ping-pong", 2, 1, ping_pong},
    {"three in turn", 3, 1, three_in_turn},
    {"stencil", 2 * TILES, TILES, stencil},
    {"producer, consumer", 2, 1, producer_and_consumer},
};
const uint32_t pattern_count = sizeof patterns / sizeof patterns[0];
