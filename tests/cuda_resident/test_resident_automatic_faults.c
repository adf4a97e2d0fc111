// SPDX-License-Identifier: Apache-2.0
//
// Contexts that use the resident kernel by themselves, on the stub driver: what is left when something cannot be had or fails.
#include <stdatomic.h>
#include <string.h>

#include "automatic.h"
#include "base/allocate.h"
#include "part.h"
#include "weir/graph.h"

enum { NO_MEMORY = 2, NOT_SUPPORTED = 801 };

// Everything that the thread needs, in turn. What fails for want of memory is not tried again before there is new code.
static void a_call_for_the_ring_fails(void **state) {
  (void)state;
  static const char *const calls[] = {
      "cuLinkCreate",      "cuLinkAddData",      "cuLinkComplete", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
      "cuModuleGetGlobal", "cuModuleLoadDataEx", "cuMemHostAlloc", "cuStreamCreateWithPriority"};
  for (uint32_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
    for (uint32_t waits = 0; waits < 2; waits++) {
      rig r;
      weir_context_options options = {.seed = automatic_seed(i, 2, false, waits == 1)};
      rig_begin_automatic(&r, i + 1, &options);
      automatic_run_single(&r, RIG_MIX, 2);
      stub_fail_nth(calls[i / 2], 1, i % 2 == 0 ? NOT_SUPPORTED : NO_MEMORY);
      automatic_run_single(&r, RIG_MIX, 1);
      if (waits == 1) assert_non_null(stub_failed());
      automatic_pass_thread(&r);
      automatic_run_single(&r, RIG_MIX, SINGLE);
      uint64_t resident = rig_resident_tasks(&r);
      if (waits == 1 && i % 2 == 1) assert_int_equal(resident, 0);
      assert_true(waits == 0 || resident == 0 || resident == SINGLE);
      rig_end(&r);
    }
  }
}

// Each allocation in turn, and the thread itself.
static void memory_for_the_ring_is_not_to_be_had(void **state) {
  (void)state;
  bool any = false, all = false;
  for (uint64_t n = 1; !all; n++) {
    rig r;
    weir_context_options options = {.seed = automatic_seed(0, 2, false, true)};
    rig_begin_automatic(&r, n, &options);
    automatic_run_single(&r, RIG_MIX, 2);
    uint64_t count = weir__allocate_count();
    weir__allocate_fail_at(n);
    automatic_run_single(&r, RIG_MIX, 1);
    weir__allocate_fail_at(0);
    all = weir__allocate_count() < count + n;
    automatic_pass_thread(&r);
    automatic_run_single(&r, RIG_MIX, SINGLE);
    uint64_t resident = rig_resident_tasks(&r);
    assert_true(resident == 0 || resident == SINGLE);
    if (resident == 0) any = true;
    if (all) assert_int_equal(resident, SINGLE);
    rig_end(&r);
  }
  assert_true(any);
}

// The kernel itself cannot be launched: what was published goes to queues, and all that follows.
static void the_kernel_cannot_be_launched(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i, 1, i % 2 == 1, true));
    rig_wait_until_idle();
    stub_fail_nth("cuLaunchKernel", 1, NO_MEMORY);
    automatic_run_single(&r, RIG_MIX, SINGLE);
    assert_non_null(stub_failed());
    random_state random = {i};
    automatic_submit_random(&r, &random, 50, 10, 10);
    assert_int_equal(rig_resident_tasks(&r), 1);
    rig_end(&r);
  }
}

static void expect_lost(weir_event *event) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  assert_true(status == WEIR_ERROR_DEVICE_LOST || status == WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(event);
}

static void a_task_faults(void **state) {
  (void)state;
  test_part some = part_of(2 * SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i / 2, i % 3, i % 4 == 3, true));
    if (i % 2 == 1) automatic_learn_loop(&r);
    weir_event *bad = NULL, *later = NULL, *behind = NULL;
    rig_submit(&r, RIG_BAD, 0, 1, 1, &bad);
    if (i % 4 == 1) weir_finish_for(r.context, 0); // launches it
    if (i % 2 == 1) automatic_submit_loop(&r);
    rig_submit(&r, RIG_MIX, 2, 0, 1, &later);
    rig_submit(&r, RIG_PLAIN, 3, 2, 1, &behind);
    assert_int_equal(weir_event_wait(bad, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
    weir_event_release(bad);
    expect_lost(later);
    expect_lost(behind);
    weir_finish(r.context);
    rig_release(&r);

    automatic_begin_with_ring(&r, i + 1, automatic_seed(i / 2, i % 3, i % 4 == 3, true)); // the next context works
    rig_end(&r);
  }
}

// The device is lost, or the context goes, while the thread is at work, or what it has made was not taken over.
static void the_context_ends_while_code_is_linked(void **state) {
  (void)state;
  test_part some = part_of(4 * SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    weir_context_options options = {.seed = automatic_seed(i / 2, 0, false, false)};
    rig_begin_automatic(&r, i + 1, &options);
    rig_submit(&r, RIG_MIX, 0, 1, 1, NULL);
    weir_finish_for(r.context, i % 3 * 100000);
    if (i % 2 == 0) rig_submit(&r, RIG_BAD, 0, 1, 1, NULL);
    if (i % 5 == 0) weir_context_cancel(r.context);
    rig_release(&r);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// A call fails somewhere: tasks and launches of graphs end as their predecessors did, and what is not poisoned is right.

enum { FAILING_TASKS = 120, FAILING_GRAPHS = 4, COPIES = RIG_KERNELS, GRAPHS, KINDS };

typedef struct submitted {
  uint32_t kind, to, from, value;
  weir_event *event;
} submitted;

static weir_graph *make_graph(rig *r, uint32_t to, uint32_t from) {
  weir_graph *graph = NULL;
  uint32_t value = 9;
  weir_arg args[] = {weir_updates(r->buffers[to]), weir_reads(r->buffers[from]), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = r->kernels[RIG_MIX], .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
  assert_int_equal(weir_graph_create(r->context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  return graph;
}

static void submit_one(rig *r, submitted *one, weir_graph *const graphs[FAILING_GRAPHS]) {
  weir_arg args[] = {weir_updates(r->buffers[one->to]), weir_reads(r->buffers[one->from]),
                     weir_value(&one->value, sizeof one->value)};
  weir_task task = {.kernel = one->kind < RIG_KERNELS ? r->kernels[one->kind] : NULL,
                    .args = args,
                    .arg_count = 3,
                    .groups = {RIG_GROUPS, 1, 1}};
  weir_status status = WEIR_OK;
  if (one->kind == GRAPHS)
    status = weir_graph_launch(graphs[one->to], &one->event);
  else if (one->kind == COPIES)
    status = weir_copy(r->buffers[one->to], 0, r->buffers[one->from], 0, RIG_WORDS * sizeof(uint32_t), &one->event);
  else
    status = weir_submit(r->context, &task, &one->event);
  if (status != WEIR_OK && stub_failed() == NULL) fail_msg("%s", weir_last_error());
}

// Returns how many failed by themselves.
static uint32_t follow(rig *r, const submitted *list, uint32_t count, bool poisoned[RIG_BUFFERS]) {
  uint32_t failed = 0;
  for (uint32_t i = 0; i < count; i++) {
    const submitted *one = &list[i];
    if (one->event == NULL) continue; // its graph could not be made
    bool reads_poison = poisoned[one->from] || (one->kind != COPIES && poisoned[one->to]);
    weir_status status = weir_event_wait(one->event, WEIR_FOREVER);
    weir_event_release(one->event);
    if ((status == WEIR_OK || status == WEIR_ERROR_UPSTREAM_FAILED) &&
        reads_poison != (status == WEIR_ERROR_UPSTREAM_FAILED))
      fail_msg("task %u, kind %u: status %d, %s poison", i, one->kind, (int)status,
               reads_poison ? "reads" : "reads no");
    if (status != WEIR_OK && status != WEIR_ERROR_UPSTREAM_FAILED) failed++;
    poisoned[one->to] = status != WEIR_OK;
    if (status != WEIR_OK) continue;
    if (one->kind == COPIES)
      memcpy(r->expected[one->to], r->expected[one->from], sizeof r->expected[one->to]);
    else
      rig_mix(r, one->to, one->from, one->value);
  }
  return failed;
}

static void compare_good(rig *r, const bool poisoned[RIG_BUFFERS]) {
  for (uint32_t i = 0; i < RIG_BUFFERS; i++) {
    uint32_t words[RIG_WORDS];
    weir_event *event = NULL;
    assert_int_equal(weir_copy_out(r->buffers[i], 0, sizeof words, words, &event), WEIR_OK);
    weir_status status = weir_event_wait(event, WEIR_FOREVER);
    weir_event_release(event);
    assert_int_equal(status, poisoned[i] ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK);
    if (!poisoned[i]) assert_memory_equal(words, r->expected[i], sizeof words);
  }
}

static void a_call_fails_among_tasks_of_all_kinds(void **state) {
  (void)state;
  static const char *const calls[] = {"cuLaunchKernel", "cuGraphLaunch",     "cuMemcpyAsync",
                                      "cuEventRecord",  "cuStreamWaitEvent", "cuGraphInstantiateWithFlags"};
  uint32_t failed = 0;
  test_part some = part_of(6 * SEEDS);
  atomic_store(&rig_gate, true);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i % 12, i % 5, i % 3 != 0, true));
    weir_graph *graphs[FAILING_GRAPHS];
    for (uint32_t j = 0; j < FAILING_GRAPHS; j++) graphs[j] = make_graph(&r, j, (j + 3) % RIG_BUFFERS);
    random_state random = {i + 1};
    submitted list[FAILING_TASKS] = {0};
    if (i % 7 != 0) stub_fail_nth(calls[i % 6], 1 + random_below(&random, 30), NO_MEMORY);
    for (uint32_t j = 0; j < FAILING_TASKS; j++) {
      submitted *one = &list[j];
      one->value = j;
      one->kind = random_chance(&random, 50) ? RIG_MIX : random_below(&random, KINDS);
      if (one->kind == RIG_BAD) one->kind = RIG_PLAIN;
      one->to = random_below(&random, one->kind == GRAPHS ? FAILING_GRAPHS : RIG_BUFFERS);
      one->from = (one->to + (one->kind == GRAPHS ? 3 : 1 + random_below(&random, RIG_BUFFERS - 1))) % RIG_BUFFERS;
      if (one->kind == GRAPHS) one->value = 9;
      submit_one(&r, one, graphs);
      if (random_chance(&random, 15)) weir_finish_for(r.context, 0); // launches it
    }
    if (i % 7 == 0) weir_context_cancel(r.context);
    (void)weir_finish(r.context);
    stub_fail_nth(NULL, 0, 0);
    bool poisoned[RIG_BUFFERS] = {false};
    failed += follow(&r, list, FAILING_TASKS, poisoned);
    compare_good(&r, poisoned);
    for (uint32_t j = 0; j < FAILING_GRAPHS; j++) weir_graph_release(graphs[j]);
    (void)weir_finish(r.context);
    rig_release(&r);
  }
  assert_true(failed > 0 || part_divisor() > 1); // the few that a part has may have none
}
int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_for_the_ring_fails),
      cmocka_unit_test(memory_for_the_ring_is_not_to_be_had),
      cmocka_unit_test(the_kernel_cannot_be_launched),
      cmocka_unit_test(a_task_faults),
      cmocka_unit_test(the_context_ends_while_code_is_linked),
      cmocka_unit_test(a_call_fails_among_tasks_of_all_kinds),
  };
  return cmocka_run_group_tests_name("resident issue: automatic, faults", tests, NULL, NULL);
}
