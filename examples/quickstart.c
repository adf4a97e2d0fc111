// SPDX-License-Identifier: Apache-2.0
// Three tasks: two fill a buffer each and may overlap, the third waits for both. Nobody says so: Weir finds out.
#include <stdio.h>
#include <weir/weir.h>

enum { COUNT = 1000 };

static void fill(const weir_work *work) {
  int *out = (int *)work->args[0];
  for (int i = 0; i < COUNT; i++) out[i] = i;
}

static void add(const weir_work *work) {
  const int *a = (const int *)work->args[0], *b = (const int *)work->args[1];
  int *sum = (int *)work->args[2];
  for (int i = 0; i < COUNT; i++) sum[i] = a[i] + b[i];
}

// Submits a task that runs a function, and returns at once.
static void submit(weir_context *context, weir_function function, const weir_arg *args, uint32_t count) {
  weir_task task = {0};
  task.host = function;
  task.args = args;
  task.arg_count = count;
  weir_submit(context, &task, NULL);
}

int main(void) {
  weir_context *context;
  weir_buffer *a, *b, *sum;
  int result[COUNT] = {0};
  weir_context_create(NULL, &context);
  weir_buffer_create(context, sizeof result, &a);
  weir_buffer_create(context, sizeof result, &b);
  weir_buffer_create(context, sizeof result, &sum);

  weir_arg fills_a[] = {weir_writes(a)}, fills_b[] = {weir_writes(b)};
  weir_arg adds[] = {weir_reads(a), weir_reads(b), weir_writes(sum)};
  submit(context, fill, fills_a, 1);
  submit(context, fill, fills_b, 1);
  submit(context, add, adds, 3);

  weir_status status = weir_read(sum, 0, sizeof result, result); // waits for what it needs
  printf("%s: %d + %d = %d\n", weir_status_name(status), COUNT - 1, COUNT - 1, result[COUNT - 1]);
  weir_context_release(context);
  return status == WEIR_OK && result[COUNT - 1] == 2 * (COUNT - 1) && fflush(stdout) == 0 ? 0 : 1;
}
