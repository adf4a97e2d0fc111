// SPDX-License-Identifier: Apache-2.0
//
// Each file is read twice: first its head and what it sends, then its events, which are written with the numbers and
// times that they have in the whole.
#include "timeline/join.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/join_parts.h"

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

// A copy of a value; NULL: no memory. The parser's own copies may lack what there was no memory for.
static json_t *copy_of(const json_t *value) {
  json_t *copy = json_deep_copy(value);
  if (copy != NULL && json_equal(copy, value)) return copy;
  json_decref(copy);
  return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// First: heads, and sends

static bool note_head(weir__timeline_reader *reader, void *user, const json_t *head) {
  weir__join_rank *rank = user;
  const json_t *own = json_object_get(head, "rank"), *devices = NULL;
  if (!json_is_object(own)) return weir__timeline_fail(reader, "it is not the timeline of a rank of several");
  if (!weir__timeline_whole(reader, own, "rank", "number", &rank->number) ||
      !weir__timeline_whole(reader, own, "rank", "of", &rank->ranks) ||
      !weir__timeline_whole(reader, own, "rank", "zero_ns", &rank->zero_ns) ||
      !weir__timeline_whole(reader, own, "rank", "error_ns", &rank->error_ns) ||
      !weir__timeline_list(reader, head, "weir", "devices", &devices))
    return false;
  if (rank->number >= rank->ranks || rank->ranks > WEIR__JOIN_MOST_RANKS)
    return weir__timeline_fail(reader, "rank %" PRIu64 " of %" PRIu64 "; at most %d are possible", rank->number,
                               rank->ranks, WEIR__JOIN_MOST_RANKS);
  if (!json_is_string(json_object_get(head, "title"))) return weir__timeline_fail(reader, "weir: title is not a text");
  rank->device_count = json_array_size(devices);
  rank->head = copy_of(head);
  return rank->head || weir__timeline_no_memory(reader);
}

static bool note_send(weir__timeline_reader *reader, void *user, const json_t *event) {
  weir__join_rank *rank = user;
  const json_t *args = json_object_get(event, "args"), *send = json_object_get(args, "send");
  if (send == NULL || strcmp(text_of(event, "cat"), "task") != 0) return true;
  weir__join_send noted = {.id = weir__join_whole(args, "id")};
  if (!weir__timeline_whole(reader, send, "send", "to", &noted.to) ||
      !weir__timeline_whole(reader, send, "send", "number", &noted.number) ||
      !weir__timeline_grow(reader, (void **)&rank->sends, &rank->send_capacity, rank->send_count, sizeof noted))
    return false;
  rank->sends[rank->send_count++] = noted;
  return true;
}

static bool end_nothing(weir__timeline_reader *reader, void *user) {
  (void)reader, (void)user;
  return true;
}

static int compare_sends(const void *a, const void *b) {
  const weir__join_send *x = a, *y = b;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_ranks(const void *a, const void *b) {
  const weir__join_rank *x = a, *y = b;
  return x->number < y->number ? -1 : x->number > y->number;
}

static weir_status refuse(const weir__join_rank *rank, const char *why, uint64_t number, char *message, size_t size) {
  snprintf(message, size, "%s: %s %" PRIu64, rank->path, why, number);
  return WEIR_ERROR_INVALID_ARGUMENT;
}

// Are they the ranks of one job, all of them? Sorts them by number.
static weir_status match(weir__join *self, char *message, size_t size) {
  qsort(self->ranks, self->count, sizeof *self->ranks, compare_ranks);
  for (size_t i = 0; i < self->count; i++) {
    const weir__join_rank *rank = &self->ranks[i];
    if (rank->ranks != self->ranks[0].ranks)
      return refuse(rank, "the number of ranks is not that of the others, but", rank->ranks, message, size);
    if (rank->number < i) return refuse(rank, "another timeline, too, is of rank", rank->number, message, size);
    if (rank->number > i) return refuse(rank, "there is no timeline of rank", i, message, size);
  }
  if (self->count < self->ranks[0].ranks)
    return refuse(&self->ranks[0], "there is no timeline of rank", self->count, message, size);
  return WEIR_OK;
}

static void place(weir__join *self) {
  uint64_t devices = 0, zero_ns = UINT64_MAX;
  for (size_t i = 0; i < self->count; i++) {
    if (self->ranks[i].zero_ns < zero_ns) zero_ns = self->ranks[i].zero_ns;
  }
  for (size_t i = 0; i < self->count; i++) {
    weir__join_rank *rank = &self->ranks[i];
    rank->shift_ns = rank->zero_ns - zero_ns;
    rank->first_device = devices;
    devices += rank->device_count;
    if (rank->send_count > 0) qsort(rank->sends, rank->send_count, sizeof *rank->sends, compare_sends);
  }
}

uint64_t weir__join_find_send(const weir__join *self, uint64_t from, uint64_t to, uint64_t number) {
  const weir__join_send wanted = {.to = to, .number = number};
  if (from >= self->count || self->ranks[from].send_count == 0) return 0;
  const weir__join_rank *rank = &self->ranks[from];
  const weir__join_send *found = bsearch(&wanted, rank->sends, rank->send_count, sizeof wanted, compare_sends);
  return found ? found->id + weir__join_base(from) : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Then: all of it

static void write_ranks(const weir__join *self, FILE *file) {
  fputs(",\"ranks\":[", file);
  for (size_t i = 0; i < self->count; i++)
    fprintf(file, "%s{\"number\":%zu,\"shift_ns\":%" PRIu64 ",\"error_ns\":%" PRIu64 "}", i ? "," : "", i,
            self->ranks[i].shift_ns, self->ranks[i].error_ns);
  fputs("],\"devices\":[", file);
}

// The entries of a list in all heads, each changed by a function.
static bool write_list(const weir__join *self, const char *key, bool (*change)(json_t *entry, uint64_t rank),
                       FILE *file) {
  size_t written = 0;
  for (size_t i = 0; i < self->count; i++) {
    const json_t *list = json_object_get(self->ranks[i].head, key);
    for (size_t k = 0; k < json_array_size(list); k++) {
      json_t *entry = json_array_get(list, k);
      if (!change(entry, i)) return false;
      if (written++ > 0) fputc(',', file);
      if (json_dumpf(entry, file, JSON_COMPACT) != 0) return false;
    }
  }
  return true;
}

static bool change_device(json_t *device, uint64_t rank) {
  return !json_is_object(device) || json_object_set_new(device, "rank", json_integer((json_int_t)rank)) == 0;
}

static bool change_pipeline(json_t *pipeline, uint64_t rank) {
  weir__join_add(pipeline, "id", rank * WEIR__JOIN_PIPELINES);
  return true;
}

static bool write_head(const weir__join *self, FILE *file) {
  uint64_t dropped = 0;
  bool pipelines = false;
  for (size_t i = 0; i < self->count; i++) {
    dropped += weir__join_whole(self->ranks[i].head, "dropped");
    pipelines = pipelines || json_object_get(self->ranks[i].head, "pipelines") != NULL;
  }
  fputs("{\"displayTimeUnit\":\"ns\",\"weir\":{\"version\":1,\"title\":", file);
  const json_t *title = json_object_get(self->ranks[0].head, "title");
  if (json_dumpf(title, file, JSON_ENCODE_ANY) != 0) return false;
  fprintf(file, ",\"dropped\":%" PRIu64, dropped);
  write_ranks(self, file);
  bool good = write_list(self, "devices", change_device, file);
  if (pipelines) fputs("],\"pipelines\":[", file);
  good = good && (!pipelines || write_list(self, "pipelines", change_pipeline, file));
  fputs("]},\"traceEvents\":[", file);
  return good;
}

typedef struct writing {
  weir__join *join;
  uint64_t rank;
  FILE *file;
  bool has_event;
} writing;

static bool write_event(weir__timeline_reader *reader, void *user, const json_t *event) {
  writing *self = user;
  json_t *changed = copy_of(event);
  bool good = changed != NULL && weir__join_change(self->join, self->rank, changed);
  if (good) fputs(self->has_event ? ",\n" : "\n", self->file);
  good = good && json_dumpf(changed, self->file, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0;
  if (good) weir__join_write_flow(self->rank, changed, self->file);
  self->has_event = true;
  json_decref(changed);
  return good || weir__timeline_no_memory(reader);
}

static bool write_no_head(weir__timeline_reader *reader, void *user, const json_t *head) {
  (void)reader, (void)user, (void)head;
  return true;
}

static weir_status write_all(weir__join *self, FILE *file, char *message, size_t size) {
  writing state = {.join = self, .file = file};
  const weir__timeline_visitor visitor = {write_no_head, write_event, end_nothing, &state};
  if (!write_head(self, file)) return WEIR_ERROR_OUT_OF_MEMORY;
  weir_status status = WEIR_OK;
  for (; state.rank < self->count && status == WEIR_OK; state.rank++)
    status = weir__timeline_visit(self->ranks[state.rank].path, &visitor, message, size);
  fputs("\n]}\n", file);
  return status;
}

static weir_status join_all(weir__join *self, char *message, size_t size, char **out_json, size_t *out_bytes) {
  weir_status status = WEIR_OK;
  for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
    const weir__timeline_visitor visitor = {note_head, note_send, end_nothing, &self->ranks[i]};
    status = weir__timeline_visit(self->ranks[i].path, &visitor, message, size);
  }
  if (status == WEIR_OK) status = match(self, message, size);
  if (status != WEIR_OK) return status;
  place(self);
  FILE *file = open_memstream(out_json, out_bytes);
  if (!file) return WEIR_ERROR_OUT_OF_MEMORY;
  status = write_all(self, file, message, size);
  bool written = !ferror(file);
  return fclose(file) == 0 && written ? status : WEIR_ERROR_OUT_OF_MEMORY;
}

weir_status weir__timeline_join(char *const *paths, size_t count, char *message, size_t message_size, char **out_json,
                                size_t *out_bytes) {
  *out_json = NULL;
  *out_bytes = 0;
  weir__join self = {.count = count, .ranks = calloc(count + 1, sizeof(weir__join_rank))};
  for (size_t i = 0; i < count && self.ranks; i++) self.ranks[i].path = paths[i];
  message[0] = '\0';
  weir_status status =
      self.ranks ? join_all(&self, message, message_size, out_json, out_bytes) : WEIR_ERROR_OUT_OF_MEMORY;
  if (status == WEIR_ERROR_OUT_OF_MEMORY && !message[0]) snprintf(message, message_size, "out of memory");
  for (size_t i = 0; i < count && self.ranks; i++) {
    json_decref(self.ranks[i].head);
    free(self.ranks[i].sends);
  }
  free(self.ranks);
  if (status != WEIR_OK) {
    free(*out_json);
    *out_json = NULL;
  }
  return status;
}
