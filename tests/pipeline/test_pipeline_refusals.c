// SPDX-License-Identifier: Apache-2.0
//
// What can never be right is refused, with a text, and leaves nothing behind.
#include <string.h>

#include "rig.h"

static weir_status end_at_once(weir_token *token) {
  return weir_token_end_input(token);
}

static void refused(weir_context *context, const weir_pipeline_options *options, const char *text) {
  weir_pipeline *pipeline = (weir_pipeline *)&pipeline;
  assert_int_equal(weir_pipeline_create(context, options, &pipeline), WEIR_ERROR_INVALID_ARGUMENT);
  assert_null(pipeline);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' is not in '%s'", text, weir_last_error());
}

static void test_options(void **state) {
  (void)state;
  weir_context *context = rig_context("cpu:1", 0), *other = rig_context("cpu:1", 0);
  weir_stage stages[40];
  for (int i = 0; i < 40; i++) stages[i] = (weir_stage){.function = end_at_once, .name = "some"};
  weir_pipeline_options good = {.stages = stages, .stage_count = 2, .lines = 2}, bad;
  refused(NULL, &good, "context");
  refused(context, NULL, "options");
  assert_int_equal(weir_pipeline_create(context, &good, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  bad = good, bad.stages = NULL;
  refused(context, &bad, "stages");
  bad = good, bad.stage_count = 0;
  refused(context, &bad, "0 stages");
  bad = good, bad.stage_count = WEIR_PIPELINE_MOST_STAGES + 1;
  refused(context, &bad, "33 stages; 1 to 32");
  bad = good, bad.lines = 0;
  refused(context, &bad, "0 lines; 1 to 62");
  bad = good, bad.lines = WEIR_PIPELINE_MOST_LINES + 1;
  refused(context, &bad, "63 lines");
  bad = good, bad.threads = WEIR_PIPELINE_MOST_THREADS + 1;
  refused(context, &bad, "threads");
  bad = good, bad.flags = 1u << 20;
  refused(context, &bad, "flags 0x100000");
  stages[1].function = NULL;
  refused(context, &good, "stage 1 'some': it has no function");
  stages[1].function = end_at_once;
  stages[1].flags = 1u << 20;
  refused(context, &good, "stage 1 'some': its flags");
  stages[1].flags = 0;
  stages[0].flags = WEIR_STAGE_PARALLEL;
  refused(context, &good, "stage 0 'some': the first stage must be serial");
  stages[0].flags = 0;
  stages[0].device = weir_context_device(other, 0);
  refused(context, &good, "another context");
  weir_context_release(other);
  weir_context_release(context);
}

static uint32_t closed;

static weir_status open_three(void *user, uint32_t line, void **out_state) {
  (void)user, (void)out_state;
  return line == 3 ? WEIR_ERROR_IO : WEIR_OK;
}

static void count_closed(void *user, uint32_t line, void *state) {
  (void)user, (void)line, (void)state;
  closed++;
}

// What fails in it is a call of Weir's.
static weir_status open_two(void *user, uint32_t line, void **out_state) {
  (void)out_state;
  weir_buffer *buffer;
  return line == 2 ? weir_buffer_create(user, 0, &buffer) : WEIR_OK;
}

static void test_line_is_refused(void **state) {
  (void)state;
  closed = 0;
  weir_context *context = rig_context("cpu:1", 0);
  weir_stage stage = {.function = end_at_once};
  weir_pipeline *pipeline;
  weir_pipeline_options options = {
      .stages = &stage, .stage_count = 1, .lines = 5, .open_line = open_three, .close_line = count_closed};
  assert_int_equal(weir_pipeline_create(context, &options, &pipeline), WEIR_ERROR_IO);
  assert_null(pipeline);
  assert_int_equal(closed, 3);
  assert_non_null(strstr(weir_last_error(), "open_line of line 3: a file could not be read or written"));
  options.open_line = open_two;
  options.user = context;
  assert_int_equal(weir_pipeline_create(context, &options, &pipeline), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(closed, 5);
  assert_non_null(strstr(weir_last_error(), "open_line of line 2: buffer create: "));
  weir_context_release(context);
}

static void test_null(void **state) {
  (void)state;
  weir_pipeline_statistics statistics;
  assert_int_equal(weir_pipeline_start(NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_pipeline_wait(NULL, 0), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_pipeline_run(NULL, 0), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_pipeline_stop(NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_pipeline_cancel(NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_pipeline_get_statistics(NULL, &statistics), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_pipeline_release(NULL), WEIR_OK);
  assert_false(weir_pipeline_stopping(NULL));
  assert_int_equal(weir_token_await(NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_token_drop(NULL), WEIR_ERROR_INVALID_ARGUMENT);
}

// ---------------------------------------------------------------------------------------------------------------
// Within stages

static void expect(weir_status found, const char *text) {
  rig_check(found == WEIR_ERROR_INVALID_ARGUMENT);
  rig_check(strstr(weir_last_error(), text) != NULL);
}

static void do_nothing(const weir_work *work) {
  (void)work;
}

static weir_status misuse(weir_token *token) {
  weir_context *other = token->user;
  expect(weir_pipeline_wait(token->pipeline, 0), "from a stage of this pipeline");
  expect(weir_pipeline_run(token->pipeline, 0), "from a stage of this pipeline");
  expect(weir_pipeline_release(token->pipeline), "from a stage of this pipeline");
  expect(weir_pipeline_start(token->pipeline), "it runs");
  expect(weir_token_skip_to(token, token->stage), "skip to");
  expect(weir_token_skip_to(token, 3), "skip to");
  expect(weir_token_submit(token, NULL), "NULL");
  expect(weir_token_submit(token, &(weir_task){0}), "");
  expect(weir_token_await(token, NULL), "token await");
  weir_event *event;
  rig_check(weir_submit(other, &(weir_task){.host = do_nothing}, &event) == WEIR_OK);
  expect(weir_token_await(token, event), "context");
  weir_event_release(event);
  char bytes[16] = {0};
  weir_buffer *theirs;
  rig_check(weir_buffer_create(other, sizeof bytes, &theirs) == WEIR_OK);
  expect(weir_token_copy_in(token, theirs, 0, sizeof bytes, bytes), "another context");
  expect(weir_token_copy_out(token, theirs, 0, sizeof bytes, bytes), "another context");
  expect(weir_token_copy(token, theirs, 0, theirs, 8, 8), "another context");
  expect(weir_token_fill(token, theirs, 0, sizeof bytes, 0), "another context");
  rig_check(weir_buffer_release(theirs) == WEIR_OK);
  weir_token copy = *token;
  expect(weir_token_drop(&copy), "token drop");
  if (token->stage > 0) {
    expect(weir_token_end_input(token), "only the first");
    return WEIR_OK;
  }
  return token->number == 3 ? weir_token_end_input(token) : WEIR_OK;
}

static void misuse_in_delivery(weir_token *token) {
  expect(weir_token_drop(token), "token drop");
  expect(weir_token_fail(token, WEIR_ERROR_IO, "late"), "token fail");
  expect(weir_pipeline_wait(token->pipeline, 0), "from a stage of this pipeline");
}

static void test_within_stages(void **state) {
  (void)state;
  weir_context *context = rig_context("cpu:1", 0), *other = rig_context("cpu:1", 0);
  weir_stage stages[] = {{.function = misuse, .user = other}, {.function = misuse, .user = other}};
  weir_pipeline *pipeline = rig_pipeline(
      context, &(weir_pipeline_options){.stages = stages, .stage_count = 2, .lines = 2, .deliver = misuse_in_delivery});
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
  weir_context_release(other);
  rig_no_problems();
}

// A stage gives up a wait of its own, and says so in three ways.
static weir_status give_up(weir_token *token) {
  switch (token->number) {
  case 0:
    return WEIR_TIMEOUT;
  case 1:
    rig_check(weir_token_fail(token, WEIR_TIMEOUT, "too late") == WEIR_ERROR_TASK_FAILED);
    return WEIR_OK;
  case 2:
    return WEIR_PENDING;
  default:
    return weir_token_end_input(token);
  }
}

static void take_failed(weir_token *token) {
  rig_check(token->status == WEIR_ERROR_TASK_FAILED);
}

// Who waited took that for a time-out of the wait, waited again, and found no failure.
static void test_time_outs_of_stages(void **state) {
  (void)state;
  weir_context *context = rig_context("cpu:1", 0);
  weir_stage stage = {.function = give_up, .name = "some"};
  weir_pipeline *pipeline = rig_pipeline(
      context, &(weir_pipeline_options){.stages = &stage, .stage_count = 1, .lines = 1, .deliver = take_failed});
  assert_int_equal(weir_pipeline_run(pipeline, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(weir_last_error(), "token 0 on line 0 failed in stage 0 'some': "));
  assert_non_null(strstr(weir_last_error(), weir_status_text(WEIR_TIMEOUT)));
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
  rig_no_problems();
}

static void wait_in_task(const weir_work *work) {
  expect(weir_pipeline_wait(work->user, 0), "from a task or callback");
  expect(weir_pipeline_release(work->user), "from a task or callback");
}

static void test_within_tasks(void **state) {
  (void)state;
  weir_context *context = rig_context("cpu:1", 0);
  weir_stage stage = {.function = end_at_once};
  weir_pipeline *pipeline =
      rig_pipeline(context, &(weir_pipeline_options){.stages = &stage, .stage_count = 1, .lines = 1});
  rig_ok(weir_submit(context, &(weir_task){.host = wait_in_task, .user = pipeline}, NULL));
  rig_ok(weir_finish(context));
  weir_context_release(context);
  rig_no_problems();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options),      cmocka_unit_test(test_line_is_refused),
      cmocka_unit_test(test_null),         cmocka_unit_test(test_within_stages),
      cmocka_unit_test(test_within_tasks), cmocka_unit_test(test_time_outs_of_stages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
