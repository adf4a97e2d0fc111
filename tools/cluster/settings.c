// SPDX-License-Identifier: Apache-2.0
#include "cluster/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const weir__cluster_settings weir__cluster_usual = {
    .ranks_per_node = 1,
    .workers = 1,
    .oversubscribe = 1,
    .submit_us = 0.7,
    .pass_us = 0.4,
    .buffer_us = 1.7,
    .send_us = 3.7,
    .receive_us = 3.7,
    .copy_gbs = 1.1,
    .latency_us = 10,
    .gbs = 12.5,
    .local_latency_us = 40,
    .local_gbs = 1.2,
};

typedef struct key {
  const char *name;
  size_t offset;
  double least, most;
  bool whole;
} key;

#define KEY(name, least, most, whole)                                                                                  \
  { #name, offsetof(weir__cluster_settings, name), least, most, whole }
static const key keys[] = {
    KEY(ranks_per_node, 1, WEIR__CLUSTER_MOST_RANKS, true),
    KEY(workers, 1, 1024, true),
    KEY(cores, 0, 1 << 20, true),
    KEY(oversubscribe, 1, WEIR__CLUSTER_MOST_RANKS, true),
    KEY(jitter, 0, 1, false),
    KEY(skip, 0, 1, true),
    KEY(submit_us, 0, 1e6, false),
    KEY(pass_us, 0, 1e6, false),
    KEY(buffer_us, 0, 1e6, false),
    KEY(task_us, 0, 1e6, false),
    KEY(send_us, 0, 1e6, false),
    KEY(receive_us, 0, 1e6, false),
    KEY(copy_gbs, 0, 1e6, false),
    KEY(latency_us, 0, 1e6, false),
    KEY(gbs, 0, 1e6, false),
    KEY(switch_gbs, 0, 1e9, false),
    KEY(local_latency_us, 0, 1e6, false),
    KEY(local_gbs, 0, 1e6, false),
};
enum { KEYS = sizeof keys / sizeof *keys };

const char *weir__cluster_settings_name(size_t number) {
  return number < KEYS ? keys[number].name : NULL;
}

double weir__cluster_settings_value(const weir__cluster_settings *settings, size_t number) {
  double value;
  memcpy(&value, (const char *)settings + keys[number].offset, sizeof value);
  return value;
}

static const key *find_key(const char *text, size_t length) {
  for (size_t i = 0; i < KEYS; i++) {
    if (strlen(keys[i].name) == length && strncmp(keys[i].name, text, length) == 0) return &keys[i];
  }
  return NULL;
}

static void say_keys(const char *text, size_t length, char *message, size_t size) {
  int used = snprintf(message, size, "\"%.*s\" is none of", (int)length, text);
  for (size_t i = 0; i < KEYS && used > 0 && (size_t)used < size; i++)
    used += snprintf(message + used, size - (size_t)used, "%s %s=", i > 0 ? "," : "", keys[i].name);
}

// One KEY=VALUE of `length` bytes.
static bool read_one(const char *text, size_t length, weir__cluster_settings *settings, char *message, size_t size) {
  size_t name = strcspn(text, "=,");
  const key *found = name < length ? find_key(text, name) : NULL;
  if (found == NULL) {
    say_keys(text, length, message, size);
    return false;
  }
  char *end = NULL;
  double value = strtod(text + name + 1, &end);
  if (end != text + length || end == text + name + 1 || !(value >= found->least && value <= found->most) ||
      (found->whole && value != floor(value))) {
    snprintf(message, size, "%.*s is not a %snumber from %g to %.10g", (int)length, text, found->whole ? "whole " : "",
             found->least, found->most);
    return false;
  }
  memcpy((char *)settings + found->offset, &value, sizeof value);
  return true;
}

bool weir__cluster_settings_read(const char *text, weir__cluster_settings *settings, char *message,
                                 size_t message_size) {
  if (strcmp(text, "default") == 0) return true;
  for (;; text++) {
    size_t length = strcspn(text, ",");
    if (!read_one(text, length, settings, message, message_size)) return false;
    text += length;
    if (*text == '\0') return true;
  }
}
