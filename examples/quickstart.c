// SPDX-License-Identifier: Apache-2.0
// Three tasks: two fill a buffer each and may overlap, the third waits for both. Nobody says so: Weir finds out.
#include <stdio.h>
#include <weir/weir.h>

enum { COUNT = 1000 };

static void fill(const weir_work *work) {
  int *out = work->args[0];
  for (int i = 0; i < COUNT; i++) out[i] = i;
}

static void add(const weir_work *work) {
  const int *a = work->args[0], *b = work->args[1];
  int *sum = work->args[2];
  for (int i = 0; i < COUNT; i++) sum[i] = a[i] + b[i];
}

int main(void) {
  weir_context *context;
  weir_buffer *a, *b, *sum;
  int result[COUNT] = {0};
  weir_context_create(NULL, &context);
  weir_buffer_create(context, sizeof result, &a);
  weir_buffer_create(context, sizeof result, &b);
  weir_buffer_create(context, sizeof result, &sum);

  weir_submit(context, &(weir_task){.host = fill, .args = (weir_arg[]){weir_writes(a)}, .arg_count = 1}, NULL);
  weir_submit(context, &(weir_task){.host = fill, .args = (weir_arg[]){weir_writes(b)}, .arg_count = 1}, NULL);
  weir_arg args[] = {weir_reads(a), weir_reads(b), weir_writes(sum)};
  weir_submit(context, &(weir_task){.host = add, .args = args, .arg_count = 3}, NULL);

  weir_status status = weir_read(sum, 0, sizeof result, result); // waits for what it needs
  printf("%s: %d + %d = %d\n", weir_status_name(status), COUNT - 1, COUNT - 1, result[COUNT - 1]);
  weir_context_release(context);
  return status == WEIR_OK && result[COUNT - 1] == 2 * (COUNT - 1) ? 0 : 1;
}
