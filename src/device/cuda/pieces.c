// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pieces.h"

#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/builder.h"
#include "device/cuda/cache.h"
#include "device/cuda/graph.h"

enum {
  MOST_TASKS = 1024, // of a piece, with what is collected behind it
  LARGEST_PIECE = 512,
  FIRST_PIECE = 8,
  NEW_PIECE = 32, // of a beginning that is new
  GROWTH = 2,
  WINDOW_SHARE = 4,   // a piece is at most this part of the window
  BEGINNING = 8,      // tasks by which a beginning is known
  LARGE_WINDOW = 256, // from here on tasks are held back, to see whether a beginning comes again
  BEGINNINGS = 1024,
  FEWEST_LAUNCHES = 4, // of a piece that is worth a graph
  IDLE_NS = 50000,
  TASKS_AT_ONCE = 32, // are reported
  AHEAD = 4,          // so far tasks that will be reported are fetched
  WORDS = MOST_TASKS / 64,
};

// A task that was collected.
typedef struct collected {
  weir__task *task;
  weir__id id;
  const weir__cuda_kernel *code;
  uint32_t first_outside, outside_count;         // ids of predecessors that are not among the collected ones
  uint32_t first_predecessor, predecessor_count; // in the piece; the fewest that force the order
  uint32_t launches;
  uint32_t open_after; // tasks up to this one that no collected task waits for
  bool waited_for;
} collected;

// What is known of a beginning.
typedef struct beginning {
  uint64_t hash; // 0: none
  uint32_t times;
} beginning;

struct weir__cuda_pieces {
  weir__cuda_device *device;
  weir__cuda_cache *cache;
  weir__cuda_builder *builder; // NULL: graphs are made when they are needed
  bool always;                 // graphs also for pieces that are hardly worth it
  collected tasks[MOST_TASKS];
  uint64_t before[MOST_TASKS][WORDS]; // per task: a bit for each task of the piece that comes before it
  uint32_t count, open;
  uint32_t *predecessors;
  uint32_t predecessor_count, predecessor_capacity;
  uint32_t *slot_index; // per slot of the window: index of its task among the collected ones
  weir__id *outside;
  uint32_t outside_count; // as many have room as `predecessors` has
  weir__task *again[MOST_TASKS];
  weir__cuda_step steps[MOST_TASKS];
  void **parameters;
  uint32_t parameter_capacity;
  uint64_t history;        // of the kinds of the last BEGINNING tasks
  uint64_t sequence_count; // tasks of this sequence that were launched
  uint64_t beginning_hash; // of this sequence, as far as it is known
  uint32_t target;
  bool known; // the beginning was met before
  beginning beginnings[BEGINNINGS];
  uint64_t last_collected_ns; // when the ring was first found empty; 0: not yet
  weir__cuda_piece *free_pieces;
};

// Tasks that were launched as one graph.
struct weir__cuda_piece {
  struct weir__cuda_piece *next;
  weir__cuda_exec *exec; // NULL: nothing has to be launched
  bool useless;          // it could not be launched
  uint32_t count;
  weir__task *tasks[LARGEST_PIECE];
};

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

weir_status weir__cuda_pieces_create(weir__cuda_device *device) {
  const weir_context *context = device->base.context;
  if (context->issue == WEIR_ISSUE_QUEUES || (context->flags & WEIR_CONTEXT_IN_ORDER)) return WEIR_OK;
  weir__cuda_pieces *pieces = weir__allocate_zeroed(sizeof *pieces);
  device->pieces = pieces;
  if (pieces != NULL) {
    pieces->device = device;
    pieces->always = context->issue == WEIR_ISSUE_GRAPHS;
    pieces->cache = weir__cuda_cache_create(device);
    pieces->slot_index = weir__allocate_sparse(context->window.size * sizeof *pieces->slot_index);
    pieces->target = FIRST_PIECE;
  }
  // Where launching goes on in other threads there is a core for this, too.
  bool builds = device->launcher_count > 0 && context->issue == WEIR_ISSUE_AUTO && context->trace == NULL;
  if (pieces != NULL && builds) pieces->builder = weir__cuda_builder_create(device);
  if (pieces == NULL || pieces->cache == NULL || pieces->slot_index == NULL || (builds && pieces->builder == NULL))
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for graphs");
  return WEIR_OK;
}

void weir__cuda_pieces_destroy(weir__cuda_pieces *pieces) {
  if (pieces == NULL) return;
  weir__cuda_builder_destroy(pieces->builder);
  weir__cuda_cache_destroy(pieces->cache);
  while (pieces->free_pieces != NULL) {
    weir__cuda_piece *piece = pieces->free_pieces;
    pieces->free_pieces = piece->next;
    weir__free(piece);
  }
  weir__free_sparse(pieces->slot_index, pieces->device->base.context->window.size * sizeof *pieces->slot_index);
  weir__free(pieces->predecessors);
  weir__free(pieces->outside);
  weir__free(pieces->parameters);
  weir__free(pieces);
}

uint32_t weir__cuda_collected(const weir__cuda_device *device) {
  return device->pieces->count;
}

// ---------------------------------------------------------------------------------------------------------------
// Collecting

// The index of a task among the collected ones, or UINT32_MAX.
static uint32_t index_of(const weir__cuda_pieces *pieces, weir__id id) {
  uint32_t index = pieces->slot_index[id & pieces->device->base.context->window.live.mask];
  return index < pieces->count && pieces->tasks[index].id == id ? index : UINT32_MAX;
}

static bool reserve_predecessors(weir__cuda_pieces *pieces, uint32_t more) {
  uint32_t wanted = pieces->predecessor_count + pieces->outside_count + more;
  if (wanted <= pieces->predecessor_capacity) return true;
  uint32_t *predecessors = weir__allocate(2 * (size_t)wanted * sizeof *predecessors);
  weir__id *outside = weir__allocate(2 * (size_t)wanted * sizeof *outside);
  if (predecessors == NULL || outside == NULL) {
    weir__free(predecessors);
    weir__free(outside);
    return false;
  }
  if (pieces->predecessor_count > 0)
    memcpy(predecessors, pieces->predecessors, pieces->predecessor_count * sizeof *predecessors);
  if (pieces->outside_count > 0) memcpy(outside, pieces->outside, pieces->outside_count * sizeof *outside);
  weir__free(pieces->predecessors);
  weir__free(pieces->outside);
  pieces->predecessors = predecessors;
  pieces->outside = outside;
  pieces->predecessor_capacity = 2 * wanted;
  return true;
}

// Sorts a few numbers, largest first.
static void sort_down(uint32_t *numbers, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    uint32_t number = numbers[i], at = i;
    for (; at > 0 && numbers[at - 1] < number; at--) numbers[at] = numbers[at - 1];
    numbers[at] = number;
  }
}

// Keeps those predecessors that no other one comes after: the latest first, as only later ones can imply earlier ones.
static uint32_t reduce(weir__cuda_pieces *pieces, uint32_t index, uint32_t *found, uint32_t count) {
  uint64_t *before = pieces->before[index];
  uint32_t words = index / 64 + 1, kept = 0;
  memset(before, 0, words * sizeof *before);
  sort_down(found, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t predecessor = found[i];
    if (before[predecessor / 64] >> (predecessor % 64) & 1) continue;
    const uint64_t *further = pieces->before[predecessor];
    for (uint32_t word = 0; word <= predecessor / 64; word++) before[word] |= further[word];
    before[predecessor / 64] |= (uint64_t)1 << (predecessor % 64);
    found[kept++] = predecessor;
  }
  return kept;
}

static uint64_t signature_of(const weir__task *task) {
  uint64_t hash = mix((uintptr_t)task->code, task->arg_count);
  return mix(hash, (uint64_t)task->groups[0] << 40 ^ (uint64_t)task->groups[1] << 20 ^ task->groups[2]);
}

// Adds a task that can be part of a graph. False: no memory.
static bool append(weir__cuda_pieces *pieces, weir__task *task) {
  if (!reserve_predecessors(pieces, task->predecessor_count + 1)) return false;
  uint32_t index = pieces->count, found = 0;
  uint32_t *list = pieces->predecessors + pieces->predecessor_count;
  uint32_t outside_end = pieces->outside_count;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    uint32_t predecessor = index_of(pieces, task->predecessors[i]);
    if (predecessor != UINT32_MAX)
      list[found++] = predecessor;
    else
      pieces->outside[outside_end++] = task->predecessors[i];
  }
  found = reduce(pieces, index, list, found);
  for (uint32_t i = 0; i < found; i++) {
    collected *before = &pieces->tasks[list[i]];
    pieces->open -= !before->waited_for;
    before->waited_for = true;
  }
  pieces->open++;
  pieces->tasks[index] = (collected){.task = task,
                                     .id = task->id,
                                     .code = task->code,
                                     .first_outside = pieces->outside_count,
                                     .outside_count = outside_end - pieces->outside_count,
                                     .first_predecessor = pieces->predecessor_count,
                                     .predecessor_count = found,
                                     .launches = ((const weir__cuda_kernel *)task->code)->count,
                                     .open_after = pieces->open};
  pieces->predecessor_count += found;
  pieces->outside_count = outside_end;
  pieces->slot_index[task->id & pieces->device->base.context->window.live.mask] = index;
  pieces->count++;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Launching

static weir__cuda_piece *new_piece(weir__cuda_pieces *pieces) {
  weir__cuda_piece *piece = pieces->free_pieces;
  if (piece == NULL) return weir__allocate(sizeof *piece);
  pieces->free_pieces = piece->next;
  return piece;
}

static void free_piece(weir__cuda_pieces *pieces, weir__cuda_piece *piece) {
  piece->next = pieces->free_pieces;
  pieces->free_pieces = piece;
}

// Adds what the first `count` tasks wait for outside of the piece to the device's places.
static bool find_places(weir__cuda_pieces *pieces, uint32_t count, uint32_t *out_count) {
  weir__cuda_device *device = pieces->device;
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    const collected *task = &pieces->tasks[i];
    if (!weir__cuda_reserve_places(device, found + task->outside_count + 1)) return false;
    for (uint32_t j = 0; j < task->outside_count; j++) {
      const weir__cuda_op *op = weir__cuda_find(device, pieces->outside[task->first_outside + j]);
      bool listed = op == NULL;
      for (uint32_t k = found; k > 0 && !listed; k--) listed = device->places[k - 1] == op->place;
      if (!listed) device->places[found++] = op->place;
    }
  }
  *out_count = found;
  return true;
}

static bool reserve_parameters(weir__cuda_pieces *pieces, uint32_t wanted) {
  if (wanted <= pieces->parameter_capacity) return true;
  void **larger = weir__allocate(2 * (size_t)wanted * sizeof(void *));
  if (larger == NULL) return false;
  weir__free(pieces->parameters);
  pieces->parameters = larger;
  pieces->parameter_capacity = 2 * wanted;
  return true;
}

// Makes steps of the first `count` tasks. Returns false without memory.
static bool make_steps(weir__cuda_pieces *pieces, uint32_t count, uint64_t *out_hash) {
  uint32_t total = 0, at = 0;
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++) total += pieces->tasks[i].task->arg_count;
  if (!reserve_parameters(pieces, total + 1)) return false;
  for (uint32_t i = 0; i < count; i++) {
    const collected *from = &pieces->tasks[i];
    const weir__task *task = from->task;
    const uint32_t *predecessors = pieces->predecessors + from->first_predecessor;
    pieces->steps[i] = (weir__cuda_step){.kernel = from->code,
                                         .groups = task->groups,
                                         .parameters = pieces->parameters + at,
                                         .parameter_count = task->arg_count,
                                         .predecessors = predecessors,
                                         .predecessor_count = from->predecessor_count};
    for (uint32_t j = 0; j < task->arg_count; j++)
      pieces->parameters[at++] = weir__task_is_value(task, j) ? task->args[j] : (void *)&task->args[j];
    hash = mix(hash, (uint64_t)from->launches << 32 | from->predecessor_count);
    for (uint32_t j = 0; j < from->predecessor_count; j++) hash = mix(hash, i - predecessors[j]);
  }
  *out_hash = hash;
  return true;
}

// Finds an executable graph for the first `count` tasks. False: they are better launched one by one.
static bool find_graph(weir__cuda_pieces *pieces, uint32_t count, weir__cuda_exec **out_exec) {
  uint64_t hash;
  bool wanted;
  *out_exec = NULL;
  if (!make_steps(pieces, count, &hash)) return false;
  bool make_now = pieces->builder == NULL;
  CUresult result =
      weir__cuda_cache_take(pieces->cache, pieces->steps, count, hash, pieces->known, make_now, out_exec, &wanted);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(pieces->device, result);
  if (wanted && pieces->builder != NULL) weir__cuda_builder_ask(pieces->builder, pieces->steps, count, hash);
  return *out_exec != NULL;
}

// Launches the first `count` tasks together. False: it cannot be done, and nothing was changed.
static bool launch_as_piece(weir__cuda_pieces *pieces, uint32_t count, weir__cuda_exec *exec) {
  weir__cuda_device *device = pieces->device;
  uint32_t place_count;
  weir__cuda_op *op = weir__cuda_new_op(device);
  weir__cuda_piece *piece = op == NULL ? NULL : new_piece(pieces);
  bool good = piece != NULL && find_places(pieces, count, &place_count) &&
              weir__cuda_place(device, op, device->places, place_count, WEIR__ANY_QUEUE);
  if (!good) {
    if (piece != NULL) free_piece(pieces, piece);
    if (op != NULL) weir__cuda_free_op(device, op);
    return false;
  }
  piece->exec = exec;
  piece->useless = false;
  piece->count = count;
  for (uint32_t i = 0; i < count; i++) {
    piece->tasks[i] = pieces->tasks[i].task;
    device->slot_ops[piece->tasks[i]->id & device->base.context->window.live.mask] = op;
  }
  op->piece = piece;
  op->status = device->lost;
  if (exec != NULL) {
    exec->queue = &device->queues_in_flight[op->place->queue];
    exec->number = exec->queue->placed + 1;
  }
  weir__cuda_start(device, op);
  return true;
}

CUresult weir__cuda_launch_piece(weir__cuda_device *device, weir__cuda_piece *piece, CUstream stream) {
  if (piece->exec == NULL) return CUDA_SUCCESS;
  CUresult result = device->driver->cuGraphLaunch(piece->exec->exec, stream);
  if (result == CUDA_SUCCESS || weir__cuda_is_sticky(result)) return result;
  // One after another they may still go.
  piece->useless = true;
  result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < piece->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_task(device, piece->tasks[i], stream);
  return result;
}

void weir__cuda_doom_piece(weir__cuda_device *device, const weir__cuda_piece *piece) {
  for (uint32_t i = 0; i < piece->count; i++) weir__window_doom(&device->base.context->window, piece->tasks[i]);
}

// Launches the first `count` tasks, and collects the others anew, for what they wait for is elsewhere now.
static void launch_first(weir__cuda_pieces *pieces, uint32_t count) {
  uint32_t rest = pieces->count - count, launches = 0;
  for (uint32_t i = 0; i < count; i++) launches += pieces->tasks[i].launches;
  for (uint32_t i = 0; i < rest; i++) pieces->again[i] = pieces->tasks[count + i].task;
  bool worth_it = count > 1 && (launches >= FEWEST_LAUNCHES || pieces->always);
  bool whole = count > 1 && launches == 0 && launch_as_piece(pieces, count, NULL);
  weir__cuda_exec *exec;
  if (!whole && worth_it && find_graph(pieces, count, &exec)) {
    whole = launch_as_piece(pieces, count, exec);
    if (!whole) weir__cuda_cache_give(pieces->cache, exec, false);
  }
  for (uint32_t i = 0; i < count && !whole; i++) {
    weir__task *task = pieces->tasks[i].task;
    weir__cuda_issue(pieces->device, task);
  }
  pieces->sequence_count += count;
  pieces->count = pieces->predecessor_count = pieces->outside_count = pieces->open = 0;
  // There is room, because there was before.
  for (uint32_t i = 0; i < rest; i++) (void)append(pieces, pieces->again[i]);
}

// ---------------------------------------------------------------------------------------------------------------
// Where to cut

static uint32_t largest_piece(const weir__cuda_pieces *pieces) {
  uint32_t share = pieces->device->base.context->window.size / WINDOW_SHARE;
  return share < LARGEST_PIECE ? share : LARGEST_PIECE;
}

static void set_target(weir__cuda_pieces *pieces, uint32_t target) {
  uint32_t most = largest_piece(pieces);
  pieces->target = target < most ? target : most;
}

static beginning *find_beginning(weir__cuda_pieces *pieces, uint64_t hash) {
  for (uint32_t i = 0; i < 8; i++) {
    beginning *entry = &pieces->beginnings[(hash + i) % BEGINNINGS];
    if (entry->hash == hash || entry->hash == 0) return entry;
  }
  return &pieces->beginnings[hash % BEGINNINGS];
}

// The first tasks of a sequence are there: was it met before?
static void begin(weir__cuda_pieces *pieces) {
  uint64_t hash = pieces->history | 1; // of BEGINNING tasks, or of as many as there are
  beginning *entry = find_beginning(pieces, hash);
  if (entry->hash != hash) *entry = (beginning){.hash = hash};
  entry->times++;
  pieces->beginning_hash = hash;
  pieces->known = entry->times > 1;
  set_target(pieces, FIRST_PIECE);
}

static void end_sequence(weir__cuda_pieces *pieces) {
  pieces->sequence_count = 0;
  pieces->beginning_hash = pieces->history = 0;
  set_target(pieces, FIRST_PIECE);
}

static void grow_target(weir__cuda_pieces *pieces) {
  set_target(pieces, pieces->known ? pieces->target * GROWTH : NEW_PIECE);
}

// Within a quarter of the target, where the fewest tasks are open.
static uint32_t best_cut(const weir__cuda_pieces *pieces, uint32_t first, uint32_t last) {
  uint32_t best = first;
  for (uint32_t cut = first; cut <= last; cut++) {
    if (pieces->tasks[cut - 1].open_after <= pieces->tasks[best - 1].open_after) best = cut;
  }
  return best;
}

static void cut_full_piece(weir__cuda_pieces *pieces) {
  uint32_t first = pieces->target - pieces->target / 4, last = pieces->target + pieces->target / 4;
  if (first == 0) first = 1;
  if (last > LARGEST_PIECE) last = LARGEST_PIECE;
  uint32_t held = pieces->device->base.context->window.size >= LARGE_WINDOW ? BEGINNING : 0;
  if (pieces->count < last + held) return;
  launch_first(pieces, best_cut(pieces, first, last));
  grow_target(pieces);
}

// The last tasks are those with which an earlier sequence began: this one ends before them.
static void cut_at_repeat(weir__cuda_pieces *pieces) {
  if (pieces->sequence_count + pieces->count < 2 * BEGINNING || pieces->count < BEGINNING) return;
  if ((pieces->history | 1) != pieces->beginning_hash) return;
  if (pieces->count > BEGINNING) launch_first(pieces, pieces->count - BEGINNING);
  uint64_t history = pieces->history;
  end_sequence(pieces);
  pieces->history = history;
  begin(pieces);
}

static void launch_all(weir__cuda_pieces *pieces) {
  uint32_t most = largest_piece(pieces);
  while (pieces->count > 0) launch_first(pieces, pieces->count > most ? most : pieces->count);
}

static bool can_collect(weir__cuda_device *device, const weir__task *task) {
  return task->kernel != NULL && task->run == NULL && task->move == NULL && device->lost == WEIR_OK &&
         weir__context_skips(device->base.context, task) == WEIR_OK;
}

void weir__cuda_collect(weir__cuda_device *device, weir__task *task) {
  weir__cuda_pieces *pieces = device->pieces;
  pieces->last_collected_ns = 0;
  if (!can_collect(device, task)) {
    bool waits = false;
    for (uint32_t i = 0; i < task->predecessor_count && !waits; i++)
      waits = index_of(pieces, task->predecessors[i]) != UINT32_MAX;
    if (waits) launch_all(pieces);
    weir__cuda_issue(device, task);
    return;
  }
  pieces->history = pieces->history << (64 / BEGINNING) ^ signature_of(task);
  if (!append(pieces, task)) {
    launch_all(pieces);
    weir__cuda_issue(device, task);
    return;
  }
  if (pieces->sequence_count == 0 && pieces->count == BEGINNING && pieces->beginning_hash == 0)
    begin(pieces);
  else
    cut_at_repeat(pieces);
  cut_full_piece(pieces);
}

void weir__cuda_launch_collected(weir__cuda_device *device, bool wanted) {
  weir__cuda_pieces *pieces = device->pieces;
  if (!wanted) {
    if (pieces->count == 0) return;
    if (device->ops_in_flight > 0) return;
    uint64_t now = weir__clock_ns();
    if (pieces->last_collected_ns == 0) pieces->last_collected_ns = now;
    if (now - pieces->last_collected_ns < IDLE_NS) return;
  }
  if (pieces->count > 0 && pieces->beginning_hash == 0) begin(pieces);
  launch_all(pieces);
  end_sequence(pieces);
}

static void time_task(weir__cuda_device *device, const weir__cuda_op *op, uint32_t index,
                      weir__completion *completion) {
  const weir__trace_task *record = weir__trace_find(device->base.context->trace, op->piece->tasks[index]->id);
  uint64_t submit_ns = record != NULL ? record->submit_ns : 0;
  if (op->piece->exec != NULL && !op->piece->useless) {
    weir__cuda_step_times(device, op->piece->exec, index, submit_ns, &completion->start_ns, &completion->end_ns,
                          &completion->lane);
    return;
  }
  completion->start_ns = weir__cuda_event_ns(device, op->start);
  completion->end_ns = weir__cuda_event_ns(device, op->end);
  if (completion->start_ns < submit_ns) completion->start_ns = submit_ns;
  if (completion->end_ns < completion->start_ns) completion->end_ns = completion->start_ns;
}

void weir__cuda_note_work(weir__cuda_device *device, bool any) {
  weir__cuda_pieces *pieces = device->pieces;
  if (pieces->builder == NULL) return;
  weir__cuda_builder_note_work(pieces->builder, any || device->ops_in_flight > 0);
  uint64_t hash;
  weir__cuda_exec *exec = weir__cuda_builder_fetch(pieces->builder, &hash);
  if (exec != NULL) weir__cuda_cache_add(pieces->cache, exec, hash);
}

void weir__cuda_report_piece(weir__cuda_device *device, weir__cuda_op *op) {
  weir_context *context = device->base.context;
  weir__cuda_piece *piece = op->piece;
  for (uint32_t i = 0; i < piece->count; i++) {
    weir__task *task = piece->tasks[i];
    if (i + AHEAD < piece->count) __builtin_prefetch(piece->tasks[i + AHEAD], 1);
    weir__completion completion = {.status = op->status, .message = op->message, .lane = op->place->queue};
    if (op->status == WEIR_OK && task->reads_poison) completion.status = WEIR_ERROR_UPSTREAM_FAILED;
    if (context->trace != NULL) time_task(device, op, i, &completion);
    device->slot_ops[task->id & context->window.live.mask] = NULL;
    weir__context_complete(context, task, &completion);
    if (i % TASKS_AT_ONCE != TASKS_AT_ONCE - 1) continue;
    weir__context_completed(context); // and let others have the lock
    weir__context_unlock(context);
    weir__context_lock(context);
  }
  if (piece->exec != NULL) weir__cuda_cache_give(device->pieces->cache, piece->exec, piece->useless);
  free_piece(device->pieces, piece);
}
