// SPDX-License-Identifier: Apache-2.0
//
// One launch of a graph: where its data lies, which nodes may run, what failed.
#include <string.h>

#include "base/allocate.h"
#include "device/graph_poison.h"
#include "engine/failures.h"
#include "engine/pressure.h"
#include "graph/plan.h"

enum { NOTES = 64 };

void weir__graph_run_free(weir__graph_run *run) {
  if (run->staging != NULL) weir__pool_give(&run->context->memory.pools[WEIR__HOST_SPACE], run->staging);
  weir__graph_plan_drop(run->plan);
  weir__free(run->hosts);
  weir__free(run->reached);
  weir__free(run->start_ns);
  weir__free(run->accesses);
  weir__free(run->fresh);
  weir__free(run->buffers);
  weir__free(run->serials);
  weir__free(run->storages);
  weir__free(run->numbers);
  weir__free(run->args);
  weir__free(run->values);
  weir__free(run->given);
  weir__free(run->blockers);
  weir__free(run->states);
  weir__free(run->points);
  weir__free(run->ready);
  weir__free(run->failed_predecessors);
  weir__free(run->data_dependences);
  weir__free(run->readers);
  weir__free(run->poison);
  weir__free(run);
}

static weir__graph_run *create(weir_graph *graph) {
  weir__graph_plan *plan = graph->plan;
  weir__graph_run *run = weir__allocate_zeroed(sizeof(weir__graph_launch));
  if (run == NULL) return NULL;
  run->graph = graph;
  run->context = graph->object.context;
  run->plan = plan;
  weir__lock_ignores(&run->poison_lock);
  weir__lock_ignores(&run->message_lock);
  run->stage_out = weir__graph_run_stage_out;
  plan->references++;
  run->accesses = weir__allocate(plan->all_externals * sizeof *run->accesses);
  run->fresh = weir__allocate(plan->all_externals * sizeof(weir__block *));
  run->buffers = weir__allocate(plan->buffer_count * sizeof(weir_buffer *));
  run->serials = weir__allocate(plan->buffer_count * sizeof *run->serials);
  run->storages = weir__allocate(plan->buffer_count * sizeof *run->storages);
  run->numbers = weir__allocate(plan->buffer_count * sizeof *run->numbers);
  run->args = weir__allocate(plan->arg_count * sizeof(void *));
  run->values = weir__allocate(plan->value_bytes);
  if (plan->given != NULL) run->given = weir__allocate(plan->node_count * sizeof *run->given);
  run->blockers = weir__allocate(plan->node_count * sizeof *run->blockers);
  run->states = weir__allocate(plan->node_count * sizeof *run->states);
  run->ready = weir__allocate(plan->node_count * sizeof *run->ready);
  run->poison = weir__allocate(weir__graph_poison_bytes(plan) + 1);
  run->hosts = weir__allocate(plan->host_count * sizeof(void *));
  run->reached = weir__allocate(plan->host_count * sizeof *run->reached);
  // Room for notes, so that only launches with very many predecessors or readers need more in the middle.
  run->data_dependence_capacity = run->reader_capacity = run->failed_predecessor_capacity =
      NOTES + 2 * plan->all_externals;
  run->data_dependences = weir__allocate(run->data_dependence_capacity * sizeof *run->data_dependences);
  run->readers = weir__allocate(run->reader_capacity * sizeof *run->readers);
  run->failed_predecessors = weir__allocate(run->failed_predecessor_capacity * sizeof *run->failed_predecessors);
  if (run->accesses != NULL && run->fresh != NULL && run->buffers != NULL && run->serials != NULL &&
      run->storages != NULL && run->args != NULL && run->values != NULL && run->blockers != NULL &&
      (plan->given == NULL || run->given != NULL) && run->states != NULL && run->numbers != NULL &&
      run->ready != NULL && run->poison != NULL && run->hosts != NULL && run->reached != NULL &&
      run->data_dependences != NULL && run->readers != NULL && run->failed_predecessors != NULL)
    return run;
  weir__graph_run_free(run);
  return NULL;
}

// Arrays for the times of a launch, which keeps them; the graph gets them when it is done.
static bool prepare_times(weir__graph_run *run) {
  run->timed = run->graph->timed;
  uint64_t count = run->plan->node_count;
  if (run->timed && run->start_ns == NULL) run->start_ns = weir__allocate(2 * count * sizeof *run->start_ns);
  if (run->timed && run->start_ns == NULL) return false;
  if (run->timed) memset(run->start_ns, 0, 2 * count * sizeof *run->start_ns);
  run->end_ns = run->start_ns == NULL ? NULL : run->start_ns + count;
  return true;
}

weir__graph_run *weir__graph_run_take(weir_graph *graph) {
  weir__graph_run *run = graph->idle_runs;
  if (run != NULL)
    graph->idle_runs = run->next;
  else
    run = create(graph);
  if (run == NULL) return NULL;
  if (!prepare_times(run)) {
    weir__graph_run_give(run);
    return NULL;
  }
  const weir__graph_plan *plan = run->plan;
  for (uint32_t i = 0; i < plan->host_count; i++) {
    run->hosts[i] = graph->recorded[plan->hosts[i].node].host;
    run->reached[i] = true;
  }
  run->staged = run->staged_out = run->ran = false;
  run->data_dependence_count = run->failed_predecessor_count = run->reader_count = 0;
  run->all_poisoned = false;
  run->message_node = UINT32_MAX;
  atomic_store_explicit(&run->failed_count, 0, memory_order_relaxed);
  return run;
}

// Whether an access is sure to find what it reads where the launch runs, without storage or a copy. Contents that are nowhere are
// undefined, and read where there is storage.
static inline bool is_settled(const weir_buffer *buffer, uint16_t here) {
  uint16_t spaces = buffer->valid != 0 ? buffer->valid : buffer->held;
  return ((spaces & here) != 0) & (buffer->by_ranges == 0) & (buffer->parts == NULL);
}

// Stands for buffers that the launch does not name; no dependence is about its bytes.
static weir_buffer nobody;

// What stays the same from launch to launch.
static void arrange(weir__graph_run *run) {
  const weir__graph_plan *plan = run->plan;
  for (uint32_t i = 0; i < plan->external_count; i++) {
    const weir__graph_external *external = &plan->externals[i];
    run->accesses[i] = (weir__access){
        .mode = (uint8_t)external->mode, .space = (uint8_t)plan->space, .lo = external->lo, .hi = external->hi};
  }
  for (uint32_t i = 0; i < plan->buffer_count; i++) {
    run->buffers[i] = &nobody;
    run->serials[i] = nobody.serial + 1;
  }
  run->arrangement = plan->arrangement;
}

// Puts the accesses that read what is not there behind the others, so that those that are settled come last.
static void part(weir__graph_run *run, uint16_t here) {
  for (uint32_t i = run->unsettled; i < run->plan->external_count; i++) {
    weir__access access = run->accesses[i];
    if (is_settled(access.buffer, here)) continue;
    run->accesses[i] = run->accesses[run->unsettled];
    run->accesses[run->unsettled++] = access;
  }
  run->arrangement = 0;
}

void weir__graph_run_aim(weir__graph_run *run) {
  const weir__graph_plan *plan = run->plan;
  if (run->arrangement != plan->arrangement) arrange(run);
  weir_buffer *const *buffers = run->graph->buffers;
  const weir__graph_external *externals = plan->externals;
  weir__access *accesses = run->accesses;
  uint16_t here = weir__space_bit(plan->space);
  uint32_t i = 0;
  run->queue = run->graph->queue;
  run->after = run->graph->temporaries.last_launch;
  run->unsettled = plan->first_read;
  for (; i < plan->first_read; i++) {
    accesses[i].buffer = buffers[externals[i].buffer];
    weir__pin(run->context, accesses[i].buffer);
  }
  bool settled = true;
  for (uint64_t checks = run->context->checks; i < plan->external_count; i++) {
    weir_buffer *buffer = buffers[externals[i].buffer];
    accesses[i].buffer = buffer;
    buffer->named = checks;
    settled = settled & is_settled(buffer, here);
  }
  if (!settled) part(run, here);
}

void weir__graph_run_give(weir__graph_run *run) {
  weir_graph *graph = run->graph;
  if (graph->plan != run->plan) {
    weir__graph_run_free(run);
    return;
  }
  run->next = graph->idle_runs;
  graph->idle_runs = run;
}

// Tasks that commute ask what lies between them, be it done or not (window/commute.h). So what a launch overwrote of buffers that tasks
// commute on stays in its slot.
static void keep_written(weir__task *task) {
  const weir__access *accesses = task->accesses;
  uint32_t count = 0, kept = 0;
  for (uint32_t i = 0; i < task->access_count; i++)
    count += accesses[i].mode != WEIR_READ && accesses[i].buffer->commuters != NULL;
  weir__access *in_slot = weir__window_payload(task, count * sizeof *in_slot);
  if (in_slot == NULL) return; // it is not known
  for (uint32_t i = 0; i < task->access_count; i++)
    if (accesses[i].mode != WEIR_READ && accesses[i].buffer->commuters != NULL) in_slot[kept++] = accesses[i];
  task->accesses = in_slot;
  task->access_count = count;
}

void weir__graph_run_done(weir__task *task) {
  weir__graph_run *run = task->run;
  if (run->context->commuted) keep_written(task);
  if (run->timed && run->ran) {
    weir__free(run->graph->times);
    run->graph->times = run->start_ns;
    run->graph->time_count = run->plan->node_count;
    run->start_ns = NULL;
  }
  weir__graph_launch_drop(weir__graph_launch_of(run));
}

void weir__graph_launch_drop(weir__graph_launch *launch) {
  if (--launch->holders == 0) weir__graph_run_give(&launch->run);
}

// Appends bytes to a list. False: no memory.
static bool append_bytes(weir__graph_bytes **list, uint32_t *count, uint32_t *capacity,
                         const weir__graph_bytes *bytes) {
  if (*count == *capacity) {
    uint32_t larger_capacity = *capacity * 2;
    weir__graph_bytes *larger = weir__allocate(larger_capacity * sizeof *larger);
    if (larger == NULL) return false;
    if (*count > 0) memcpy(larger, *list, *count * sizeof *larger);
    weir__free(*list);
    *list = larger;
    *capacity = larger_capacity;
  }
  (*list)[(*count)++] = *bytes;
  return true;
}

static weir__graph_bytes bytes_of(const weir__dependence *dependence, const weir_box *box, weir__id task) {
  weir__graph_bytes bytes = {.task = task, .buffer = dependence->buffer, .lo = dependence->lo, .hi = dependence->hi};
  if (box != NULL) bytes.box = *box;
  return bytes;
}

static void keep_data_dependence(weir__graph_run *run, const weir__graph_bytes *bytes) {
  // Without memory more nodes than must be are skipped, if something fails at all.
  if (!append_bytes(&run->data_dependences, &run->data_dependence_count, &run->data_dependence_capacity, bytes))
    run->all_poisoned = true;
}

void weir__graph_run_note_reader(weir__graph_run *run, const weir__dependence *dependence, const weir_box *box,
                                 weir__id reader) {
  weir__graph_bytes note = bytes_of(dependence, box, reader);
  if (!append_bytes(&run->readers, &run->reader_count, &run->reader_capacity, &note))
    run->context->graphs.forgot_readers = true;
}

// Takes over where the buffers are. Returns whether some are elsewhere than for the launch before.
static bool bind_buffers(weir__graph_run *run, weir__graph_plan *plan) {
  weir_buffer *const *buffers = run->graph->buffers;
  const uint32_t *outer = plan->outer, space = plan->space, count = plan->outer_count;
  weir_buffer **bound = run->buffers;
  uint32_t *serials = run->serials;
  void **memories = plan->memories;
  uintptr_t changes = 0;
  for (uint32_t k = 0; k < count; k++) {
    uint32_t i = outer[k];
    weir_buffer *buffer = buffers[i];
    void *memory = buffer->replicas[space].memory;
    bound[i] = buffer;
    serials[i] = buffer->serial;
    changes |= (uintptr_t)memories[i] ^ (uintptr_t)memory;
    memories[i] = memory;
  }
  for (uint32_t k = 0; run->context->host.trace != NULL && k < count; k++)
    run->storages[outer[k]] = buffers[outer[k]]->replicas[space].storage;
  return changes != 0;
}

// Arguments are not found out again if they are what the launch before had, and the run perhaps from an earlier one.
static void bind_args(weir__graph_run *run, weir__graph_plan *plan, bool moved) {
  if (moved || plan->stamp == 0 || plan->host_count > 0) plan->stamp++;
  memcpy(run->values, plan->values, plan->value_bytes); // a function may have written there
  if (plan->given != NULL) memcpy(run->given, plan->given, plan->node_count * sizeof *run->given);
  if (run->stamp == plan->stamp) return;
  run->stamp = plan->stamp;
  for (uint32_t i = 0; i < plan->arg_count; i++) {
    const weir__graph_arg *arg = &plan->args[i];
    run->args[i] =
        arg->mode == WEIR_VALUE ? (char *)run->values + arg->offset : (char *)plan->memories[arg->buffer] + arg->offset;
  }
}

void weir__graph_run_bind(weir__task *task, const weir__dependences *dependences) {
  weir__graph_run *run = task->run;
  weir__graph_plan *plan = run->plan;
  run->task = task;
  run->task_id = task->id;
  bind_args(run, plan, bind_buffers(run, plan));
  weir__graph_run_bind_hosts(run);
  for (size_t i = 0; i < dependences->count; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (!dependence->data) continue;
    weir__graph_bytes bytes = bytes_of(dependence, weir__dependence_box(dependences, dependence), dependence->task);
    keep_data_dependence(run, &bytes);
  }
}

void weir__graph_run_upstream_failed(weir__task *task, weir__id predecessor) {
  weir__graph_run *run = task->run;
  if (run->failed_predecessor_count == run->failed_predecessor_capacity) {
    uint32_t capacity = run->failed_predecessor_capacity * 2;
    weir__id *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) {
      run->all_poisoned = true;
      return;
    }
    if (run->failed_predecessor_count > 0)
      memcpy(larger, run->failed_predecessors, run->failed_predecessor_count * sizeof *larger);
    weir__free(run->failed_predecessors);
    run->failed_predecessors = larger;
    run->failed_predecessor_capacity = capacity;
  }
  run->failed_predecessors[run->failed_predecessor_count++] = predecessor;
}

// Works out which bytes that the launch wrote are poisoned: by the last node that wrote them.
static void find_poisoned_outputs(weir__graph_run *run) {
  weir__graph_poison_clear(run);
  for (uint32_t i = 0; i < run->plan->node_count; i++)
    weir__graph_poison_set_written(run, i,
                                   atomic_load_explicit(&run->states[i], memory_order_relaxed) != WEIR__NODE_OK);
}

// A buffer that the launch `task` wrote, and what failed first.
typedef struct output {
  weir_buffer *buffer;
  weir__range_pool *ranges;
  weir__id task;
  uint32_t root;
} output;

static void poison_output(void *user, uint64_t lo, uint64_t hi) {
  const output *poisoned = user;
  weir__buffer_poison(poisoned->buffer, poisoned->ranges, poisoned->task, lo, hi, poisoned->root);
}

// A task in flight that reads an output.
typedef struct reader {
  weir_context *context;
  weir__task *task;
  const weir__graph_bytes *note;
  bool live_run; // it is a launch, that must know which bytes
  uint32_t root;
} reader;

static void poison_input(void *user, uint64_t lo, uint64_t hi) {
  const reader *poisoned = user;
  poisoned->task->reads_poison = true;
  weir__failures_blame(poisoned->context, poisoned->task, poisoned->root, poisoned->note->buffer, lo, hi);
  if (!poisoned->live_run) return;
  keep_data_dependence(poisoned->task->run, &(weir__graph_bytes){.buffer = poisoned->note->buffer, .lo = lo, .hi = hi});
}

// Marks a task in flight that reads an output which is poisoned.
static void poison_reader(weir__graph_run *run, const weir__graph_bytes *note, uint32_t root) {
  const weir__window *window = &run->context->host.window;
  uint32_t buffer = weir__graph_run_buffer_number(run, note->buffer);
  if (buffer == UINT32_MAX) return;
  reader poisoned = {
      .context = run->context, .task = weir__window_task(window, note->task), .note = note, .root = root};
  poisoned.live_run = poisoned.task->run != NULL && weir__live(&window->live, poisoned.task->id);
  for (uint64_t i = 0, rows = weir__graph_bytes_rows(note); i < rows; i++) {
    uint64_t hi, lo = weir__graph_bytes_row(note, i, &hi);
    if (lo < hi) weir__graph_poison_each(run, buffer, lo, hi, poison_input, &poisoned);
  }
}

void weir__graph_run_poison(weir__task *task, uint32_t root) {
  weir__graph_run *run = task->run;
  find_poisoned_outputs(run);
  // What the launch named may be a temporary of a later one by now. Of its own temporaries it knows nobody.
  for (uint32_t i = 0; i < run->plan->all_externals; i++) {
    const weir__graph_external *external = &run->plan->externals[i];
    output written = {.buffer = run->buffers[external->buffer],
                      .ranges = &run->context->order.ranges,
                      .task = task->id,
                      .root = root};
    if (external->mode != WEIR_READ && written.buffer->serial == run->serials[external->buffer])
      weir__graph_poison_each(run, external->buffer, external->lo, external->hi, poison_output, &written);
  }
  if (run->reader_count > 0) weir__graph_run_number_buffers(run);
  for (uint32_t i = 0; i < run->reader_count; i++) poison_reader(run, &run->readers[i], root);
}
