// SPDX-License-Identifier: Apache-2.0
//
// A replay as ACS would run it: the stream and the profile put to the model of acs.h, and its times and timeline back.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "acs.h"
#include "replay_pass.h"

// What --acs sets, in the units of its keys.
typedef struct acs_costs {
  double list, check_ns, poll_us, driver_us, cycle_ns;
} acs_costs;

static const acs_costs usual_costs = {.list = 64, .check_ns = 4.3, .poll_us = 0.1, .driver_us = 1.4, .cycle_ns = 0.71};
enum { USUAL_WINDOW = 32, MOST_WINDOW = 1 << 16, MOST_TASKS = 1 << 24 };

bool weir__replay_by_acs(const weir__replay_options *options) {
  return options->issue == WEIR__REPLAY_ACS_SW || options->issue == WEIR__REPLAY_ACS_HW;
}

// ---------------------------------------------------------------------------------------------------------------
// Options

typedef struct cost_key {
  const char *name;
  size_t offset;
  double least, most;
} cost_key;

static const cost_key cost_keys[] = {
    {"list", offsetof(acs_costs, list), 1, 1 << 20},     {"check_ns", offsetof(acs_costs, check_ns), 0, 1e6},
    {"poll_us", offsetof(acs_costs, poll_us), 0, 1e6},   {"driver_us", offsetof(acs_costs, driver_us), 0, 1e6},
    {"cycle_ns", offsetof(acs_costs, cycle_ns), 0, 1e6},
};
enum { COST_KEYS = sizeof cost_keys / sizeof *cost_keys };

static const cost_key *find_key(const char *text, size_t length) {
  for (size_t i = 0; i < COST_KEYS; i++) {
    if (strlen(cost_keys[i].name) == length && strncmp(cost_keys[i].name, text, length) == 0) return &cost_keys[i];
  }
  return NULL;
}

// One KEY=VALUE of `length` bytes.
static bool read_cost(const char *text, size_t length, acs_costs *costs) {
  size_t name = strcspn(text, "=,");
  const cost_key *key = name < length ? find_key(text, name) : NULL;
  if (!key) {
    weir__cli_error("replay",
                    "--acs: \"%.*s\" is none of list=, check_ns=, poll_us=, driver_us=, cycle_ns=", (int)length, text);
    return false;
  }
  char *end = NULL;
  double value = strtod(text + name + 1, &end);
  bool whole = key->offset != offsetof(acs_costs, list) || value == floor(value);
  if (end == text + name + 1 || end != text + length || !(value >= key->least && value <= key->most) || !whole) {
    weir__cli_error("replay", "--acs: %.*s is not a %snumber from %g to %.10g", (int)length, text,
                    key->offset == offsetof(acs_costs, list) ? "whole " : "", key->least, key->most);
    return false;
  }
  memcpy((char *)costs + key->offset, &value, sizeof value);
  return true;
}

static bool read_costs(const char *text, acs_costs *out_costs) {
  *out_costs = usual_costs;
  for (bool more = text != NULL; more;) {
    size_t length = strcspn(text, ",");
    if (!read_cost(text, length, out_costs)) return false;
    more = text[length] == ',';
    text += length + 1;
  }
  return true;
}

static bool is_simulated(const char *device) {
  return strncmp(device, "sim", 3) == 0 && (device[3] == '\0' || device[3] == ':');
}

bool weir__replay_settle_acs(weir__replay_options *options) {
  acs_costs costs;
  if (!weir__replay_by_acs(options)) {
    if (options->acs) weir__cli_error("replay", "--acs needs --issue acs-sw or acs-hw");
    return !options->acs;
  }
  const char *issue = options->issue == WEIR__REPLAY_ACS_SW ? "acs-sw" : "acs-hw";
  const char *wrong = options->lines > 0                         ? "--pipeline"
                      : options->met != WEIR__REPLAY_MET_NOTHING ? "--met"
                      : options->memory > 0                      ? "--memory"
                                                                 : NULL;
  if (wrong) {
    weir__cli_error("replay", "%s does not go with --issue %s", wrong, issue);
    return false;
  }
  if (!is_simulated(options->device)) {
    weir__cli_error("replay",
                    "--issue %s is a model of a peer in virtual time: it needs a simulated device, such as "
                    "--device sim:h200, not %s",
                    issue, options->device);
    return false;
  }
  if (options->window > MOST_WINDOW) {
    weir__cli_error("replay", "--window: with --issue %s it is %d at most", issue, MOST_WINDOW);
    return false;
  }
  options->hazards = WEIR__PLAN_ADDRESS;
  return read_costs(options->acs, &costs);
}

static uint64_t to_ps(double value, double unit_ps) {
  return (uint64_t)(value * unit_ps + 0.5);
}

static weir__acs_settings settings_of(const weir__replay_options *options, const weir__sim_profile *profile) {
  acs_costs costs = usual_costs;
  read_costs(options->acs, &costs);
  uint32_t window = options->window ? (uint32_t)options->window : USUAL_WINDOW;
  uint64_t streams = options->queues ? options->queues : profile->queues ? profile->queues : window;
  uint64_t driver_ps = to_ps(costs.driver_us, WEIR__SIM_PS_PER_US);
  return (weir__acs_settings){
      .hardware = options->issue == WEIR__REPLAY_ACS_HW,
      .window = window,
      .streams = (uint32_t)streams,
      .list = (uint32_t)costs.list,
      .check_ps = to_ps(costs.check_ns, WEIR__SIM_PS_PER_NS),
      .poll_ps = to_ps(costs.poll_us, WEIR__SIM_PS_PER_US),
      .driver_ps = driver_ps < profile->launch ? driver_ps : profile->launch,
      .cycle_ps = to_ps(costs.cycle_ns, WEIR__SIM_PS_PER_NS),
  };
}

// ---------------------------------------------------------------------------------------------------------------
// The program: all passes

typedef struct program {
  const weir__stream *stream;
  uint32_t task_count; // of all passes
  weir__acs_task *tasks;
  weir__acs_range *ranges; // of one pass: at the recorded addresses all passes are alike
  weir__sim_cost *launches;
} program;

static void free_program(program *all) {
  free(all->tasks);
  free(all->ranges);
  free(all->launches);
}

static void add_ranges(const weir__stream *stream, const weir__stream_task *task, weir__acs_range *ranges) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__stream_access *access = &task->accesses[i];
    uint64_t lo = stream->buffers[access->buffer].address + access->offset;
    ranges[i] = (weir__acs_range){
        .mode = access->mode == WEIR_COMMUTE ? WEIR_READ_WRITE : access->mode, .lo = lo, .hi = lo + access->bytes};
  }
}

// As a replay on the simulated device has them: a task without kernels takes its place all the same, for no time.
static void add_launches(const weir__replay_options *options, const weir__sim_profile *profile,
                         const weir__stream_task *task, weir__sim_cost *launches) {
  if (task->kernel_count == 0) weir__sim_profile_cost(profile, &(weir_sim_launch){.threads = 1}, 1, launches);
  for (uint32_t i = 0; i < task->kernel_count; i++) {
    weir_sim_launch launch = weir__replay_sim_launch(&task->kernels[i], options->time_scale);
    weir__sim_profile_cost(profile, &launch, 1, &launches[i]);
  }
}

static weir__acs_wait wait_behind(const weir__replay_options *options, const weir__stream_task *task, bool ends_pass,
                                  bool ends_all) {
  if (ends_all || (ends_pass && options->apart)) return WEIR__ACS_WAIT_ALL;
  return task->host_wait && !options->no_host_waits ? WEIR__ACS_WAIT_TASK : WEIR__ACS_GO_ON;
}

static bool make_program(const weir__stream *stream, const weir__replay_options *options,
                         const weir__sim_profile *profile, program *out_program) {
  uint64_t tasks = stream->task_count * options->repeat, ranges = 0, launches = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) {
    ranges += stream->tasks[t].access_count;
    launches += stream->tasks[t].kernel_count ? stream->tasks[t].kernel_count : 1;
  }
  *out_program = (program){.stream = stream, .task_count = (uint32_t)tasks};
  weir__acs_task *each = out_program->tasks = malloc((tasks + 1) * sizeof *each);
  weir__acs_range *range = out_program->ranges = malloc((ranges + 1) * sizeof *range);
  weir__sim_cost *launch = out_program->launches = malloc((launches + 1) * sizeof *launch);
  if (!each || !range || !launch) return false;
  for (uint32_t t = 0; t < stream->task_count; t++, each++) {
    const weir__stream_task *task = &stream->tasks[t];
    *each = (weir__acs_task){.ranges = range,
                             .range_count = task->access_count,
                             .launches = launch,
                             .launch_count = task->kernel_count ? task->kernel_count : 1};
    add_ranges(stream, task, range);
    add_launches(options, profile, task, launch);
    range += each->range_count;
    launch += each->launch_count;
  }
  for (uint64_t t = 0; t < tasks; t++) {
    uint32_t index = (uint32_t)(t % stream->task_count);
    out_program->tasks[t] = out_program->tasks[index];
    bool ends_pass = index == stream->task_count - 1;
    out_program->tasks[t].wait = wait_behind(options, &stream->tasks[index], ends_pass, t == tasks - 1);
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The timeline

typedef struct writer {
  const program *all;
  const weir__acs_result *result;
  weir__trace *trace;
  uint64_t base; // the lowest address
} writer;

enum { ALL_MEMORY = 1 }; // the buffer and the storage that stand for it

static uint64_t to_ns(uint64_t ps) {
  return ps / WEIR__SIM_PS_PER_NS;
}

static void add_memory(writer *out) {
  uint64_t end = 0;
  out->base = UINT64_MAX;
  for (uint32_t b = 0; b < out->all->stream->buffer_count; b++) {
    const weir__stream_buffer *buffer = &out->all->stream->buffers[b];
    if (buffer->address < out->base) out->base = buffer->address;
    if (buffer->address + buffer->bytes > end) end = buffer->address + buffer->bytes;
  }
  if (end > out->base) weir__trace_add_buffer(out->trace, ALL_MEMORY, end - out->base, "addresses");
}

static void add_task(const writer *out, uint32_t index, weir__trace_access *accesses, weir__trace_wait *waits) {
  const weir__acs_task *task = &out->all->tasks[index];
  const weir__acs_record *record = &out->result->records[index];
  const weir__stream *stream = out->all->stream;
  const weir__stream_task *recorded = &stream->tasks[index % stream->task_count];
  for (uint32_t i = 0; i < task->range_count; i++) {
    const weir__acs_range *range = &task->ranges[i];
    accesses[i] = (weir__trace_access){.mode = range->mode,
                                       .buffer = ALL_MEMORY,
                                       .storage = ALL_MEMORY,
                                       .offset = range->lo - out->base,
                                       .bytes = range->hi - range->lo};
  }
  for (uint32_t i = 0; i < record->upstream_count; i++) {
    const weir__acs_upstream *upstream = &out->result->upstreams[record->first_upstream + i];
    waits[i] = (weir__trace_wait){(uint64_t)upstream->task + 1, upstream->hazard, ALL_MEMORY, upstream->lo - out->base,
                                  upstream->hi - out->base};
  }
  weir__trace_task done = {
      .id = (uint64_t)index + 1,
      .tag = (uint64_t)(index / stream->task_count) << 32 | (index % stream->task_count + 1),
      .lane = record->lane,
      .status = WEIR_OK,
      .done = true,
      .submit_ns = to_ns(record->submit_ps),
      .ready_ns = to_ns(record->ready_ps),
      .start_ns = to_ns(record->start_ps),
      .end_ns = to_ns(record->end_ps),
      .accesses = accesses,
      .access_count = task->range_count,
      .waits = waits,
      .wait_count = record->upstream_count,
  };
  snprintf(done.label, sizeof done.label, "%s", recorded->op);
  snprintf(done.kernel, sizeof done.kernel, "%s", recorded->kernel_count ? recorded->kernels[0].name : recorded->op);
  weir__trace_add_task(out->trace, &done);
}

static int save_timeline(const program *all, const weir__acs_result *result, const weir__acs_settings *settings,
                         const char *device, const char *path) {
  writer out = {.all = all, .result = result, .trace = weir__trace_create()};
  uint32_t most_waits = 1;
  for (uint32_t t = 0; t < all->task_count; t++) {
    if (result->records[t].upstream_count > most_waits) most_waits = result->records[t].upstream_count;
  }
  weir__trace_access *accesses = malloc(WEIR_MAX_ARGS * sizeof *accesses);
  weir__trace_wait *waits = malloc(most_waits * sizeof *waits);
  const char *name = settings->hardware ? "ACS-HW" : "ACS-SW";
  char message[512] = "no memory", title[256];
  snprintf(title, sizeof title, "%s as %s on %s, hazards by address", all->stream->name, name, device);
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  uint32_t lanes = settings->hardware ? settings->window : settings->streams;
  if (out.trace && accesses && waits && weir__trace_add_device(out.trace, device, lanes)) {
    add_memory(&out);
    for (uint32_t t = 0; t < all->task_count; t++) add_task(&out, t, accesses, waits);
    status = weir__trace_save(out.trace, path, title, message, sizeof message);
  }
  if (status != WEIR_OK) weir__cli_error("replay", "%s: %s", all->stream->name, message);
  weir__trace_destroy(out.trace);
  free(accesses);
  free(waits);
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__cli_exit_code(status);
}

// ---------------------------------------------------------------------------------------------------------------

static double to_us(uint64_t ps) {
  return (double)ps / WEIR__SIM_PS_PER_US;
}

static bool summarise(const program *all, const weir__replay_options *options, const weir__acs_result *result,
                      weir__replay_run *out_run) {
  uint64_t repeat = options->repeat;
  out_run->makespan_us = to_us(result->end_ps);
  out_run->pass_us = out_run->makespan_us / (double)repeat;
  out_run->first_us = out_run->least_us = out_run->most_us = NAN;
  out_run->submit_ns = out_run->first_submit_ns = out_run->later_submit_ns = NAN;
  out_run->edges = result->upstream_count;
  out_run->window_waits = result->window_waits;
  if (!options->apart || all->task_count == 0) return true;
  double *passes_us = malloc(repeat * sizeof *passes_us);
  if (!passes_us) return false;
  uint64_t start_ps = 0;
  for (uint64_t pass = 0; pass < repeat; pass++) {
    uint64_t end_ps = result->records[(pass + 1) * all->stream->task_count - 1].resume_ps;
    passes_us[pass] = to_us(end_ps - start_ps);
    start_ps = end_ps;
  }
  out_run->first_us = passes_us[0];
  out_run->pass_us = weir__replay_median(passes_us + 1, repeat - 1);
  if (repeat > 1) {
    out_run->least_us = passes_us[1];
    out_run->most_us = passes_us[repeat - 1];
  }
  free(passes_us);
  return true;
}

int weir__replay_run_acs(const weir__stream *stream, const weir__replay_options *options, const char *trace_path,
                         weir__replay_run *out_run) {
  *out_run = (weir__replay_run){0};
  if (stream->task_count * options->repeat > MOST_TASKS) {
    weir__cli_error("replay", "%s: more than %d tasks in all passes; the model of ACS keeps them all", stream->name,
                    MOST_TASKS);
    return WEIR__EXIT_USAGE;
  }
  bool named = options->device[3] == ':' && options->device[4] != '\0';
  weir__sim_profile profile;
  weir_status status = weir__sim_profile_load(named ? options->device + 4 : "ideal", &profile);
  if (status != WEIR_OK) {
    weir__cli_error("replay", "%s: %s", stream->name, weir_last_error());
    return weir__cli_exit_code(status);
  }
  weir__acs_settings settings = settings_of(options, &profile);
  snprintf(out_run->device, sizeof out_run->device, "sim:%.59s", profile.name);
  out_run->window = settings.window;
  program all;
  weir__acs_result result = {0};
  bool done = make_program(stream, options, &profile, &all) &&
              weir__acs_run(&profile, &settings, all.tasks, all.task_count, &result) == WEIR_OK &&
              summarise(&all, options, &result, out_run);
  int exit_code = done ? WEIR__EXIT_OK : WEIR__EXIT_FAILED;
  if (!done) weir__cli_error("replay", "%s: no memory", stream->name);
  if (done && trace_path) exit_code = save_timeline(&all, &result, &settings, out_run->device, trace_path);
  weir__acs_result_free(&result);
  free_program(&all);
  return exit_code;
}
