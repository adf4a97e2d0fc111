// SPDX-License-Identifier: Apache-2.0
#include "timeline/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/rows.h"

static void write_page(const char *rows, size_t bytes, FILE *file) {
  static const char data_mark[] = "@DATA@";
  const char *page = (const char *)weir__timeline_page_text, *end = page + weir__timeline_page_bytes;
  const char *mark = memmem(page, weir__timeline_page_bytes, data_mark, sizeof data_mark - 1);
  fwrite(page, 1, (size_t)(mark - page), file);
  fwrite(rows, 1, bytes, file);
  mark += sizeof data_mark - 1;
  fwrite(mark, 1, (size_t)(end - mark), file);
}

static weir_status save_page(const char *rows, size_t bytes, const char *path, char *message, size_t message_size) {
  FILE *file = fopen(path, "w");
  int failure = file ? 0 : errno;
  if (file) {
    write_page(rows, bytes, file);
    failure = fflush(file) == 0 && !ferror(file) ? 0 : errno ? errno : EIO;
    if (fclose(file) != 0 && !failure) failure = errno;
  }
  if (!failure) return WEIR_OK;
  snprintf(message, message_size, "%s: %s", path, strerror(failure));
  return WEIR_ERROR_IO;
}

static weir_status finish(weir_status status, char *rows, size_t bytes, const char *path, char *message,
                          size_t message_size) {
  if (status == WEIR_OK) status = save_page(rows, bytes, path, message, message_size);
  free(rows);
  return status;
}

weir_status weir__timeline_page(const char *json_path, const char *page_path, char *message, size_t message_size) {
  char *rows = NULL;
  size_t bytes = 0;
  weir_status status = weir__timeline_rows(json_path, message, message_size, &rows, &bytes);
  return finish(status, rows, bytes, page_path, message, message_size);
}

weir_status weir__timeline_page_memory(const char *name, const void *json, size_t json_bytes, const char *page_path,
                                       char *message, size_t message_size) {
  char *rows = NULL;
  size_t bytes = 0;
  weir_status status = weir__timeline_rows_memory(name, json, json_bytes, message, message_size, &rows, &bytes);
  return finish(status, rows, bytes, page_path, message, message_size);
}
