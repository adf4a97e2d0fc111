// SPDX-License-Identifier: Apache-2.0
#include "device/sim/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/sim/builtin.h"

enum { MAX_FILE_BYTES = 1 << 16, MAX_LINE = 256, DRIFT_PERIOD_US = 100000, RESIDENT_TASKS = 1024, USUAL_HOST_GBS = 25 };

typedef enum key_kind {
  KEY_COUNT, // a whole number, at least `least`
  KEY_US,    // microseconds, kept as picoseconds
  KEY_SHARE, // a part or multiple of one, kept as millionths
  KEY_SHARING,
  KEY_TEXT,
} key_kind;

typedef struct profile_key {
  const char *name;
  key_kind kind;
  size_t offset; // in weir__sim_profile
  double least, most;
  bool optional; // 0 where it is missing, but for the speed and that of the host's link
} profile_key;

#define COUNT(name, least, most)                                                                                       \
  { #name, KEY_COUNT, offsetof(weir__sim_profile, name), least, most, false }
#define US(name)                                                                                                       \
  { #name "_us", KEY_US, offsetof(weir__sim_profile, name), 0, 1e6, false }
#define OPTIONAL(name, kind, field, least, most)                                                                       \
  { name, kind, offsetof(weir__sim_profile, field), least, most, true }

static const profile_key keys[] = {
    {"description", KEY_TEXT, offsetof(weir__sim_profile, description), 0, 0, false},
    COUNT(sms, 1, 65536),
    COUNT(warp_threads, 1, 1024),
    COUNT(threads_per_sm, 1, 1 << 20),
    COUNT(blocks_per_sm, 1, 1 << 12),
    COUNT(registers_per_sm, 1, 1 << 30),
    COUNT(register_unit, 1, 1 << 16),
    COUNT(shared_bytes_per_sm, 0, 1 << 30),
    COUNT(shared_bytes_reserved, 0, 1 << 30),
    {"sharing", KEY_SHARING, offsetof(weir__sim_profile, sharing), 0, 0, false},
    COUNT(concurrent_kernels, 1, 1 << 20),
    COUNT(copy_engines, 1, 1 << 20),
    {"copy_share", KEY_SHARE, offsetof(weir__sim_profile, copy_share_ppm), 0, 1, false},
    COUNT(queues, 0, 1024),
    US(kernel_fixed),
    US(dispatch),
    US(queue_gap),
    US(block_start),
    US(event_latency),
    US(busy_queue_gap),
    US(busy_queue_gap_most),
    US(graph_gap),
    US(launch_latency),
    US(graph_launch_latency),
    US(launch),
    US(event_record),
    US(event_wait),
    US(synchronize),
    US(graph_build_node),
    US(graph_instantiate_node),
    US(graph_launch),
    OPTIONAL("memory_mib", KEY_COUNT, memory_mib, 0, 1 << 24),
    OPTIONAL("host_gbs", KEY_SHARE, host_rate, 0.001, 10000),
    OPTIONAL("peer_gbs", KEY_SHARE, peer_rate, 0, 10000),
    OPTIONAL("speed", KEY_SHARE, speed_ppm, 0.001, 1000),
    OPTIONAL("drift", KEY_SHARE, drift_ppm, 0, 0.9),
    OPTIONAL("drift_period_us", KEY_US, drift_period, 1, 1e6),
    OPTIONAL("stall_every_us", KEY_US, stall_every, 1, 1e6),
    OPTIONAL("stall_for_us", KEY_US, stall_for, 0, 1e6),
    OPTIONAL("phase_us", KEY_US, phase, 0, 1e6),
    OPTIONAL("graph_set_parameters_us", KEY_US, graph_set_parameters, 0, 1e6),
    OPTIONAL("graph_set_function_us", KEY_US, graph_set_function, 0, 1e6),
    OPTIONAL("auto_graphs", KEY_COUNT, auto_graphs, 0, 1),
    OPTIONAL("resident_launch_us", KEY_US, resident_launch, 0, 1e6),
    OPTIONAL("resident_latency_us", KEY_US, resident_latency, 0, 1e6),
    OPTIONAL("resident_dispatch_us", KEY_US, resident_dispatch, 0, 1e6),
    OPTIONAL("resident_gap_us", KEY_US, resident_gap, 0, 1e6),
};

enum { KEY_TOTAL = sizeof keys / sizeof keys[0] };

typedef struct profile_reader {
  const char *file;
  uint32_t line;
  uint32_t lines[KEY_TOTAL]; // where each key was given; 0: not yet
  weir__sim_profile *profile;
} profile_reader;

static char *trim(char *text) {
  while (*text == ' ' || *text == '\t') text++;
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) text[--length] = '\0';
  return text;
}

// "FILE:LINE", or the name of a device where settings follow the profile.
static const char *place(const profile_reader *reader, char text[MAX_LINE]) {
  if (reader->line == 0)
    snprintf(text, MAX_LINE, "sim:%s", reader->file);
  else
    snprintf(text, MAX_LINE, "%s:%u", reader->file, reader->line);
  return text;
}

static weir_status wrong(const profile_reader *reader, const char *what, const char *detail) {
  char text[MAX_LINE];
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s '%s'", place(reader, text), what, detail);
}

static weir_status read_value(profile_reader *reader, const profile_key *key, const char *value) {
  char *field = (char *)reader->profile + key->offset;
  if (key->kind == KEY_TEXT) {
    if (strlen(value) >= sizeof reader->profile->description) return wrong(reader, "text too long:", value);
    memcpy(field, value, strlen(value) + 1);
    return WEIR_OK;
  }
  if (key->kind == KEY_SHARING) {
    uint64_t sharing = strcmp(value, "fluid") == 0 ? WEIR__SIM_SHARING_FLUID : WEIR__SIM_SHARING_BLOCKS;
    if (sharing == WEIR__SIM_SHARING_BLOCKS && strcmp(value, "blocks") != 0) {
      return wrong(reader, "sharing is 'blocks' or 'fluid', not", value);
    }
    memcpy(field, &sharing, sizeof sharing);
    return WEIR_OK;
  }
  char *end = NULL;
  double number = strtod(value, &end);
  if (end == value || *end != '\0' || strspn(value, "0123456789.eE+-") != strlen(value)) {
    return wrong(reader, "not a number:", value);
  }
  if (!(number >= key->least && number <= key->most)) {
    char text[MAX_LINE];
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s must be from %.10g to %.10g, not %s", place(reader, text),
                       key->name, key->least, key->most, value);
  }
  double scale = key->kind == KEY_US ? WEIR__SIM_PS_PER_US : key->kind == KEY_SHARE ? 1e6 : 1;
  uint64_t kept = (uint64_t)(number * scale + 0.5);
  if (key->kind == KEY_COUNT && (double)kept != number) return wrong(reader, "not a whole number:", value);
  memcpy(field, &kept, sizeof kept);
  return WEIR_OK;
}

static weir_status read_line(profile_reader *reader, char *line) {
  line[strcspn(line, "#")] = '\0';
  char *name = trim(line);
  if (*name == '\0') return WEIR_OK;
  char *equals = strchr(name, '=');
  if (equals == NULL) return wrong(reader, "expected 'key = value', not", name);
  *equals = '\0';
  char *value = trim(equals + 1);
  name = trim(name);
  for (size_t i = 0; i < KEY_TOTAL; i++) {
    if (strcmp(name, keys[i].name) != 0) continue;
    if (reader->lines[i] != 0) {
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s:%u: %s was given before, in line %u", reader->file,
                         reader->line, name, reader->lines[i]);
    }
    reader->lines[i] = reader->line;
    return read_value(reader, &keys[i], value);
  }
  return wrong(reader, "unknown key", name);
}

static weir_status check_complete(const profile_reader *reader) {
  for (size_t i = 0; i < KEY_TOTAL; i++) {
    if (reader->lines[i] == 0 && !keys[i].optional) return wrong(reader, "the file ends without the key", keys[i].name);
  }
  return WEIR_OK;
}

static weir_status check_pace(const profile_reader *reader) {
  const weir__sim_profile *profile = reader->profile;
  if (profile->stall_for == 0 || profile->stall_for < profile->stall_every) return WEIR_OK;
  return wrong(reader, "stall_for_us must be less than", "stall_every_us");
}

weir_status weir__sim_profile_parse(const char *file, const char *text, size_t bytes, weir__sim_profile *out_profile) {
  memset(out_profile, 0, sizeof *out_profile);
  out_profile->speed_ppm = 1000000;
  out_profile->host_rate = USUAL_HOST_GBS * UINT64_C(1000000);
  out_profile->drift_period = DRIFT_PERIOD_US * (uint64_t)WEIR__SIM_PS_PER_US;
  profile_reader reader = {.file = file, .profile = out_profile};
  for (size_t at = 0; at < bytes;) {
    reader.line++;
    const char *newline = memchr(text + at, '\n', bytes - at);
    size_t length = newline != NULL ? (size_t)(newline - text) - at : bytes - at;
    char line[MAX_LINE];
    if (length >= sizeof line) return wrong(&reader, "line too long, not a", "profile");
    if (memchr(text + at, '\0', length) != NULL) return wrong(&reader, "binary data, not a", "profile");
    memcpy(line, text + at, length);
    line[length] = '\0';
    weir_status status = read_line(&reader, line);
    if (status != WEIR_OK) return status;
    at += length + 1;
  }
  weir_status status = check_complete(&reader);
  return status == WEIR_OK ? check_pace(&reader) : status;
}

// Where the settings of a name begin: at the first "+KEY=". NULL: nowhere.
static const char *find_settings(const char *name) {
  for (const char *at = name; (at = strchr(at, '+')) != NULL; at++) {
    size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
    if (length > 0 && at[1 + length] == '=') return at;
  }
  return NULL;
}

static weir_status read_setting(profile_reader *reader, char *text) {
  char *equals = strchr(text, '=');
  if (equals == NULL) return wrong(reader, "expected '+key=value', not", text);
  *equals = '\0';
  for (size_t i = 0; i < KEY_TOTAL; i++) {
    if (strcmp(text, keys[i].name) == 0) return read_value(reader, &keys[i], equals + 1);
  }
  return wrong(reader, "unknown key", text);
}

// What follows the first '+'.
static weir_status read_settings(const char *name, const char *settings, weir__sim_profile *profile) {
  profile_reader reader = {.file = name, .profile = profile};
  char text[MAX_LINE];
  weir_status status = WEIR_OK;
  if (strlen(settings) >= sizeof text) return wrong(&reader, "settings too long:", settings);
  snprintf(text, sizeof text, "%s", settings);
  for (char *at = text, *next; status == WEIR_OK && at != NULL; at = next) {
    next = strchr(at, '+');
    if (next != NULL) *next++ = '\0';
    status = read_setting(&reader, at);
  }
  return status == WEIR_OK ? check_pace(&reader) : status;
}

static void set_name(weir__sim_profile *profile, const char *name) {
  snprintf(profile->name, sizeof profile->name, "%s", name);
}

// There is neither a profile nor a file of this name.
static weir_status no_profile(const char *name) {
  char known[256] = "";
  for (const weir__sim_builtin *builtin = weir__sim_builtins; builtin->name != NULL; builtin++) {
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", builtin->name);
  }
  return weir__error(WEIR_ERROR_IO, "device sim: %s: %s; known profiles: %s, or the name of a file", name,
                     strerror(ENOENT), known);
}

static weir_status read_file(const char *path, char *text, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  if (file == NULL && errno == ENOENT) return no_profile(path);
  if (file == NULL) return weir__error(WEIR_ERROR_IO, "%s: %s", path, strerror(errno));
  errno = 0;
  *out_bytes = fread(text, 1, MAX_FILE_BYTES, file);
  int failure = ferror(file) ? errno : 0;
  fclose(file);
  if (failure != 0) return weir__error(WEIR_ERROR_IO, "%s: %s", path, strerror(failure));
  if (*out_bytes == MAX_FILE_BYTES) {
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s:1: too long for a profile", path);
  }
  return WEIR_OK;
}

static weir_status load(const char *name, weir__sim_profile *out_profile) {
  for (const weir__sim_builtin *builtin = weir__sim_builtins; builtin->name != NULL; builtin++) {
    if (strcmp(builtin->name, name) != 0) continue;
    weir_status status = weir__sim_profile_parse(name, builtin->text, builtin->bytes, out_profile);
    set_name(out_profile, name);
    return status;
  }
  char *text = weir__allocate(MAX_FILE_BYTES);
  if (text == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to read %s", name);
  size_t bytes = 0;
  weir_status status = read_file(name, text, &bytes);
  if (status == WEIR_OK) status = weir__sim_profile_parse(name, text, bytes, out_profile);
  weir__free(text);
  const char *slash = strrchr(name, '/');
  set_name(out_profile, slash != NULL ? slash + 1 : name);
  return status;
}

weir_status weir__sim_profile_load(const char *name, weir__sim_profile *out_profile) {
  const char *settings = find_settings(name);
  if (settings == NULL) return load(name, out_profile);
  size_t length = (size_t)(settings - name);
  char *alone = weir__allocate(length + 1);
  if (alone == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to read %s", name);
  memcpy(alone, name, length);
  alone[length] = '\0';
  weir_status status = load(alone, out_profile);
  weir__free(alone);
  if (status == WEIR_OK) status = read_settings(name, settings + 1, out_profile);
  size_t used = strlen(out_profile->name);
  snprintf(out_profile->name + used, sizeof out_profile->name - used, "%s", settings);
  return status;
}

bool weir__sim_profile_make_resident(weir__sim_profile *profile) {
  if (profile->resident_gap == 0) return false;
  profile->queues = 0;
  profile->concurrent_kernels = RESIDENT_TASKS;
  profile->launch = profile->resident_launch;
  profile->launch_latency = profile->resident_latency;
  profile->dispatch = profile->resident_dispatch;
  profile->direct_gap = profile->resident_gap;
  return true;
}
