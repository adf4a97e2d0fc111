// SPDX-License-Identifier: Apache-2.0
//
// Allocation fails at the Nth call, for every N until a scenario with everything that sequences have succeeds: each call is
// accepted or refused for want of memory, what was accepted is right, and nothing leaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "graph_info.h"
#include "stub.h"
#include "sweep.h"
#include "weir/cuda.h"

enum { COUNT = 64, BYTES = COUNT * sizeof(float) };

static unsigned refusals;

static bool accepted(weir_status status) {
  if (status == WEIR_OK) return true;
  if (status != WEIR_ERROR_OUT_OF_MEMORY) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
  refusals++;
  return false;
}

typedef struct scene {
  weir_context *context;
  weir_buffer *a, *b;
  weir_kernel *twice;
  float in[COUNT], out[COUNT];
} scene;

static void double_all(float *numbers) {
  for (int i = 0; numbers != NULL && i < COUNT; i++) numbers[i] *= 2;
}

static void cpu_twice(const weir_work *work) {
  double_all(work->args[0]);
}

static void cuda_twice(const stub_launch *launch) {
  uint64_t pointer;
  memcpy(&pointer, launch->params[0], sizeof pointer);
  double_all(stub_memory(launch, pointer, BYTES));
}

static bool open_scene(scene *self, const char *devices, uint32_t flags) {
  static const char image[] = "STUB\ntwice 256 8\n";
  const weir_context_options options = {.devices = devices, .window = 16, .queues = 2, .flags = flags};
  if (!accepted(weir_context_create(&options, &self->context))) return false;
  bool opened = accepted(weir_kernel_create(self->context, "twice", &self->twice)) &&
                accepted(weir_kernel_set_cpu(self->twice, cpu_twice));
  if (opened && strncmp(devices, "cuda", 4) == 0)
    opened = accepted(weir_kernel_set_cuda(self->twice, &(weir_cuda_code){.image = image},
                                           &(weir_cuda_launch){.function = "twice"}, 1));
  return opened && accepted(weir_buffer_create(self->context, BYTES, &self->a)) &&
         accepted(weir_buffer_create(self->context, BYTES, &self->b));
}

// Records, launches, and checks what is brought out.
static void use(scene *self, bool timed) {
  weir_graph *graph;
  if (!accepted(weir_graph_create(self->context, &(weir_graph_options){.timing = timed}, &graph))) return;
  for (int i = 0; i < COUNT; i++) self->in[i] = (float)i;
  memset(self->out, 0, sizeof self->out);
  if (!accepted(weir_graph_copy_in(graph, self->a, 0, WEIR_WHOLE, self->in, NULL))) return;
  const weir_arg arg = weir_updates(self->a);
  bool added = accepted(weir_graph_add(graph, &(weir_task){.kernel = self->twice, .args = &arg, .arg_count = 1}, NULL));
  assert_int_equal(graph_info(graph).tasks, added ? 2 : 1);
  bool filled = accepted(weir_graph_fill(graph, self->a, 0, 4, 0, NULL));
  bool copied = accepted(weir_graph_copy(graph, self->b, 0, self->a, 0, WEIR_WHOLE, NULL));
  bool out = copied && accepted(weir_graph_copy_out(graph, self->b, 0, WEIR_WHOLE, self->out, NULL));
  for (int i = 0; i < 2; i++) {
    if (!accepted(weir_graph_evaluate(graph, WEIR_FOREVER)) || !out) continue;
    for (int j = 0; j < COUNT; j++) assert_true(self->out[j] == (j == 0 && filled ? 0 : (float)j * (added ? 2 : 1)));
    uint64_t times[8];
    if (timed) assert_int_equal(weir_graph_times(graph, graph_info(graph).tasks, times, NULL), WEIR_OK);
  }
  assert_int_equal(weir_graph_wait(graph, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_graph_clear(graph), WEIR_OK);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
}

static void run(const char *devices, uint32_t flags) {
  scene self = {.context = NULL};
  refusals = 0;
  if (open_scene(&self, devices, flags)) {
    use(&self, false);
    use(&self, true);
    accepted(weir_fill(self.a, 0, WEIR_WHOLE, 1, NULL));
    weir_status status = weir_finish(self.context);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY || status == WEIR_ERROR_UPSTREAM_FAILED);
  }
  weir_context_release(self.context);
}

static void fail_every_allocation(const char *devices, uint32_t flags) {
  run(devices, flags);                    // what the process allocates once and keeps
  int threads = ledger_threads_settled(); // some stay: the stub driver's
  int64_t live = ledger_live();
  for (uint64_t n = 1;; n = sweep_after(n)) {
    alarm(60);
    uint64_t count = weir__allocate_count();
    weir__allocate_fail_at(n);
    run(devices, flags);
    weir__allocate_fail_at(0);
    if (ledger_live() != live)
      fail_msg("allocation %llu failed: %lld leaked", (unsigned long long)n, (long long)(ledger_live() - live));
    if (ledger_threads(threads) != threads)
      fail_msg("allocation %llu failed: a thread was left", (unsigned long long)n);
    if (weir__allocate_count() - count >= n) continue;
    assert_int_equal(refusals, 0);
    assert_true(n > 20); // it did use memory
    return;
  }
}

static void on_the_cpu(void **state) {
  (void)state;
  fail_every_allocation("cpu:2", 0);
  fail_every_allocation("cpu:1", WEIR_CONTEXT_TRACE);
}

static void on_cuda(void **state) {
  (void)state;
  fail_every_allocation("cuda", 0);
  assert_int_equal(stub_live_count(), 0);
  if (stub_violations() > 0) fail_msg("%s", stub_violation_text());
}

int main(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  stub_configure(&(stub_options){.seed = 3});
  stub_register("twice", cuda_twice);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_cuda),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
