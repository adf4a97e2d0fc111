// SPDX-License-Identifier: Apache-2.0
//
// The history on disk: a line of text for each key and device, and a last line with a hash of all before it.
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/folder.h"
#include "base/hash.h"
#include "split/table.h"

enum { MOST_BYTES = 16 << 20 };

static const char HEAD[] = "weir split history 1\n";

enum { NAME_BYTES = sizeof "weir split history " - 1 }; // of the head, without the version

static uint64_t hash(const char *text, size_t size) {
  return weir__hash_of(text, size).low;
}

static void write_past(FILE *file, uint64_t key, uint64_t id, const weir__split_past *past) {
  fprintf(file, "%016" PRIx64 " %016" PRIx64 " %u %" PRIu64 " %" PRIu64, key, id, past->count, past->first.units,
          past->first.ns);
  for (uint32_t i = 0; i < past->count; i++)
    fprintf(file, " %" PRIu64 " %" PRIu64, past->rounds[i].units, past->rounds[i].ns);
  fputc('\n', file);
}

// What was used last is written last, so that it is the first again when the file is read.
static void write_entries(FILE *file, const weir__split_table *table, const uint64_t *ids) {
  const weir__split_entry *entries[WEIR__SPLIT_MOST_ENTRIES];
  uint32_t count = 0;
  for (const weir__split_entry *entry = table->entries; entry != NULL; entry = entry->next) entries[count++] = entry;
  while (count-- > 0) {
    for (uint32_t i = 0; i < table->device_count; i++) {
      const weir__split_past *past = &entries[count]->devices[i];
      if (past->count > 0) write_past(file, entries[count]->key, ids[i], past);
    }
  }
}

static char *render(const weir__split_table *table, const uint64_t *ids, size_t *out_bytes) {
  char *text = NULL;
  FILE *file = open_memstream(&text, out_bytes);
  if (file == NULL) return NULL;
  fputs(HEAD, file);
  write_entries(file, table, ids);
  if (fflush(file) == 0) {
    uint64_t sum = hash(text, *out_bytes);
    fprintf(file, "end %016" PRIx64 "\n", sum);
  }
  if (fclose(file) == 0) return text;
  free(text);
  return NULL;
}

// A device, a pipe or a folder, which must not be replaced by a file, and of which a read may never end.
static bool is_no_file(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 && !S_ISREG(found.st_mode);
}

// A file of somebody else's, which is left alone. One that is empty has nothing to lose.
static bool is_foreign(const char *path) {
  char head[NAME_BYTES];
  FILE *file = fopen(path, "rb");
  size_t bytes = file == NULL ? 0 : fread(head, 1, sizeof head, file);
  if (file != NULL) fclose(file);
  return bytes > 0 && (bytes < sizeof head || memcmp(head, HEAD, sizeof head) != 0);
}

weir_status weir__split_table_may_save(const char *path, char *out_text, size_t size) {
  const char *why = NULL;
  if (is_no_file(path))
    why = "it is not a regular file";
  else if (is_foreign(path))
    why = "it is there, and is no history of Weir's";
  else if (!weir__folder_takes(path)) // a file is made there, and takes the place of this one
    why = strerror(errno);
  if (why == NULL) return WEIR_OK;
  snprintf(out_text, size, "%s: it cannot be written: %s", path, why);
  return WEIR_ERROR_IO;
}

weir_status weir__split_table_save(const weir__split_table *table, const uint64_t *ids, const char *path,
                                   char *out_text, size_t size) {
  static _Atomic unsigned saves; // several splits may write the same file
  weir_status may = weir__split_table_may_save(path, out_text, size);
  if (may != WEIR_OK) return may;
  size_t bytes = 0, length = strlen(path) + 48;
  char *text = render(table, ids, &bytes), *beside = weir__allocate(length);
  if (text == NULL || beside == NULL) {
    free(text);
    weir__free(beside);
    snprintf(out_text, size, "%s: no memory to write it", path);
    return WEIR_ERROR_OUT_OF_MEMORY;
  }
  snprintf(beside, length, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&saves, 1));
  FILE *file = fopen(beside, "wb");
  bool written = file != NULL && fwrite(text, 1, bytes, file) == bytes;
  if (file != NULL && fclose(file) != 0) written = false;
  if (written && rename(beside, path) != 0) written = false;
  if (!written) {
    snprintf(out_text, size, "%s: it cannot be written: %s", path, strerror(errno));
    if (file != NULL) unlink(beside);
  }
  free(text);
  weir__free(beside);
  return written ? WEIR_OK : WEIR_ERROR_IO;
}

// A number in base 10 or 16 and the character behind it.
static bool take(const char **at, int base, char behind, uint64_t *out_number) {
  char *end = NULL;
  if (**at == ' ' || **at == '-' || **at == '+') return false;
  errno = 0;
  *out_number = strtoull(*at, &end, base);
  if (errno != 0 || end == *at || *end != behind) return false;
  *at = end + 1;
  return true;
}

static bool read_line(weir__split_table *table, const uint64_t *ids, const char **at) {
  uint64_t key, id, count;
  weir__split_past past = {0};
  if (!take(at, 16, ' ', &key) || !take(at, 16, ' ', &id) || !take(at, 10, ' ', &count)) return false;
  if (count == 0 || count > WEIR_SPLIT_MOST_ROUNDS) return false;
  past.count = (uint32_t)count;
  if (!take(at, 10, ' ', &past.first.units) || !take(at, 10, ' ', &past.first.ns)) return false;
  for (uint32_t i = 0; i < past.count; i++) {
    weir_split_measure *round = &past.rounds[i];
    if (!take(at, 10, ' ', &round->units) || !take(at, 10, i + 1 < past.count ? ' ' : '\n', &round->ns)) return false;
  }
  for (uint32_t i = 0; i < table->device_count; i++) {
    if (ids[i] != id) continue;
    weir__split_entry *entry = weir__split_table_get(table, key);
    if (entry == NULL) return false;
    entry->devices[i] = past;
  }
  return true;
}

static bool parse(weir__split_table *table, const uint64_t *ids, const char *text, size_t bytes) {
  enum { TAIL = 4 + 16 + 1 };
  if (bytes < sizeof HEAD - 1 + TAIL || memcmp(text, HEAD, sizeof HEAD - 1) != 0 || memchr(text, 0, bytes) != NULL)
    return false;
  const char *at = text + sizeof HEAD - 1, *end = text + bytes - TAIL, *tail = end + 4;
  uint64_t sum;
  if (memcmp(end, "end ", 4) != 0 || !take(&tail, 16, '\n', &sum) || tail != text + bytes) return false;
  if (sum != hash(text, bytes - TAIL)) return false;
  while (at < end) {
    if (!read_line(table, ids, &at)) return false;
  }
  return at == end;
}

weir_status weir__split_table_load(weir__split_table *table, const uint64_t *ids, const char *path, char *out_text,
                                   size_t size) {
  if (is_no_file(path)) {
    snprintf(out_text, size, "%s: it cannot be read: it is not a regular file", path);
    return WEIR_ERROR_IO;
  }
  FILE *file = fopen(path, "rb");
  if (file == NULL && errno == ENOENT) return WEIR_OK;
  char *text = file == NULL ? NULL : weir__allocate(MOST_BYTES + 1);
  if (text == NULL) {
    snprintf(out_text, size, "%s: it cannot be read: %s", path, file == NULL ? strerror(errno) : "no memory");
    if (file != NULL) fclose(file);
    return file == NULL ? WEIR_ERROR_IO : WEIR_ERROR_OUT_OF_MEMORY;
  }
  size_t bytes = fread(text, 1, MOST_BYTES, file);
  bool whole = ferror(file) == 0 && feof(file) != 0;
  fclose(file);
  text[bytes] = '\0';
  bool good = whole && parse(table, ids, text, bytes);
  weir__free(text);
  if (good) return WEIR_OK;
  weir__split_table_clear(table);
  bool foreign = is_foreign(path);
  snprintf(out_text, size, "%s: this is %s", path,
           foreign ? "no history of Weir's; it is ignored, and is not written to"
                   : "a damaged history; it is ignored and will be rewritten");
  return WEIR_ERROR_IO;
}
