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

static bool ends_in(const char *text, const char *ending) {
  size_t length = strlen(text), ending_length = strlen(ending);
  return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

weir_status weir__trace_save(const weir__trace *trace, const char *path, const char *title, char *message,
                             size_t message_size) {
  if (!ends_in(path, ".json")) {
    snprintf(
        message, message_size,
        "%s: a timeline is saved as JSON, and its name ends in .json; `weir timeline FILE.json` makes a page of it",
        path);
    return WEIR_ERROR_INVALID_ARGUMENT;
  }
  FILE *file = fopen(path, "w");
  if (!file) {
    snprintf(message, message_size, "%s: %s", path, strerror(errno));
    return WEIR_ERROR_IO;
  }
  weir__trace_write_json(trace, title ? title : "Weir timeline", file);
  int failure = fflush(file) == 0 && !ferror(file) ? 0 : errno ? errno : EIO;
  if (fclose(file) != 0 && !failure) failure = errno;
  if (!failure) return WEIR_OK;
  snprintf(message, message_size, "%s: %s", path, strerror(failure));
  return WEIR_ERROR_IO;
}
