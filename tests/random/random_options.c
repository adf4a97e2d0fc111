// SPDX-License-Identifier: Apache-2.0
#include "random_options.h"

#include <inttypes.h>
#include <string.h>

#include "random.h"

static void choose_devices(random_run *run, random_state *random, const char *device, program_shape *shape) {
  static const struct {
    const char *devices;
    uint32_t count;
    bool cpu;
  } choices[] = {{"sim:ideal", 1, false},      {"sim:h200", 1, false},      {"sim:ideal,sim:h200", 2, false},
                 {"sim:ideal,cpu:2", 2, true}, {"cpu:1,sim:h200", 2, true}, {"cpu:2,sim:h200,cpu:1", 3, true}};
  if (strcmp(device, "sim") != 0) {
    run->options.context.devices = device;
    shape->host_tasks = true;
    shape->device_count = random_below(random, 2);
    return;
  }
  uint32_t choice = random_below(random, 6);
  run->options.context.devices = choices[choice].devices;
  run->options.simulated = true;
  run->options.context.queues = random_below(random, 6);
  shape->host_tasks = choices[choice].cpu;
  shape->device_count = choices[choice].count;
}

void random_run_make(random_run *out_run, uint64_t seed, const char *device) {
  static const uint32_t windows[] = {0, 8, 32, 8192};
  *out_run = (random_run){0};
  random_state random = {~seed};
  program_shape shape = {.length = random_between(&random, 10, random_chance(&random, 25) ? 220 : 80)};
  shape.dense = random_chance(&random, 2);
  if (shape.dense) shape.length = random_between(&random, 500, 5000);
  choose_devices(out_run, &random, device, &shape);
  shape.pauses = random_chance(&random, 50);
  shape.failures = random_chance(&random, 30);
  shape.graphs = random_chance(&random, 40);
  shape.churn = !shape.dense && random_chance(&random, 20);
  program_generate(&out_run->program, seed, &shape);

  weir_context_options *context = &out_run->options.context;
  context->window = windows[random_below(&random, 4)];
  if (random_chance(&random, 25)) context->flags |= WEIR_CONTEXT_NO_RENAME;
  if (random_chance(&random, 5)) context->flags |= WEIR_CONTEXT_IN_ORDER;
  if (random_chance(&random, 10)) context->flags |= WEIR_CONTEXT_TRACE;
  if (random_chance(&random, 50)) context->seed = random_next(&random) | 1;
  if (random_chance(&random, shape.churn ? 90 : 30)) {
    uint64_t room = random_chance(&random, 50) ? 0 : 1280 * (uint64_t)random_below(&random, 20);
    context->memory_limit = out_run->program.live_bytes + room;
  }
  out_run->options.abandon = random_chance(&random, 15);
}

void random_run_print(const random_run *run, FILE *file) {
  const weir_context_options *context = &run->options.context;
  fprintf(file, "program of %u operations on %s, window %u, memory limit %" PRIu64 ", seed %" PRIu64 "%s%s%s%s\n",
          run->program.count, context->devices, context->window, context->memory_limit, context->seed,
          context->flags & WEIR_CONTEXT_NO_RENAME ? ", no renaming" : "",
          context->flags & WEIR_CONTEXT_IN_ORDER ? ", in order" : "",
          context->flags & WEIR_CONTEXT_TRACE ? ", traced" : "", run->options.abandon ? ", abandoned" : "");
  program_print(&run->program, file);
}
