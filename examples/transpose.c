// SPDX-License-Identifier: Apache-2.0
// Transposes a column-major matrix tile by tile, then adds 1 to its upper half. A tile is a rectangle of the matrix.
#include <stdio.h>
#include <stdlib.h>
#include <weir/box.h>

enum { SIZE = 512, TILE = 64 };

static uint64_t first_byte(int row, int column) {
  return ((uint64_t)column * TILE * SIZE + (uint64_t)row * TILE) * sizeof(float);
}

static void transpose(const weir_work *work) {
  const float *from = work->args[0];
  float *to = work->args[1];
  for (int column = 0; column < TILE; column++) {
    for (int row = 0; row < TILE; row++) to[row * SIZE + column] = from[column * SIZE + row];
  }
}

static void add_one(const weir_work *work) {
  float *tile = work->args[0];
  for (int column = 0; column < TILE; column++) {
    for (int row = 0; row < TILE; row++) tile[column * SIZE + row] += 1;
  }
}

int main(void) {
  float *a = malloc(sizeof(float[SIZE][SIZE])), *b = malloc(sizeof(float[SIZE][SIZE]));
  if (a == NULL || b == NULL) return 1;
  for (int i = 0; i < SIZE * SIZE; i++) a[i] = (float)i;

  weir_context *context;
  weir_buffer *from, *to;
  weir_context_create(NULL, &context);
  weir_buffer_wrap(context, a, sizeof(float[SIZE][SIZE]), &from);
  weir_buffer_wrap(context, b, sizeof(float[SIZE][SIZE]), &to);
  const weir_box tile = {.width = sizeof(float[TILE]), .pitch = sizeof(float[SIZE]), .rows = TILE};
  for (int column = 0; column < SIZE / TILE; column++) {
    for (int row = 0; row < SIZE / TILE; row++) {
      weir_arg args[] = {weir_reads_box(from, first_byte(row, column), &tile),
                         weir_writes_box(to, first_byte(column, row), &tile)};
      weir_submit(context, &(weir_task){.host = transpose, .args = args, .arg_count = 2}, NULL);
    }
  }
  for (int column = 0; column < SIZE / TILE; column++) {
    for (int row = 0; row < SIZE / TILE / 2; row++) { // each waits for the one task that writes its tile
      weir_arg args[] = {weir_updates_box(to, first_byte(row, column), &tile)};
      weir_submit(context, &(weir_task){.host = add_one, .args = args, .arg_count = 1}, NULL);
    }
  }
  weir_status status = weir_finish(context);
  weir_context_release(context);

  int wrong = 0;
  for (int i = 0; i < SIZE * SIZE; i++) {
    int row = i % SIZE, column = i / SIZE;
    wrong += b[i] != a[row * SIZE + column] + (row < SIZE / 2 ? 1.0F : 0.0F);
  }
  printf("%s: %d of %d elements are wrong\n", weir_status_name(status), wrong, SIZE * SIZE);
  free(a);
  free(b);
  return status == WEIR_OK && wrong == 0 && fflush(stdout) == 0 ? 0 : 1;
}
