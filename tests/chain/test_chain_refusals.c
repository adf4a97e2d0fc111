// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a chain or an item is refused, with a text that says where, and nothing has changed.
#include <string.h>

#include "gate.h"
#include "rig.h"

typedef struct scene {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *fixed;
  rig_value value;
  weir_chain_arg args[3][RIG_ARGS];
  weir_chain_stage stages[3];
  uint64_t bytes[2];
  weir_chain_options options;
} scene;

// Three stages that are all right: 0 and 1 write links, which 1 and 2 read; items have an input and two outputs.
static void open_scene(scene *s) {
  *s = (scene){.context = rig_open("cpu:1,cpu:1", 0, 0), .bytes = {RIG_BYTES, RIG_BYTES}};
  s->kernel = rig_kernel(s->context, "mix");
  rig_ok(weir_buffer_create(s->context, RIG_BYTES, &s->fixed));
  rig_ok(weir_fill(s->fixed, 0, RIG_BYTES, 3, NULL));
  const weir_chain_arg value = weir_chain_fixed(weir_value(&s->value, sizeof s->value));
  const weir_chain_arg fixed = weir_chain_fixed(weir_reads(s->fixed));
  const weir_chain_arg first[] = {weir_chain_writes(0), weir_chain_item_arg(1), weir_chain_item_arg(0), fixed, value};
  const weir_chain_arg second[] = {weir_chain_writes(1), weir_chain_item_arg(2), weir_chain_reads(0), fixed, value};
  const weir_chain_arg third[] = {weir_chain_item_arg(3), weir_chain_item_arg(4), weir_chain_reads(1),
                                  weir_chain_reads(0), value};
  memcpy(s->args[0], first, sizeof first);
  memcpy(s->args[1], second, sizeof second);
  memcpy(s->args[2], third, sizeof third);
  for (int i = 0; i < 3; i++)
    s->stages[i] =
        (weir_chain_stage){.kernel = s->kernel, .groups = {RIG_WORDS, 1, 1}, .args = s->args[i], .arg_count = RIG_ARGS};
  s->options = (weir_chain_options){.stages = s->stages, .stage_count = 3, .link_bytes = s->bytes, .link_count = 2};
}

static void close_scene(scene *s) {
  rig_ok(weir_finish(s->context));
  weir_context_release(s->context);
}

static void refused_text(scene *s, weir_status expected, const char *part) {
  weir_chain *chain = (weir_chain *)s;
  rig_refused(weir_chain_create(s->context, &s->options, &chain), expected, part);
  assert_null(chain);
}

static void numbers_out_of_range(void **state) {
  (void)state;
  scene s;
  weir_chain *chain = NULL;
  open_scene(&s);
  rig_refused(weir_chain_create(s.context, &s.options, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_chain is NULL");
  rig_refused(weir_chain_create(NULL, &s.options, &chain), WEIR_ERROR_INVALID_ARGUMENT, "the context is NULL");
  rig_refused(weir_chain_create(s.context, NULL, &chain), WEIR_ERROR_INVALID_ARGUMENT, "the options are NULL");
  s.options.stage_count = 0;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "0 stages; 1 to 32 are possible");
  s.options.stage_count = 33;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "33 stages; 1 to 32 are possible");
  s.options.stage_count = 3;
  s.options.stages = NULL;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "3 stages at NULL");
  s.options.stages = s.stages;
  s.options.depth = 1025;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "a depth of 1025; at most 1024");
  s.options.depth = 0;
  s.options.link_count = 257;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "257 links; at most 256");
  s.options.link_count = 2;
  s.options.link_bytes = NULL;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "2 links at NULL");
  s.options.link_bytes = s.bytes;
  s.bytes[1] = 0;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "link 1 has no bytes");
  s.bytes[1] = WEIR_WHOLE;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "link 1 has too many bytes");
  s.bytes[1] = RIG_BYTES;
  s.stages[1].arg_count = WEIR_MAX_ARGS + 1;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1 has 1025 arguments; at most 1024");
  s.stages[1].arg_count = 5;
  s.stages[1].args = NULL;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1 has 5 arguments at NULL");
  s.stages[1].args = s.args[1];
  rig_ok(weir_chain_create(s.context, &s.options, &chain));
  close_scene(&s);
}

static void stages_that_cannot_run(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  weir_context *other = rig_open("cpu:1", 0, 0);
  weir_kernel *bare = NULL;
  rig_ok(weir_kernel_create(s.context, "bare", &bare));
  s.stages[1].kernel = NULL;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1: it needs a kernel or a host function");
  s.stages[1].kernel = s.kernel;
  s.stages[1].host = gate_function;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1: it needs a kernel or a host function, and not both");
  s.stages[1].host = NULL;
  s.stages[1].device = weir_context_device(other, 0);
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1: the device belongs to another context");
  s.stages[1].device = NULL;
  s.stages[1].kernel = bare;
  refused_text(&s, WEIR_ERROR_NO_CODE, "stage 1: bare has no code for any device");
  s.stages[1].device = weir_context_device(s.context, 1);
  refused_text(&s, WEIR_ERROR_NO_CODE, "stage 1: bare has no code for device cpu:1");
  rig_ok(weir_kernel_release(bare));
  refused_text(&s, WEIR_ERROR_RELEASED, "stage 1: the kernel was released before");
  weir_context_release(other);
  close_scene(&s);
}

static void links_that_lead_nowhere(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  s.args[1][2] = weir_chain_reads(2);
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1, argument 2: link 2, of which there are 2");
  s.args[1][2] = weir_chain_reads(1);
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1, argument 2: link 1 is read, but no stage before writes it");
  s.args[1][2] = weir_chain_writes(0);
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1, argument 2: link 0 is written a second time");
  s.args[1][2] = (weir_chain_arg){.source = WEIR_CHAIN_LINK, .arg.mode = WEIR_READ_WRITE};
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1, argument 2: link 0 is neither read nor overwritten");
  s.args[1][2] = (weir_chain_arg){.source = (weir_chain_source)7};
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 1, argument 2: 7 is no source");
  s.args[1][2] = weir_chain_reads(0);
  s.args[2][2] = weir_chain_reads(0);
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "no stage reads link 1");
  s.args[2][2] = weir_chain_reads(1);
  s.options.link_count = 3;
  const uint64_t bytes[3] = {RIG_BYTES, RIG_BYTES, 1};
  s.options.link_bytes = bytes;
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "no stage writes link 2");
  s.options.link_bytes = s.bytes;
  s.options.link_count = 2;
  s.args[0][1] = weir_chain_item_arg(5);
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "no stage has argument 1 of the items, though 6 are used");
  s.args[0][1] = weir_chain_item_arg(1024);
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 0, argument 1: number 1024 of an item's arguments");
  close_scene(&s);
}

static void fixed_arguments(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  s.stages[2].label = "last";
  s.args[2][2] = weir_chain_fixed(weir_reads_range(s.fixed, 4, RIG_BYTES));
  s.args[1][3] = weir_chain_reads(0);
  s.args[2][3] = weir_chain_reads(1);
  refused_text(&s, WEIR_ERROR_OUT_OF_RANGE, "stage 2: task 'last' (tag 0), argument 2: 64 bytes from byte 4 on leave");
  s.args[2][2] = weir_chain_fixed(weir_value(NULL, 4));
  refused_text(&s, WEIR_ERROR_INVALID_ARGUMENT, "stage 2: task 'last' (tag 0), argument 2: a value has");
  s.args[2][2] = weir_chain_fixed(weir_reads(s.fixed));
  rig_ok(weir_buffer_release(s.fixed));
  refused_text(&s, WEIR_ERROR_RELEASED, "stage 0: task 'mix' (tag 0), argument 3: the buffer was released");
  close_scene(&s);
}

static void items(void **state) {
  (void)state;
  scene s;
  weir_chain *chain = NULL;
  weir_buffer *in = NULL, *outs[4] = {NULL};
  weir_event *event = NULL;
  open_scene(&s);
  rig_ok(weir_chain_create(s.context, &s.options, &chain));
  rig_ok(weir_buffer_create(s.context, RIG_BYTES, &in));
  rig_ok(weir_fill(in, 0, RIG_BYTES, 1, NULL));
  for (int i = 0; i < 4; i++) rig_ok(weir_buffer_create(s.context, RIG_BYTES, &outs[i]));
  weir_arg args[5] = {weir_reads(in), weir_writes(outs[0]), weir_writes(outs[1]), weir_writes(outs[2]),
                      weir_writes(outs[3])};
  weir_chain_item item = {.args = args, .arg_count = 5, .tag = 9};
  rig_refused(weir_chain_submit(NULL, &item, &event), WEIR_ERROR_INVALID_ARGUMENT, "the chain is NULL");
  rig_refused(weir_chain_submit((weir_chain *)in, &item, &event), WEIR_ERROR_INVALID_ARGUMENT, "not a chain");
  rig_refused(weir_chain_submit(chain, NULL, &event), WEIR_ERROR_INVALID_ARGUMENT,
              "an item with 0 arguments; the stages use 5");
  item.args = NULL;
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_INVALID_ARGUMENT, "args is NULL");
  item.args = args;
  item.after_count = 1;
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_INVALID_ARGUMENT, "after is NULL");
  item.after = &event;
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_INVALID_ARGUMENT,
              "item 0, stage 0: task 'mix' (tag 9)");
  item.after_count = 0;
  args[4] = weir_writes(outs[2]);
  args[4].offset = 1;
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_INVALID_ARGUMENT,
              "item 0, stage 2: task 'mix' (tag 9): two arguments overlap");
  args[4] = weir_writes_range(outs[3], 0, RIG_BYTES + 1);
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_OUT_OF_RANGE,
              "item 0, stage 2: task 'mix' (tag 9), argument 1");
  args[4] = weir_writes(outs[3]);
  weir_buffer_release(outs[1]);
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_RELEASED, "item 0, stage 1: ");
  assert_null(event);
  args[2] = weir_writes(s.fixed); // which the stage reads
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_INVALID_ARGUMENT, "item 0, stage 1: ");
  rig_ok(weir_buffer_create(s.context, RIG_BYTES, &outs[1]));
  args[2] = weir_writes(outs[1]);
  weir_chain_statistics statistics;
  rig_ok(weir_chain_get_statistics(chain, &statistics));
  assert_int_equal(statistics.submitted, 0);
  weir_statistics all;
  weir_context_statistics(s.context, &all);
  assert_int_equal(all.tasks, 2); // the fills
  rig_ok(weir_chain_submit(chain, &item, &event));
  rig_ok(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  rig_ok(weir_kernel_release(s.kernel));
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_RELEASED, "item 1, stage 0: ");
  rig_ok(weir_chain_release(NULL));
  rig_ok(weir_chain_release(chain));
  rig_refused(weir_chain_release(chain), WEIR_ERROR_RELEASED, "the chain was released before");
  rig_refused(weir_chain_submit(chain, &item, &event), WEIR_ERROR_RELEASED, "the chain was released before");
  rig_refused(weir_chain_get_statistics(chain, &statistics), WEIR_ERROR_RELEASED, "the chain was released before");
  rig_refused(weir_chain_get_statistics(chain, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_statistics is NULL");
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_out_of_range), cmocka_unit_test(stages_that_cannot_run),
                                     cmocka_unit_test(links_that_lead_nowhere), cmocka_unit_test(fixed_arguments),
                                     cmocka_unit_test(items)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
