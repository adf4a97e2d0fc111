// SPDX-License-Identifier: Apache-2.0
// A kernel that is written once, built with an installed Weir.
#include <stdio.h>
#include <string.h>

#include "square.kernels.h"

int main(void) {
  float numbers[256], results[256] = {0};
  for (int i = 0; i < 256; i++) numbers[i] = (float)i;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *in, *out;
  weir_context_create(NULL, &context);
  weir_kernel_create_from(context, &square, &kernel);
  weir_buffer_create(context, sizeof numbers, &in);
  weir_buffer_create(context, sizeof results, &out);
  weir_copy_in(in, 0, sizeof numbers, numbers, NULL);
  weir_arg args[] = {weir_reads(in), weir_writes(out)};
  weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2, .groups = {4}}, NULL);
  weir_copy_out(out, 0, sizeof results, results, NULL);
  weir_status status = weir_finish(context);
  printf("%s: 255 * 255 + 1 = %g\n", weir_status_name(status), (double)results[255]);
  printf("source: %s\n", strstr(square_kernels_source, "WEIR_KERNEL(square") ? "embedded" : "missing");
  weir_context_release(context);
  return status == WEIR_OK ? 0 : 1;
}
