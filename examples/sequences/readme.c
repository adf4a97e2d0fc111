// SPDX-License-Identifier: Apache-2.0
// The example of Kompute's README: one shader with two inputs, two outputs, a specialization constant and a push constant,
// dispatched twice in one sequence with different push constants.
//
// With Kompute: a kp::Manager; four tensors from mgr.tensor() and mgr.tensorT<uint32_t>(); mgr.algorithm() with the tensors,
// the SPIR-V, a work-group, specialization and push constants; a sequence that records OpSyncDevice, OpAlgoDispatch and
// OpAlgoDispatch with other push constants, with an eval() after each dispatch; a second sequence for OpSyncLocal.
//
// With Weir: a context; four buffers; a kernel with the SPIR-V and the specialization constant; and a sequence, in which
// copies and tasks are recorded. The second dispatch updates what the first one wrote: Weir puts the barrier between
// them, and between copies and dispatches, because each task says what it reads and writes. One evaluation does it all.
#include <stdio.h>
#include <stdlib.h>
#include <weir/graph.h>
#include <weir/vulkan.h>
#include <weir/weir.h>

#include "products.spv.h"

enum { COUNT = 3 };

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

static weir_buffer *make_buffer(weir_context *context, uint64_t bytes) {
  weir_buffer *buffer;
  check(weir_buffer_create(context, bytes, &buffer));
  return buffer;
}

static weir_kernel *make_kernel(weir_context *context) {
  const weir_vulkan_code code = {.words = products_spv, .bytes = sizeof products_spv};
  const weir_vulkan_constant factor = {.id = 0, .bytes = 4, .f32 = 2};
  weir_kernel *kernel;
  check(weir_kernel_create(context, "products", &kernel));
  check(weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){.constants = &factor, .constant_count = 1}, 1));
  return kernel;
}

int main(int argc, char **argv) {
  const char *devices = argc > 1 ? argv[1] : "vulkan"; // "vulkan:1" is the second device
  weir_context *context;
  weir_status status = weir_context_create(&(weir_context_options){.devices = devices}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    return 77;
  }
  check(status);

  const float first[COUNT] = {2, 2, 2}, second[COUNT] = {1, 2, 3};
  weir_buffer *in_a = make_buffer(context, sizeof first), *in_b = make_buffer(context, sizeof second);
  weir_buffer *out_a = make_buffer(context, COUNT * sizeof(uint32_t)),
              *out_b = make_buffer(context, COUNT * sizeof(uint32_t));
  weir_kernel *kernel = make_kernel(context);

  weir_graph *sequence;
  check(weir_graph_create(context, NULL, &sequence));
  check(weir_graph_copy_in(sequence, in_a, 0, WEIR_WHOLE, first, NULL));
  check(weir_graph_copy_in(sequence, in_b, 0, WEIR_WHOLE, second, NULL));
  check(weir_graph_fill(sequence, out_a, 0, WEIR_WHOLE, 0, NULL));
  check(weir_graph_fill(sequence, out_b, 0, WEIR_WHOLE, 0, NULL));

  const float numbers[] = {2, 3}; // the push constants of the two dispatches
  for (int i = 0; i < 2; i++) {
    const weir_arg args[] = {weir_reads(in_a), weir_reads(in_b), weir_updates(out_a), weir_updates(out_b),
                             weir_value(&numbers[i], sizeof numbers[i])};
    const weir_task task = {.kernel = kernel, .args = args, .arg_count = 5, .groups = {COUNT}};
    check(weir_graph_add(sequence, &task, NULL));
  }

  uint32_t products[COUNT], sums[COUNT];
  check(weir_graph_copy_out(sequence, out_a, 0, WEIR_WHOLE, products, NULL));
  check(weir_graph_copy_out(sequence, out_b, 0, WEIR_WHOLE, sums, NULL));
  check(weir_graph_evaluate(sequence, WEIR_FOREVER));

  printf("products: %u %u %u\n", products[0], products[1], products[2]);
  printf("sums: %u %u %u\n", sums[0], sums[1], sums[2]);
  weir_context_release(context); // and all that was made in it
  return fflush(stdout) == 0 ? 0 : 1;
}
