// SPDX-License-Identifier: Apache-2.0
//
// Findings as texts.
#include <stdarg.h>
#include <stdio.h>

#include "check/checker.h"

enum { MOST_FINDINGS = 8 }; // of one task

static const char *const MODES[] = {[WEIR_READ] = "reads", [WEIR_WRITE] = "writes", [WEIR_READ_WRITE] = "updates"};

void weir__check_report(weir__check_job *job, const weir__region *region, const char *format, ...) {
  if (job->findings == MOST_FINDINGS) return;
  const weir__check_arg *arg = &job->args[region->arg];
  const weir_buffer *buffer = job->slots[region->slot].buffer;
  char text[WEIR__MESSAGE_BYTES], what[WEIR__MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  int length = snprintf(text, sizeof text, "argument %u (%s %s[%llu, %llu) of buffer %llu '%s'): ", region->arg,
                        MODES[arg->mode], arg->box == NULL ? "" : "a box in ", (unsigned long long)arg->lo,
                        (unsigned long long)arg->hi, (unsigned long long)buffer->id, buffer->label);
  if (length < (int)sizeof text) snprintf(text + length, sizeof text - (size_t)length, "%s", what);
  char who[WEIR__CHECK_NAME_BYTES];
  weir__check_name_job(job, who);
  fprintf(stderr, "weir: check: %s: %s\n", who, text);
  if (job->findings++ > 0) return;
  job->status = WEIR_ERROR_TASK_FAILED;
  snprintf(job->message, sizeof job->message, "%s", text);
}
