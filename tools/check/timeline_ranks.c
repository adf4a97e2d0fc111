// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "check/timeline_reader.h"

// The timeline of a rank that is alone is the whole.
static bool add_only_rank(weir__timeline_reader *reader, const json_t *head) {
  weir__timeline *timeline = reader->timeline;
  json_int_t ranks = json_integer_value(json_object_get(json_object_get(head, "rank"), "of"));
  timeline->part_of = ranks > 1 ? (uint64_t)ranks : 0;
  if (ranks != 1) return true;
  timeline->ranks = calloc(1, sizeof *timeline->ranks);
  if (!timeline->ranks) return weir__timeline_no_memory(reader);
  timeline->rank_count = 1;
  return true;
}

bool weir__timeline_add_ranks(weir__timeline_reader *reader, const json_t *head) {
  weir__timeline *timeline = reader->timeline;
  const json_t *list = json_object_get(head, "ranks");
  if (list == NULL) return add_only_rank(reader, head);
  size_t count = json_array_size(list);
  if (count == 0) return weir__timeline_fail(reader, "weir: ranks is no list, or an empty one");
  timeline->ranks = calloc(count, sizeof *timeline->ranks);
  if (!timeline->ranks) return weir__timeline_no_memory(reader);
  timeline->rank_count = count;
  for (size_t i = 0; i < count; i++) {
    const json_t *rank = json_array_get(list, i);
    if (!json_is_object(rank)) return weir__timeline_fail(reader, "weir: a rank is not an object");
    if (!weir__timeline_whole(reader, rank, "a rank", "number", &timeline->ranks[i].number) ||
        !weir__timeline_whole(reader, rank, "a rank", "error_ns", &timeline->ranks[i].error_ns))
      return false;
    if (timeline->ranks[i].number != i) return weir__timeline_fail(reader, "weir: rank %zu is not at its place", i);
  }
  return true;
}

static bool take_message(weir__timeline_reader *reader, const json_t *message, const char *what, const char *peer,
                         weir__timeline_call *call) {
  if (!json_is_object(message)) return weir__timeline_fail(reader, "%s: a message is not an object", what);
  return weir__timeline_whole(reader, message, what, peer, &call->peer) &&
         weir__timeline_whole(reader, message, what, "number", &call->message);
}

bool weir__timeline_take_call(weir__timeline_reader *reader, const json_t *args, const char *what,
                              weir__timeline_call *out_call) {
  const json_t *send = json_object_get(args, "send"), *receive = json_object_get(args, "receive");
  *out_call = (weir__timeline_call){0};
  if (json_object_get(args, "call") == NULL) return true;
  if (!weir__timeline_whole(reader, args, what, "call", &out_call->number)) return false;
  if (out_call->number == 0) return weir__timeline_fail(reader, "%s: call is 0", what);
  if (send != NULL && receive != NULL) return weir__timeline_fail(reader, "%s: it sends and receives", what);
  if (send == NULL && receive == NULL) return true;
  out_call->direction = send != NULL ? WEIR__TIMELINE_SENDS : WEIR__TIMELINE_RECEIVES;
  return send != NULL ? take_message(reader, send, what, "to", out_call)
                      : take_message(reader, receive, what, "from", out_call);
}

bool weir__timeline_add_written(weir__timeline_reader *reader, const json_t *event) {
  weir__timeline *timeline = reader->timeline;
  const json_t *args = json_object_get(event, "args");
  const char *what = "bytes written";
  weir__timeline_written written = {0};
  if (!json_is_object(args)) return weir__timeline_fail(reader, "%s: args is not an object", what);
  if (!weir__timeline_whole(reader, args, what, "call", &written.call) ||
      !weir__timeline_whole(reader, args, what, "buffer", &written.buffer) ||
      !weir__timeline_whole(reader, args, what, "shared", &written.shared) ||
      !weir__timeline_whole(reader, args, what, "offset", &written.offset) ||
      !weir__timeline_whole(reader, args, what, "bytes", &written.bytes))
    return false;
  written.rank = written.buffer / WEIR__TIMELINE_RANK_IDS;
  if (written.bytes == 0) return weir__timeline_fail(reader, "%s: there are none", what);
  if (!weir__timeline_grow(reader, (void **)&timeline->written, &timeline->written_capacity, timeline->written_count,
                           sizeof written))
    return false;
  timeline->written[timeline->written_count++] = written;
  return true;
}
