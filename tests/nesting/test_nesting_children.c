// SPDX-License-Identifier: Apache-2.0
//
// A task submits more tasks than the window has room for: by recursion and in one go, with all that a submission can have.
#include <stdio.h>

#include "nesting.h"
#include "weir/batch.h"
#include "weir/box.h"
#include "weir/graph.h"

enum { MANY = 3000, FIBONACCI = 15, FIBONACCI_CALLS = 1973, SORTED = 4096, FEW = 32 };

static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:5", "sim:ideal,cpu:1"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

typedef struct shared {
  weir_context *context;
  weir_buffer *buffer;
  atomic_uint count, refused, wrong, destroyed;
  gate door;
} shared;

static void accept(shared *self, weir_status status) {
  if (status != WEIR_OK && atomic_fetch_add(&self->refused, 1) == 0)
    fprintf(stderr, "refused: %s\n", weir_last_error());
}

// ---------------------------------------------------------------------------------------------------------------

static void fibonacci(const weir_work *work) {
  shared *self = work->user;
  uint32_t n;
  memcpy(&n, work->args[0], sizeof n);
  atomic_fetch_add(&self->count, 1);
  for (uint32_t i = 1; i <= 2 && n >= 2; i++) {
    uint32_t less = n - i;
    weir_arg arg = weir_value(&less, sizeof less);
    weir_task task = {.host = fibonacci, .user = self, .args = &arg, .arg_count = 1};
    accept(self, weir_submit(self->context, &task, NULL));
    less = 99; // the task has a copy
  }
}

static void recursion_has_no_depth_nor_breadth(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    shared self = {.context = nesting_context(devices[i], 0)};
    uint32_t n = FIBONACCI;
    weir_arg arg = weir_value(&n, sizeof n);
    weir_task task = {.host = fibonacci, .user = &self, .args = &arg, .arg_count = 1};
    assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.count), FIBONACCI_CALLS);
    assert_int_equal(atomic_load(&self.refused), 0);
    weir_statistics statistics;
    weir_context_statistics(self.context, &statistics);
    assert_int_equal(statistics.tasks, FIBONACCI_CALLS);
    assert_int_equal(statistics.done, FIBONACCI_CALLS);
    weir_context_release(self.context);
  }
}

static void sort(const weir_work *work) {
  shared *self = work->user;
  uint32_t *numbers = work->args[0], count, at = 0;
  uint64_t offset;
  memcpy(&count, work->args[1], sizeof count);
  memcpy(&offset, work->args[2], sizeof offset);
  for (uint32_t i = 0; i + 1 < count; i++) {
    if (numbers[i] >= numbers[count - 1]) continue;
    uint32_t number = numbers[i];
    numbers[i] = numbers[at];
    numbers[at++] = number;
  }
  uint32_t pivot = numbers[count - 1];
  numbers[count - 1] = numbers[at];
  numbers[at] = pivot;
  for (int side = 0; side < 2; side++) {
    uint32_t part = side == 0 ? at : count - 1 - at;
    uint64_t first = offset + (side == 0 ? 0 : (at + 1) * sizeof pivot);
    if (part < 2) continue;
    weir_arg args[] = {weir_updates_range(self->buffer, first, part * sizeof pivot), weir_value(&part, sizeof part),
                       weir_value(&first, sizeof first)};
    accept(self,
           weir_submit(self->context, &(weir_task){.host = sort, .user = self, .args = args, .arg_count = 3}, NULL));
  }
}

// Each part is a range of what the parent has, which it comes after.
static void children_on_parts_of_their_parent_sort(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    shared self = {.context = nesting_context(devices[i], 0)};
    uint32_t numbers[SORTED], count = SORTED;
    uint64_t first = 0;
    for (uint32_t j = 0; j < SORTED; j++) numbers[j] = j * 2654435761u % 100003;
    assert_int_equal(weir_buffer_create(self.context, sizeof numbers, &self.buffer), WEIR_OK);
    assert_int_equal(weir_copy_in(self.buffer, 0, WEIR_WHOLE, numbers, NULL), WEIR_OK);
    weir_arg args[] = {weir_updates(self.buffer), weir_value(&count, sizeof count), weir_value(&first, sizeof first)};
    weir_task task = {.host = sort, .user = &self, .args = args, .arg_count = 3};
    assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(weir_read(self.buffer, 0, WEIR_WHOLE, numbers), WEIR_OK);
    for (uint32_t j = 1; j < SORTED; j++) assert_true(numbers[j - 1] <= numbers[j]);
    weir_context_release(self.context);
  }
}

// ---------------------------------------------------------------------------------------------------------------

static void append(const weir_work *work) {
  shared *self = work->user;
  uint64_t *numbers = work->args[0], number;
  memcpy(&number, work->args[1], sizeof number);
  if (numbers[0] != number) atomic_fetch_add(&self->wrong, 1);
  numbers[0]++;
}

static void expect_order(void *user, weir_status status) {
  shared *self = user;
  accept(self, status);
  atomic_fetch_add(&self->count, 1);
}

static void free_copy(void *user) {
  shared *self = user;
  atomic_fetch_add(&self->destroyed, 1);
}

// Children with what they need in memory of the call's; an event each, which the next one comes after; all released at once.
static void submit_many(const weir_work *work) {
  shared *self = work->user;
  weir_kernel *kernel = NULL;
  weir_event *before = NULL;
  accept(self, weir_kernel_create(self->context, "append", &kernel));
  accept(self, weir_kernel_set_cpu(kernel, append));
  for (uint64_t i = 0; i < MANY; i++) {
    char label[] = "child";
    uint64_t number = i + 1;
    weir_arg args[] = {weir_updates(self->buffer), weir_value(&number, sizeof number)};
    weir_event *event = NULL;
    weir_task task = {.kernel = kernel,
                      .user = self,
                      .args = args,
                      .arg_count = 2,
                      .label = label,
                      .tag = i,
                      .after = &before,
                      .after_count = before != NULL,
                      .destroy = free_copy};
    accept(self, weir_submit(self->context, &task, &event));
    memset(args, 0xee, sizeof args);
    memset(label, 'x', sizeof label);
    if (before != NULL) weir_event_release(before);
    if (i % 3 == 0) accept(self, weir_event_on_done(event, expect_order, self));
    before = event;
  }
  if (weir_event_poll(before) != WEIR_PENDING) atomic_fetch_add(&self->wrong, 1);
  weir_event_release(before);
  weir_kernel_release(kernel);
  weir_buffer_release(self->buffer);
  uint64_t *numbers = work->args[0];
  numbers[0] = 1; // the children conflict with this task: they run after it
}

static void many_children_of_one_task(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    shared self = {.context = nesting_context(devices[i], i == 1 ? WEIR_CONTEXT_IN_ORDER : 0)};
    uint64_t numbers[4] = {0};
    assert_int_equal(weir_buffer_wrap(self.context, numbers, sizeof numbers, &self.buffer), WEIR_OK);
    weir_arg arg = weir_updates(self.buffer);
    weir_task task = {.host = submit_many, .user = &self, .args = &arg, .arg_count = 1};
    assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(numbers[0], MANY + 1);
    assert_int_equal(atomic_load(&self.count), MANY / 3);
    assert_int_equal(atomic_load(&self.destroyed), MANY);
    weir_context_release(self.context);
  }
}

// ---------------------------------------------------------------------------------------------------------------

static void fill_number(const weir_work *work) {
  *(uint64_t *)work->args[0] = *(const uint64_t *)work->args[1];
}

static void add_number(const weir_work *work) {
  shared *self = work->user;
  if (*(const uint64_t *)work->args[0] < FEW) atomic_fetch_add(&self->count, 1);
}

// A buffer for each two children, of which the context's memory has room for a few.
static void use_much_memory(const weir_work *work) {
  shared *self = work->user;
  for (uint64_t i = 0; i < FEW; i++) {
    weir_buffer *buffer = NULL;
    accept(self, weir_buffer_create(self->context, 65536, &buffer));
    weir_arg to[] = {weir_writes_range(buffer, 0, 8), weir_value(&i, sizeof i)}, from = weir_reads_range(buffer, 0, 8);
    accept(self, weir_submit(self->context, &(weir_task){.host = fill_number, .args = to, .arg_count = 2}, NULL));
    accept(self, weir_submit(self->context,
                             &(weir_task){.host = add_number, .user = self, .args = &from, .arg_count = 1}, NULL));
    weir_buffer_release(buffer);
  }
}

static void children_wait_for_memory(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    shared self = {0};
    weir_context_options options = {.devices = devices[i], .window = 1024, .memory_limit = 150000};
    assert_int_equal(weir_context_create(&options, &self.context), WEIR_OK);
    assert_int_equal(nesting_submit(self.context, use_much_memory, &self, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(atomic_load(&self.count), FEW);
    weir_context_release(self.context);
  }
}

static void submit_too_large(const weir_work *work) {
  shared *self = work->user;
  weir_buffer *buffer = NULL;
  accept(self, weir_buffer_create(self->context, 1 << 20, &buffer));
  weir_arg to[] = {weir_writes(buffer), weir_value("12345678", 8)};
  weir_task task = {.host = fill_number, .args = to, .arg_count = 2, .label = "large"};
  weir_status status = weir_submit(self->context, &task, NULL);
  if (status != WEIR_ERROR_OUT_OF_MEMORY || strstr(weir_last_error(), "large") == NULL)
    atomic_fetch_add(&self->wrong, 1);
  weir_buffer_release(buffer);
}

// More than the limit even when all else is idle: refused at once, not queued.
static void child_that_never_fits_is_refused(void **state) {
  (void)state;
  shared self = {0};
  weir_context_options options = {.devices = "cpu:2", .memory_limit = 150000};
  assert_int_equal(weir_context_create(&options, &self.context), WEIR_OK);
  assert_int_equal(nesting_submit(self.context, submit_too_large, &self, NULL), WEIR_OK);
  weir_status status = weir_finish(self.context);
  assert_true(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY);
  assert_int_equal(atomic_load(&self.wrong), 0);
  weir_context_release(self.context);
}

static void submit_without_room(const weir_work *work) {
  shared *self = work->user;
  weir_buffer *large = NULL;
  accept(self, weir_buffer_create(self->context, 100000, &large));
  weir_arg args[] = {weir_updates(self->buffer), weir_value("12345678", 8), weir_writes(large)};
  accept(self, weir_submit(self->context, &(weir_task){.host = fill_number, .args = args, .arg_count = 3}, NULL));
  weir_buffer_release(large);
}

// It is queued, and fails when it still finds no room though nothing is in flight. What reads its results is skipped, by
// whichever way it comes.
static void results_of_a_child_without_memory_are_missing(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    shared self = {0};
    weir_context_options options = {.devices = "cpu:2", .memory_limit = 150000};
    if (i == 3) options.flags = WEIR_CONTEXT_TRACE;
    assert_int_equal(weir_context_create(&options, &self.context), WEIR_OK);
    weir_buffer *kept;
    assert_int_equal(weir_buffer_create(self.context, 100000, &kept), WEIR_OK);
    assert_int_equal(weir_fill(kept, 0, WEIR_WHOLE, 7, NULL), WEIR_OK);
    assert_int_equal(weir_buffer_create(self.context, 64, &self.buffer), WEIR_OK);
    assert_int_equal(weir_fill(self.buffer, 0, WEIR_WHOLE, 0, NULL), WEIR_OK);
    assert_int_equal(nesting_submit(self.context, submit_without_room, &self, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_ERROR_OUT_OF_MEMORY);
    weir_arg from = i == 1 ? weir_reads_range(self.buffer, 0, 8) : weir_reads(self.buffer);
    weir_task task = {.host = add_number, .user = &self, .args = &from, .arg_count = 1};
    if (i == 2) {
      weir_prepared *prepared;
      assert_int_equal(weir_prepare(self.context, &task, &prepared), WEIR_OK);
      assert_int_equal(weir_prepared_submit(prepared, &self.buffer, NULL, NULL), WEIR_OK);
    } else {
      assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    }
    assert_int_equal(weir_finish(self.context), WEIR_ERROR_UPSTREAM_FAILED);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(atomic_load(&self.count), 0);
    weir_context_release(self.context);
  }
}

// ---------------------------------------------------------------------------------------------------------------

enum { SIDE = 32, TILE = 4 };

static void write_tile(const weir_work *work) {
  uint32_t *tile = work->args[0], number = *(const uint32_t *)work->args[1];
  for (uint32_t i = 0; i < TILE; i++) {
    for (uint32_t j = 0; j < TILE; j++) tile[i * SIDE + j] = number;
  }
}

// Tiles of a matrix; the form of each is in memory of the call's.
static void write_tiles(const weir_work *work) {
  shared *self = work->user;
  for (uint32_t i = 0; i < SIDE * SIDE; i += TILE) {
    if (i / SIDE % TILE != 0) continue;
    weir_box box = {.width = TILE * sizeof i, .pitch = SIDE * sizeof i, .rows = TILE};
    weir_arg args[] = {weir_writes_box(self->buffer, i * sizeof i, &box), weir_value(&i, sizeof i)};
    accept(self, weir_submit(self->context, &(weir_task){.host = write_tile, .args = args, .arg_count = 2}, NULL));
    memset(&box, 0xee, sizeof box);
  }
}

static void children_have_boxes(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    shared self = {.context = nesting_context(devices[i], 0)};
    uint32_t numbers[SIDE * SIDE];
    assert_int_equal(weir_buffer_create(self.context, sizeof numbers, &self.buffer), WEIR_OK);
    assert_int_equal(weir_fill(self.buffer, 0, WEIR_WHOLE, 7, NULL), WEIR_OK);
    assert_int_equal(nesting_submit(self.context, write_tiles, &self, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(weir_read(self.buffer, 0, WEIR_WHOLE, numbers), WEIR_OK);
    for (uint32_t j = 0; j < SIDE * SIDE; j++)
      assert_int_equal(numbers[j], j / SIDE / TILE * TILE * SIDE + j % SIDE / TILE * TILE);
    weir_context_release(self.context);
  }
}

// ---------------------------------------------------------------------------------------------------------------

static void fill_queue(const weir_work *work) {
  shared *self = work->user;
  static const char value[4096];
  weir_arg args[64];
  for (int i = 0; i < 64; i++) args[i] = weir_value(value, sizeof value);
  weir_task task = {.host = nesting_count, .user = &self->count, .args = args, .arg_count = 64, .label = "heavy"};
  weir_status status = WEIR_OK;
  uint32_t accepted = 0;
  while (accepted < 2000 && (status = weir_submit(self->context, &task, NULL)) == WEIR_OK) accepted++;
  if (status != WEIR_ERROR_OUT_OF_MEMORY || strstr(weir_last_error(), "task 'heavy'") == NULL ||
      strstr(weir_last_error(), "256 MiB") == NULL)
    atomic_fetch_add(&self->wrong, 1);
  atomic_store(&self->destroyed, accepted);
}

static void the_queue_is_bounded(void **state) {
  (void)state;
  shared self = {.context = nesting_context("cpu:2", 0)};
  assert_int_equal(nesting_submit(self.context, fill_queue, &self, NULL), WEIR_OK);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  assert_int_equal(atomic_load(&self.wrong), 0);
  assert_true(atomic_load(&self.count) > 900);
  assert_int_equal(atomic_load(&self.count), atomic_load(&self.destroyed));
  weir_context_release(self.context);
}

// ---------------------------------------------------------------------------------------------------------------

static void refused_calls(const weir_work *work) {
  shared *self = work->user;
  weir_event *event = NULL;
  uint64_t number;
  for (uint32_t i = 0; i < FEW; i++) accept(self, nesting_submit(self->context, nesting_count, &self->count, NULL));
  accept(self, nesting_submit(self->context, nesting_count, &self->count, &event));
  weir_arg bad = weir_updates_range(self->buffer, 0, 1000);
  weir_task task = {.host = nesting_count, .args = &bad, .arg_count = 1};
  if (weir_event_wait(event, WEIR_FOREVER) != WEIR_ERROR_INVALID_ARGUMENT) atomic_fetch_add(&self->wrong, 1);
  if (weir_finish(self->context) != WEIR_ERROR_INVALID_ARGUMENT) atomic_fetch_add(&self->wrong, 1);
  if (weir_read(self->buffer, 0, 8, &number) != WEIR_ERROR_INVALID_ARGUMENT) atomic_fetch_add(&self->wrong, 1);
  if (weir_submit(self->context, &task, NULL) != WEIR_ERROR_OUT_OF_RANGE) atomic_fetch_add(&self->wrong, 1);
  if (weir_copy(self->buffer, 0, self->buffer, 0, 8, NULL) != WEIR_ERROR_INVALID_ARGUMENT)
    atomic_fetch_add(&self->wrong, 1);
  weir_event_release(event);
}

// A call with a queue before it is refused where it would be refused without.
static void wrong_calls_are_refused_at_once(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    shared self = {.context = nesting_context(devices[i], 0)};
    assert_int_equal(weir_buffer_create(self.context, 64, &self.buffer), WEIR_OK);
    assert_int_equal(weir_fill(self.buffer, 0, WEIR_WHOLE, 0, NULL), WEIR_OK);
    assert_int_equal(nesting_submit(self.context, refused_calls, &self, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(atomic_load(&self.count), FEW + 1);
    weir_context_release(self.context);
  }
}

// ---------------------------------------------------------------------------------------------------------------

typedef struct launches {
  weir_context *context;
  weir_graph *graph;
  weir_buffer *buffer;
  atomic_uint refused, wrong, callbacks;
} launches;

static void add_one(const weir_work *work) {
  *(uint64_t *)work->args[0] += 1;
}

static void count_launch(void *user, weir_status status) {
  launches *self = user;
  if (status != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
  atomic_fetch_add(&self->callbacks, 1);
}

// Launches of a graph that is released at once, with tasks on the same buffer in between.
static void launch_many(const weir_work *work) {
  launches *self = work->user;
  weir_arg updates = weir_updates(self->buffer);
  weir_task task = {.host = add_one, .args = &updates, .arg_count = 1};
  for (int i = 0; i < FEW; i++) {
    weir_event *event = NULL;
    if (weir_graph_launch(self->graph, &event) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
    if (weir_event_on_done(event, count_launch, self) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
    weir_event_release(event);
    if (weir_submit(self->context, &task, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
  }
  weir_graph_info info;
  if (weir_graph_information(self->graph, &info) != WEIR_OK || info.running == 0) atomic_fetch_add(&self->wrong, 1);
  if (weir_graph_clear(self->graph) != WEIR_ERROR_OUT_OF_MEMORY) atomic_fetch_add(&self->wrong, 1);
  if (weir_graph_release(self->graph) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
  if (weir_buffer_release(self->buffer) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
}

static void launches_of_graphs_queue(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    launches self = {.context = nesting_context(devices[i], 0)};
    uint64_t numbers[2] = {0};
    weir_kernel *kernel;
    assert_int_equal(weir_buffer_wrap(self.context, numbers, sizeof numbers, &self.buffer), WEIR_OK);
    assert_int_equal(weir_kernel_create(self.context, "add one", &kernel), WEIR_OK);
    assert_int_equal(weir_kernel_set_cpu(kernel, add_one), WEIR_OK);
    weir_arg updates = weir_updates(self.buffer);
    weir_task task = {.host = add_one, .args = &updates, .arg_count = 1};
    assert_int_equal(weir_graph_create(self.context, NULL, &self.graph), WEIR_OK);
    for (int j = 0; j < 3; j++) assert_int_equal(weir_graph_add(self.graph, &task, NULL), WEIR_OK);
    assert_int_equal(weir_submit(self.context, &(weir_task){.host = launch_many, .user = &self}, NULL), WEIR_OK);
    assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(atomic_load(&self.callbacks), FEW);
    assert_int_equal(numbers[0], 4 * FEW);
    weir_context_release(self.context);
  }
}

static void launch_and_wait(const weir_work *work) {
  launches *self = work->user;
  for (int i = 0; i < FEW; i++) {
    if (weir_graph_launch(self->graph, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
  }
}

// A change from outside waits for what is queued, which it does not affect.
static void a_change_comes_after_queued_launches(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    launches self = {.context = nesting_context(devices[i], 0)};
    uint64_t numbers[2] = {0}, others[2] = {0};
    weir_buffer *other;
    weir_event *event;
    assert_int_equal(weir_buffer_wrap(self.context, numbers, sizeof numbers, &self.buffer), WEIR_OK);
    assert_int_equal(weir_buffer_wrap(self.context, others, sizeof others, &other), WEIR_OK);
    weir_arg updates = weir_updates(self.buffer);
    weir_task task = {.host = add_one, .args = &updates, .arg_count = 1};
    assert_int_equal(weir_graph_create(self.context, NULL, &self.graph), WEIR_OK);
    assert_int_equal(weir_graph_add(self.graph, &task, NULL), WEIR_OK);
    assert_int_equal(weir_submit(self.context, &(weir_task){.host = launch_and_wait, .user = &self}, &event), WEIR_OK);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
    weir_event_release(event);
    assert_int_equal(weir_graph_replace_buffer(self.graph, self.buffer, other), WEIR_OK);
    assert_int_equal(weir_graph_launch(self.graph, NULL), WEIR_OK);
    assert_int_equal(weir_graph_wait(self.graph, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.refused), 0);
    assert_int_equal(numbers[0], FEW);
    assert_int_equal(others[0], 1);
    weir_context_release(self.context);
  }
}

// ---------------------------------------------------------------------------------------------------------------

static void submit_and_wait(const weir_work *work) {
  shared *self = work->user;
  for (uint32_t i = 0; i < FEW; i++) accept(self, nesting_submit(self->context, nesting_count, &self->count, NULL));
  gate_function(&(weir_work){.user = &self->door});
}

// Queued children are skipped; the one that runs goes on.
static void cancel_skips_what_is_queued(void **state) {
  (void)state;
  shared self = {.context = nesting_context("cpu:1", 0)};
  assert_int_equal(nesting_submit(self.context, submit_and_wait, &self, NULL), WEIR_OK);
  gate_await(&self.door, 1);
  weir_context_cancel(self.context);
  gate_open(&self.door);
  assert_int_equal(weir_finish(self.context), WEIR_ERROR_CANCELLED);
  assert_int_equal(atomic_load(&self.count), 0);
  assert_int_equal(nesting_submit(self.context, nesting_count, &self.count, NULL), WEIR_OK);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  assert_int_equal(atomic_load(&self.count), 1);
  weir_context_release(self.context);
}

static void release_waits_for_what_is_queued(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    shared self = {.context = nesting_context(devices[i], 0)};
    atomic_store(&self.door.open, true);
    assert_int_equal(nesting_submit(self.context, submit_and_wait, &self, NULL), WEIR_OK);
    weir_context_release(self.context);
    assert_int_equal(atomic_load(&self.count), FEW);
  }
}

// A task of the caller's own thread that is submitted while children are queued comes after these.
static void later_submissions_come_after_the_queue(void **state) {
  (void)state;
  shared self = {.context = nesting_context("cpu:2", 0)};
  uint64_t numbers[4] = {0};
  assert_int_equal(weir_buffer_wrap(self.context, numbers, sizeof numbers, &self.buffer), WEIR_OK);
  weir_buffer *same = self.buffer;
  weir_arg arg = weir_updates(same);
  weir_event *event;
  weir_task task = {.host = submit_many, .user = &self, .args = &arg, .arg_count = 1};
  assert_int_equal(weir_submit(self.context, &task, &event), WEIR_OK);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
  weir_event_release(event);
  // All children have been submitted, so this comes last.
  uint64_t seen = atomic_load(&self.destroyed);
  assert_int_equal(nesting_submit(self.context, nesting_count, &self.count, &event), WEIR_OK);
  weir_statistics statistics;
  weir_context_statistics(self.context, &statistics);
  assert_true(statistics.tasks == MANY + 2);
  assert_true(seen <= MANY);
  weir_event_release(event);
  weir_context_release(self.context);
  assert_int_equal(numbers[0], MANY + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recursion_has_no_depth_nor_breadth),
      cmocka_unit_test(children_on_parts_of_their_parent_sort),
      cmocka_unit_test(many_children_of_one_task),
      cmocka_unit_test(children_wait_for_memory),
      cmocka_unit_test(child_that_never_fits_is_refused),
      cmocka_unit_test(results_of_a_child_without_memory_are_missing),
      cmocka_unit_test(children_have_boxes),
      cmocka_unit_test(the_queue_is_bounded),
      cmocka_unit_test(wrong_calls_are_refused_at_once),
      cmocka_unit_test(launches_of_graphs_queue),
      cmocka_unit_test(a_change_comes_after_queued_launches),
      cmocka_unit_test(cancel_skips_what_is_queued),
      cmocka_unit_test(release_waits_for_what_is_queued),
      cmocka_unit_test(later_submissions_come_after_the_queue),
  };
  alarm(240);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
