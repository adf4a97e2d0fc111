// SPDX-License-Identifier: Apache-2.0
//
// The rounds of `weir split`.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli.h"
#include "splitting.h"

enum { UNWRITTEN = 0x5a5a5a5a };

typedef struct runner {
  const weir__splitting *options;
  weir__splitting_result *result;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *in, *out;
  uint64_t words, bytes; // of a launch
  uint32_t *expected, *found;
  weir_split *together[WEIR__SPLITTING_MOST_POLICIES];
  weir_split *alone[WEIR_SPLIT_MOST_DEVICES]; // by device
  double *alone_ms;                           // by device, then by round
} runner;

static int failed(weir_status status) {
  weir__cli_error("split", "%s", weir_last_error());
  return weir__cli_exit_code(status);
}

static double now_ms(const runner *r) {
  uint64_t ns = r->result->simulated ? weir_device_time(weir_context_device(r->context, 0)) : weir__clock_ns();
  return (double)ns * 1e-6;
}

// Notes the devices. Simulated ones have a clock of their own, so they do not mix with real ones.
static int take_devices(runner *r) {
  weir__splitting_result *result = r->result;
  uint32_t simulated = 0, count = weir_context_device_count(r->context);
  if (count > WEIR_SPLIT_MOST_DEVICES) {
    weir__cli_error("split", "--devices: %u devices; 1 to %d are possible", count, WEIR_SPLIT_MOST_DEVICES);
    return WEIR__EXIT_USAGE;
  }
  if (r->options->share_count > 0 && r->options->share_count != count) {
    weir__cli_error("split", "--shares: %u shares for %u devices", r->options->share_count, count);
    return WEIR__EXIT_USAGE;
  }
  result->device_count = count;
  for (uint32_t i = 0; i < count; i++) {
    const weir_device *device = weir_context_device(r->context, i);
    snprintf(result->names[i], sizeof result->names[i], "%s", weir_device_information(device)->name);
    simulated += strcmp(weir_device_information(device)->kind, "sim") == 0;
    if (strcmp(weir_device_information(device)->kind, "null") == 0) {
      weir__cli_error("split", "--devices: null runs nothing");
      return WEIR__EXIT_USAGE;
    }
  }
  result->simulated = simulated > 0;
  if (simulated == 0 || simulated == count) return WEIR__EXIT_OK;
  weir__cli_error("split", "--devices: simulated devices run in virtual time, the others in real time; take either");
  return WEIR__EXIT_USAGE;
}

static weir_status create_splits(runner *r) {
  const weir__splitting *options = r->options;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < options->policy_count && status == WEIR_OK; i++) {
    weir_split_options split = {.policy = options->policies[i],
                                .shares = options->share_count > 0 ? options->shares : NULL,
                                .history = options->history};
    status = weir_split_create(r->context, &split, &r->together[i]);
    if (status == WEIR_OK && weir_split_warning(r->together[i])[0] != '\0')
      weir__cli_error("split", "%s", weir_split_warning(r->together[i]));
  }
  for (uint32_t i = 0; i < r->result->device_count && status == WEIR_OK; i++) {
    weir_device *device = weir_context_device(r->context, i);
    weir_split_options split = {.devices = &device, .device_count = 1, .policy = "static"};
    status = weir_split_create(r->context, &split, &r->alone[i]);
  }
  return status;
}

// Fills the input, and makes what should come of it.
static weir_status create_data(runner *r) {
  r->words = (uint64_t)r->options->groups * weir__splitting_words(r->options);
  r->bytes = r->words * sizeof(uint32_t);
  r->expected = malloc(r->bytes);
  r->found = malloc(r->bytes);
  if (!r->expected || !r->found) {
    weir__cli_error("split", "no memory for %" PRIu64 " bytes of results", 2 * r->bytes);
    return WEIR_ERROR_OUT_OF_MEMORY;
  }
  weir_status status = weir_buffer_create(r->context, r->bytes, &r->in);
  if (status == WEIR_OK) status = weir_buffer_create(r->context, r->bytes, &r->out);
  for (uint64_t i = 0; i < r->words; i++) r->found[i] = (uint32_t)i * 2654435761u + 1;
  weir__splitting_serial(r->options, r->found, r->expected, r->words);
  if (status == WEIR_OK) status = weir_copy_in(r->in, 0, r->bytes, r->found, NULL);
  if (status == WEIR_OK) status = weir_finish(r->context);
  if (status != WEIR_OK) weir__cli_error("split", "%s", weir_last_error());
  return status;
}

static int create(runner *r) {
  weir_status status = weir_context_create(&(weir_context_options){.devices = r->options->devices}, &r->context);
  if (status != WEIR_OK) return failed(status);
  int exit_code = take_devices(r);
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  status = weir__splitting_kernel_create(r->options, r->context, &r->kernel);
  if (status == WEIR_OK) status = create_splits(r);
  if (status != WEIR_OK) return failed(status);
  status = create_data(r);
  if (status != WEIR_OK) return weir__cli_exit_code(status);
  uint64_t all = (uint64_t)r->options->policy_count * r->options->rounds;
  r->result->rounds = calloc(all, sizeof *r->result->rounds);
  r->alone_ms = calloc((size_t)WEIR_SPLIT_MOST_DEVICES * r->options->rounds, sizeof *r->alone_ms);
  if (r->result->rounds && r->alone_ms) return WEIR__EXIT_OK;
  weir__cli_error("split", "no memory");
  return WEIR__EXIT_FAILED;
}

// Returns an exit code: histories may not be written.
static int release(runner *r) {
  int exit_code = WEIR__EXIT_OK;
  for (uint32_t i = 0; i < WEIR__SPLITTING_MOST_POLICIES; i++) {
    weir_status status = weir_split_release(r->together[i]);
    if (status != WEIR_OK) exit_code = failed(status);
  }
  for (uint32_t i = 0; i < WEIR_SPLIT_MOST_DEVICES; i++) weir_split_release(r->alone[i]);
  weir_context_release(r->context);
  free(r->expected);
  free(r->found);
  free(r->alone_ms);
  return exit_code;
}

static int check(runner *r, const char *what) {
  weir_status status = weir_copy_out(r->out, 0, r->bytes, r->found, NULL);
  if (status == WEIR_OK) status = weir_finish(r->context);
  if (status != WEIR_OK) return failed(status);
  if (memcmp(r->found, r->expected, r->bytes) == 0) return WEIR__EXIT_OK;
  uint64_t i = 0;
  while (r->found[i] == r->expected[i]) i++;
  weir__cli_error("split", "%s: number %" PRIu64 " is 0x%08x, in a serial run 0x%08x", what, i, r->found[i],
                  r->expected[i]);
  return WEIR__EXIT_FAILED;
}

// One launch, from its submission to the end of its event, in ms.
static int launch(runner *r, weir_split *split, const char *what, double *out_ms) {
  const int32_t work = (int32_t)r->options->work;
  const uint64_t group_bytes = weir__splitting_words(r->options) * sizeof(uint32_t);
  const weir_split_arg args[] = {weir_split_block(weir_reads(r->in), group_bytes),
                                 weir_split_block(weir_writes(r->out), group_bytes),
                                 weir_split_whole(weir_value(&work, sizeof work))};
  const weir_split_launch task = {.kernel = r->kernel, .args = args, .arg_count = 3, .groups = {r->options->groups}};
  weir_event *event = NULL;
  weir_status status = weir_fill(r->out, 0, WEIR_WHOLE, UNWRITTEN, NULL);
  if (status == WEIR_OK) status = weir_finish(r->context);
  double start = now_ms(r);
  if (status == WEIR_OK) status = weir_split_submit(split, &task, &event);
  if (status != WEIR_OK) return failed(status);
  status = weir_event_wait(event, WEIR_FOREVER);
  *out_ms = now_ms(r) - start;
  if (weir_event_message(event)[0] != '\0') weir__cli_error("split", "%s: %s", what, weir_event_message(event));
  weir_event_release(event);
  return status == WEIR_OK ? check(r, what) : weir__cli_exit_code(status);
}

static int compare_times(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// Round number UINT32_MAX does not count.
static int launch_alone(runner *r, uint32_t number) {
  int exit_code = WEIR__EXIT_OK;
  for (uint32_t i = 0; i < r->result->device_count && exit_code == WEIR__EXIT_OK; i++) {
    double ms = 0, *best = &r->result->best_ms[i];
    char what[96];
    snprintf(what, sizeof what, "%s alone", r->result->names[i]);
    exit_code = launch(r, r->alone[i], what, &ms);
    if (number == UINT32_MAX) continue;
    if (*best <= 0 || ms < *best) *best = ms;
    r->alone_ms[i * r->options->rounds + number] = ms;
  }
  return exit_code;
}

static int launch_together(runner *r, uint32_t number) {
  int exit_code = WEIR__EXIT_OK;
  for (uint32_t i = 0; i < r->options->policy_count && exit_code == WEIR__EXIT_OK; i++) {
    weir__splitting_round *round = &r->result->rounds[(uint64_t)i * r->options->rounds + number];
    char what[96];
    snprintf(what, sizeof what, "%s, round %u", r->options->policies[i], number + 1);
    exit_code = launch(r, r->together[i], what, &round->ms);
    if (exit_code != WEIR__EXIT_OK) break;
    weir_status status = weir_split_last_round(r->together[i], &round->round);
    if (status != WEIR_OK) exit_code = failed(status);
  }
  return exit_code;
}

int weir__splitting_run(const weir__splitting *options, weir__splitting_result *out_result) {
  runner r = {.options = options, .result = out_result};
  *out_result = (weir__splitting_result){.device_count = 0};
  int exit_code = create(&r);
  // Once first without counting, since code is compiled and memory touched then.
  if (exit_code == WEIR__EXIT_OK) exit_code = launch_alone(&r, UINT32_MAX);
  for (uint32_t i = 0; i < options->rounds && exit_code == WEIR__EXIT_OK; i++) {
    exit_code = launch_together(&r, i);
    if (exit_code == WEIR__EXIT_OK) exit_code = launch_alone(&r, i);
  }
  for (uint32_t i = 0; i < out_result->device_count && exit_code == WEIR__EXIT_OK; i++) {
    double *times = &r.alone_ms[i * options->rounds];
    qsort(times, options->rounds, sizeof *times, compare_times);
    out_result->median_ms[i] = times[options->rounds / 2];
  }
  int released = release(&r);
  return exit_code != WEIR__EXIT_OK ? exit_code : released;
}

void weir__splitting_free(weir__splitting_result *result) {
  free(result->rounds);
  result->rounds = NULL;
}

double weir__splitting_together_ms(const weir__splitting_result *result) {
  double rate = 0;
  for (uint32_t i = 0; i < result->device_count; i++) rate += 1 / result->best_ms[i];
  return 1 / rate;
}

double weir__splitting_use(const weir__splitting_result *result, const weir__splitting_round *round, uint32_t device) {
  return round->round.devices[device].share * result->best_ms[device] / round->ms;
}
