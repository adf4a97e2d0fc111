// SPDX-License-Identifier: Apache-2.0
//
// Random chains give what their stages give one after another, item by item: 1 to 6 stages on any devices, depths of 1 to 4, links
// that pass over stages, values and buffers of items, kernels that fail. Usage: PROGRAM CHAINS DEVICES...; WEIR_TEST_SEED sets
// other chains.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "random.h"
#include "rig.h"

enum { MOST_STAGES = 6, MOST_ITEMS = 24, MOST_LINKS = 2 * MOST_STAGES, MOST_ITEM_ARGS = 5 * MOST_STAGES, NONE = -1 };

// Where an input or output is: a link, an argument of the item, or (inputs) the fixed buffer, both NONE.
typedef struct port {
  int link, item_arg;
} port;

typedef struct stage_plan {
  port out[2], in[2];
  int value_arg; // NONE: the same for all
  uint32_t seed;
  int device; // NONE: any
  bool may_fail;
} stage_plan;

typedef struct plan {
  uint32_t stage_count, depth, in_flight, item_count, link_count, item_arg_count;
  stage_plan stages[MOST_STAGES];
  bool wraps; // outputs go to the caller's memory directly
  uint32_t window, fail_percent;
} plan;

// What an item is given, what should come out, and what does.
typedef struct item_record {
  uint32_t inputs[MOST_ITEM_ARGS][RIG_WORDS], expected[MOST_ITEM_ARGS][RIG_WORDS], found[MOST_ITEM_ARGS][RIG_WORDS];
  bool lost[MOST_ITEM_ARGS]; // nothing is said of the output
  rig_value values[MOST_STAGES];
  weir_status status;
  uint32_t failed_stage;
  weir_event *event;
  weir_buffer *wrapped[MOST_ITEM_ARGS];
} item_record;

static const char *devices;

static uint32_t pick_link(random_state *random, const bool *open, uint32_t count) {
  uint32_t start = random_below(random, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t link = (start + i) % count;
    if (open[link]) return link;
  }
  return UINT32_MAX;
}

static void plan_stage(plan *p, uint32_t index, bool *readable, random_state *random) {
  stage_plan *stage = &p->stages[index];
  for (int i = 0; i < 2; i++) {
    uint32_t link = random_chance(random, 75) ? pick_link(random, readable, p->link_count) : UINT32_MAX;
    stage->in[i] = (port){NONE, NONE};
    if (link != UINT32_MAX)
      stage->in[i].link = (int)link;
    else if (random_chance(random, 70))
      stage->in[i].item_arg = (int)p->item_arg_count++;
  }
  for (int i = 0; i < 2; i++) {
    stage->out[i] = (port){NONE, NONE};
    if (index + 1 < p->stage_count && random_chance(random, 75)) {
      stage->out[i].link = (int)p->link_count;
      readable[p->link_count++] = true;
    }
  }
  stage->value_arg = random_chance(random, 60) ? (int)p->item_arg_count++ : NONE;
  stage->seed = (uint32_t)random_next(random);
}

static bool link_is_read(const plan *p, int link) {
  for (uint32_t i = 0; i < p->stage_count; i++) {
    if (p->stages[i].in[0].link == link || p->stages[i].in[1].link == link) return true;
  }
  return false;
}

// Links that nobody reads become outputs of the items; the others get their numbers without gaps.
static void settle_links(plan *p) {
  int numbers[MOST_LINKS], count = 0;
  for (int link = 0; link < (int)p->link_count; link++) numbers[link] = link_is_read(p, link) ? count++ : NONE;
  p->link_count = (uint32_t)count;
  for (uint32_t i = 0; i < p->stage_count; i++) {
    stage_plan *stage = &p->stages[i];
    for (int k = 0; k < 2; k++) {
      if (stage->in[k].link != NONE) stage->in[k].link = numbers[stage->in[k].link];
      if (stage->out[k].link != NONE) stage->out[k].link = numbers[stage->out[k].link];
      if (stage->out[k].link == NONE) stage->out[k].item_arg = (int)p->item_arg_count++;
    }
  }
}

static void make_plan(plan *p, random_state *random, weir_context *context) {
  bool readable[MOST_LINKS] = {false};
  for (uint32_t i = 0; i < p->stage_count; i++) {
    plan_stage(p, i, readable, random);
    stage_plan *stage = &p->stages[i];
    uint32_t count = weir_context_device_count(context);
    stage->device = random_chance(random, 20) ? NONE : (int)random_below(random, count);
    const char *kind =
        weir_device_information(weir_context_device(context, stage->device == NONE ? 0 : (uint32_t)stage->device))
            ->kind;
    stage->may_fail = stage->value_arg != NONE && (strcmp(kind, "cpu") == 0 || strcmp(kind, "sim") == 0);
  }
  settle_links(p);
}

static weir_chain_arg arg_of(port where, bool writes, weir_buffer *fixed) {
  if (where.link != NONE)
    return writes ? weir_chain_writes((uint32_t)where.link) : weir_chain_reads((uint32_t)where.link);
  return where.item_arg != NONE ? weir_chain_item_arg((uint32_t)where.item_arg) : weir_chain_fixed(weir_reads(fixed));
}

static weir_chain *make_chain(const plan *p, weir_context *context, weir_kernel *kernel, weir_buffer *fixed) {
  weir_chain_arg args[MOST_STAGES][RIG_ARGS];
  weir_chain_stage stages[MOST_STAGES];
  uint64_t bytes[MOST_LINKS];
  for (uint32_t i = 0; i < p->link_count; i++) bytes[i] = RIG_BYTES;
  rig_value values[MOST_STAGES];
  for (uint32_t i = 0; i < p->stage_count; i++) {
    const stage_plan *stage = &p->stages[i];
    values[i] = (rig_value){.seed = stage->seed};
    for (int k = 0; k < 2; k++) {
      args[i][k] = arg_of(stage->out[k], true, NULL);
      args[i][2 + k] = arg_of(stage->in[k], false, fixed);
    }
    args[i][4] = stage->value_arg != NONE ? weir_chain_item_arg((uint32_t)stage->value_arg)
                                          : weir_chain_fixed(weir_value(&values[i], sizeof values[i]));
    stages[i] = (weir_chain_stage){.kernel = kernel,
                                   .groups = {RIG_WORDS, 1, 1},
                                   .args = args[i],
                                   .arg_count = RIG_ARGS,
                                   .label = i % 2 ? "odd" : NULL};
    if (stage->device != NONE) stages[i].device = weir_context_device(context, (uint32_t)stage->device);
  }
  weir_chain *chain = NULL;
  weir_chain_options options = {.stages = stages,
                                .stage_count = p->stage_count,
                                .link_bytes = bytes,
                                .link_count = p->link_count,
                                .depth = p->depth,
                                .in_flight = p->in_flight};
  rig_ok(weir_chain_create(context, &options, &chain));
  memset(args, 0xee, sizeof args); // nothing of this is needed any more
  memset(stages, 0xee, sizeof stages);
  memset(values, 0xee, sizeof values);
  return chain;
}

static const uint32_t fixed_words[RIG_WORDS] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5};

// What comes out of an item, by one stage after the other.
static void foresee(const plan *p, item_record *item, weir_chain_statistics *expected) {
  uint32_t links[MOST_LINKS][RIG_WORDS];
  bool poisoned[MOST_LINKS] = {false};
  item->status = WEIR_OK;
  for (uint32_t i = 0; i < p->stage_count; i++) {
    const stage_plan *stage = &p->stages[i];
    const uint32_t *in[2];
    bool skipped = false;
    for (int k = 0; k < 2; k++) {
      port from = stage->in[k];
      in[k] = from.link != NONE ? links[from.link] : from.item_arg != NONE ? item->inputs[from.item_arg] : fixed_words;
      skipped |= from.link != NONE && poisoned[from.link];
    }
    bool failed = !skipped && item->values[i].fails;
    uint32_t out[2][RIG_WORDS] = {{0}};
    if (!skipped && !failed) rig_reference(out[0], out[1], in[0], in[1], item->values[i].seed);
    for (int k = 0; k < 2; k++) {
      port to = stage->out[k];
      memcpy(to.link != NONE ? links[to.link] : item->expected[to.item_arg], out[k], RIG_BYTES);
      if (to.link != NONE)
        poisoned[to.link] = skipped || failed;
      else
        item->lost[to.item_arg] = skipped || failed;
    }
    weir_chain_stage_statistics *counts = &expected->stages[i];
    counts->done += !skipped && !failed;
    counts->failed += failed;
    counts->skipped += skipped;
    if (!failed || item->status != WEIR_OK) continue;
    item->status = WEIR_ERROR_TASK_FAILED;
    item->failed_stage = i;
  }
}

typedef struct run {
  const plan *plan;
  weir_context *context;
  weir_chain *chain;
  weir_buffer *buffers[MOST_ITEM_ARGS]; // shared by all items: renamed
} run;

static void submit_item(run *r, item_record *item, random_state *random, uint32_t number) {
  const plan *p = r->plan;
  weir_arg args[MOST_ITEM_ARGS];
  for (uint32_t i = 0; i < p->stage_count; i++) {
    const stage_plan *stage = &p->stages[i];
    if (stage->value_arg != NONE) {
      item->values[i] = (rig_value){.seed = (uint32_t)random_next(random)};
      item->values[i].fails = stage->may_fail && random_chance(random, p->fail_percent);
      args[stage->value_arg] = weir_value(&item->values[i], sizeof item->values[i]);
    } else {
      item->values[i] = (rig_value){.seed = stage->seed};
    }
    for (int k = 0; k < 2; k++) {
      int in = stage->in[k].item_arg, out = stage->out[k].item_arg;
      if (in != NONE) {
        for (int word = 0; word < RIG_WORDS; word++) item->inputs[in][word] = (uint32_t)random_next(random);
        rig_ok(weir_copy_in(r->buffers[in], 0, RIG_BYTES, item->inputs[in], NULL));
        args[in] = weir_reads(r->buffers[in]);
      }
      if (out == NONE) continue;
      if (p->wraps) rig_ok(weir_buffer_wrap(r->context, item->found[out], RIG_BYTES, &item->wrapped[out]));
      args[out] = weir_writes(p->wraps ? item->wrapped[out] : r->buffers[out]);
    }
  }
  weir_chain_item given = {.args = args, .arg_count = p->item_arg_count, .tag = number};
  rig_ok(weir_chain_submit(r->chain, &given, &item->event));
  for (uint32_t i = 0; i < p->stage_count && !p->wraps; i++) {
    for (int k = 0; k < 2; k++) {
      int out = p->stages[i].out[k].item_arg;
      if (out != NONE) rig_ok(weir_copy_out(r->buffers[out], 0, RIG_BYTES, item->found[out], NULL));
    }
  }
}

static void check_item(const plan *p, item_record *item, uint64_t seed, uint32_t number) {
  for (uint32_t i = 0; i < p->stage_count; i++) {
    for (int k = 0; k < 2; k++) {
      int out = p->stages[i].out[k].item_arg;
      if (out == NONE || item->lost[out]) continue;
      if (memcmp(item->found[out], item->expected[out], RIG_BYTES) != 0)
        fail_msg("%s, seed %llu: item %u, stage %u, output %d is wrong", devices, (unsigned long long)seed, number, i,
                 k);
    }
  }
  weir_status status = weir_event_poll(item->event);
  if (status != item->status)
    fail_msg("%s, seed %llu: item %u ended with %s: %s", devices, (unsigned long long)seed, number,
             weir_status_name(status), weir_event_message(item->event));
  char place[64];
  snprintf(place, sizeof place, "item %u of the chain, stage %u ", number, item->failed_stage);
  if (status != WEIR_OK) assert_non_null(strstr(weir_event_message(item->event), place));
  weir_event_release(item->event);
  for (uint32_t i = 0; i < MOST_ITEM_ARGS; i++) rig_ok(weir_buffer_release(item->wrapped[i]));
}

static void check_statistics(const plan *p, weir_chain *chain, const weir_chain_statistics *expected) {
  weir_chain_statistics found;
  rig_ok(weir_chain_get_statistics(chain, &found));
  assert_int_equal(found.stage_count, p->stage_count);
  assert_int_equal(found.submitted, p->item_count);
  assert_int_equal(found.done, p->item_count);
  assert_int_equal(found.in_flight, 0);
  assert_true(found.most_in_flight <= p->in_flight);
  for (uint32_t i = 0; i < p->stage_count; i++) {
    assert_int_equal(found.stages[i].done, expected->stages[i].done);
    assert_int_equal(found.stages[i].failed, expected->stages[i].failed);
    assert_int_equal(found.stages[i].skipped, expected->stages[i].skipped);
    assert_true(found.stages[i].end_ns >= found.stages[i].start_ns);
  }
}

static void run_chain(uint64_t seed) {
  static item_record items[MOST_ITEMS];
  random_state random = {seed};
  plan p = {.stage_count = random_between(&random, 1, MOST_STAGES),
            .depth = random_between(&random, 1, 4),
            .in_flight = random_between(&random, 1, 12),
            .item_count = random_between(&random, 1, MOST_ITEMS),
            .wraps = random_chance(&random, 30),
            .window = random_chance(&random, 30) ? 8 : 256,
            .fail_percent = random_chance(&random, 50) ? 0 : 15};
  weir_context_options options = {
      .devices = devices, .window = p.window, .seed = random_chance(&random, 50) ? seed : 0};
  if (random_chance(&random, 10)) options.flags |= WEIR_CONTEXT_IN_ORDER;
  if (random_chance(&random, 10)) options.flags |= WEIR_CONTEXT_NO_RENAME;
  if (random_chance(&random, 20)) options.memory_limit = 20000;
  run r = {.plan = &p};
  rig_ok(weir_context_create(&options, &r.context));
  weir_kernel *kernel = rig_kernel(r.context, "mix");
  make_plan(&p, &random, r.context);
  weir_buffer *fixed = NULL;
  rig_ok(weir_buffer_create(r.context, RIG_BYTES, &fixed));
  rig_ok(weir_copy_in(fixed, 0, RIG_BYTES, fixed_words, NULL));
  for (uint32_t i = 0; i < p.item_arg_count; i++) rig_ok(weir_buffer_create(r.context, RIG_BYTES, &r.buffers[i]));
  r.chain = make_chain(&p, r.context, kernel, fixed);
  weir_chain_statistics expected = {0};
  memset(items, 0, sizeof items);
  for (uint32_t i = 0; i < p.item_count; i++) {
    submit_item(&r, &items[i], &random, i);
    foresee(&p, &items[i], &expected);
    if (p.wraps && random_chance(&random, 20)) weir_event_wait(items[i].event, WEIR_FOREVER);
  }
  weir_status status = weir_finish(r.context);
  if (status != WEIR_OK && p.fail_percent == 0) fail_msg("seed %llu: %s", (unsigned long long)seed, weir_last_error());
  for (uint32_t i = 0; i < p.item_count; i++) check_item(&p, &items[i], seed, i);
  check_statistics(&p, r.chain, &expected);
  if (random_chance(&random, 80)) rig_ok(weir_chain_release(r.chain));
  weir_context_release(r.context);
}

static uint64_t chains;

static void chains_equal_serial_execution(void **state) {
  (void)state;
  const char *seed = getenv("WEIR_TEST_SEED");
  uint64_t first = seed != NULL ? strtoull(seed, NULL, 10) : 1;
  for (uint64_t i = 0; i < chains; i++) run_chain(first + i);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  chains = part_count((uint32_t)strtoull(argv[1], NULL, 10));
  const struct CMUnitTest tests[] = {cmocka_unit_test(chains_equal_serial_execution)};
  int failed = 0;
  for (int i = 2; i < argc; i++) {
    devices = argv[i];
    rig_need(devices);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  return failed;
}
