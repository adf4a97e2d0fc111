// SPDX-License-Identifier: Apache-2.0
// Four tiles, each in two steps by way of a scratch buffer. Could the tiles overlap? The program asks why the second
// waited for the first, and saves what it did for `weir plan` and `weir replay`.
//
//   record [updates|writes] [FILE.jsonl]    how the first step declares the scratch buffer (default: updates)
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

enum { TILES = 4, COUNT = 400000 };

static void spread(const weir_work *work) {
  const float *tile = work->args[0];
  float *scratch = work->args[1];
  for (int i = 0; i < COUNT; i++) scratch[i] = tile[i] * 0.5f + tile[(i + 1) % COUNT] * 0.5f;
}

static void gather(const weir_work *work) {
  const float *scratch = work->args[0];
  float *tile = work->args[1];
  for (int i = 0; i < COUNT; i++) tile[i] = scratch[i] + scratch[(i + COUNT - 1) % COUNT];
}

int main(int argc, char **argv) {
  static float ones[COUNT];
  weir_context *context;
  weir_buffer *tiles[TILES], *scratch;
  weir_event *spreads[TILES];
  bool writes = argc > 1 && strcmp(argv[1], "writes") == 0;
  weir_context_options options = {.devices = "cpu:2", .flags = WEIR_CONTEXT_TRACE};
  if (weir_context_create(&options, &context) != WEIR_OK) return 1;
  for (int i = 0; i < COUNT; i++) ones[i] = 1;
  weir_buffer_create(context, sizeof ones, &scratch);
  weir_buffer_set_label(scratch, "scratch");
  weir_copy_in(scratch, 0, sizeof ones, ones, NULL);
  for (int i = 0; i < TILES; i++) {
    weir_buffer_create(context, sizeof ones, &tiles[i]);
    weir_copy_in(tiles[i], 0, sizeof ones, ones, NULL);
  }
  weir_finish(context);

  for (int i = 0; i < TILES; i++) {
    weir_arg first[] = {weir_reads(tiles[i]), writes ? weir_writes(scratch) : weir_updates(scratch)};
    weir_arg second[] = {weir_reads(scratch), weir_writes(tiles[i])};
    char label[16];
    snprintf(label, sizeof label, "spread %d", i);
    weir_submit(context, &(weir_task){.host = spread, .label = label, .args = first, .arg_count = 2}, &spreads[i]);
    weir_submit(context, &(weir_task){.host = gather, .label = "gather", .args = second, .arg_count = 2}, NULL);
  }
  weir_status status = weir_finish(context);

  char text[512];
  if (status == WEIR_OK) status = weir_why(spreads[0], spreads[1], text, sizeof text);
  if (status == WEIR_OK) printf("%s\n", text);
  const char *path = argc > 2 ? argv[2] : "record.jsonl";
  if (status == WEIR_OK) status = weir_trace_save(context, path, "tiles");
  if (status != WEIR_OK) fprintf(stderr, "record: %s\n", weir_last_error());
  for (int i = 0; i < TILES; i++) weir_event_release(spreads[i]);
  weir_context_release(context);
  return status == WEIR_OK && fflush(stdout) == 0 ? 0 : 1;
}
