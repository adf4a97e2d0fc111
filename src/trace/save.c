// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "trace/record.h"

const char *weir__trace_lane_word(const weir__trace_device *device) {
  return strncmp(device->name, "cpu", 3) == 0 ? "worker" : "queue";
}

const char *weir__trace_mode_name(weir_mode mode) {
  static const char *const names[] = {
      [WEIR_READ] = "read", [WEIR_WRITE] = "write", [WEIR_READ_WRITE] = "read_write", [WEIR_COMMUTE] = "commute"};
  return names[mode];
}

const char *weir__trace_hazard_name(weir__hazard hazard) {
  static const char *const names[] = {"RAW", "WAR", "WAW", "AFTER", "STORAGE"};
  return (size_t)hazard < sizeof(names) / sizeof(*names) ? names[hazard] : "AFTER";
}

const char *weir__trace_cause_name(weir__trace_cause cause) {
  static const char *const names[] = {"finish", "event", "read", "window", "memory"};
  return names[cause];
}

static bool ends_in(const char *text, const char *ending) {
  size_t length = strlen(text), ending_length = strlen(ending);
  return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

weir_status weir__trace_save(const weir__trace *trace, const char *path, const char *title, char *message,
                             size_t message_size) {
  bool stream = ends_in(path, ".jsonl");
  if (!stream && !ends_in(path, ".json")) {
    snprintf(message, message_size,
             "%s: the name of a timeline ends in .json, of which `weir timeline FILE.json` makes a page, and that of a "
             "recorded stream in .jsonl",
             path);
    return WEIR_ERROR_INVALID_ARGUMENT;
  }
  FILE *file = fopen(path, "w");
  if (!file) {
    snprintf(message, message_size, "%s: %s", path, strerror(errno));
    return WEIR_ERROR_IO;
  }
  weir_status status = WEIR_OK;
  char why[256] = "";
  if (stream)
    status = weir__trace_write_stream(trace, title ? title : "program", file, why, sizeof why);
  else
    weir__trace_write_json(trace, title ? title : "Weir timeline", file);
  if (status != WEIR_OK) {
    fclose(file);
    remove(path);
    snprintf(message, message_size, "%s: %s", path, why);
    return status;
  }
  int failure = fflush(file) == 0 && !ferror(file) ? 0 : errno ? errno : EIO;
  if (fclose(file) != 0 && !failure) failure = errno;
  if (!failure) return WEIR_OK;
  snprintf(message, message_size, "%s: %s", path, strerror(failure));
  return WEIR_ERROR_IO;
}
