// SPDX-License-Identifier: Apache-2.0
//
// Operations: what a device keeps of something that it put into a queue. Mostly that is a task; it may be a run of tasks that are
// launched as one, or a part of a task. They come from slabs, and are found by the tasks' slots in the window.
//
// Of the device's thread alone, but for what a device lets other threads of its own do with an operation.
#ifndef WEIR_ISSUE_OPERATIONS_H
#define WEIR_ISSUE_OPERATIONS_H

#include "issue/queues.h"
#include "window/window.h"

// The head of a device's own struct.
typedef struct weir__operation {
  struct weir__operation *next; // in its queue, oldest first; or in the list of free ones
  weir__queue_task *place;      // NULL: not placed in a queue yet
  weir__task *task;             // NULL: it stands for none, or for several
  weir_status status;           // not WEIR_OK: why nothing was launched
  char *message;                // of WEIR__MESSAGE_BYTES; said of a status that is not WEIR_OK
} weir__operation;

// Operations in flight in a queue, oldest first.
typedef struct weir__operation_list {
  weir__operation *first, *last;
} weir__operation_list;

typedef struct weir__operations {
  weir__operation *free, *slabs;
  weir__operation **slots;   // per slot of the window: what its task is part of; NULL: nothing in flight
  weir__queue_task **places; // scratch: predecessors
  uint32_t place_capacity;
  uint32_t bytes; // of the device's struct
  uint32_t mask;
} weir__operations;

// For operations of `bytes` bytes, and a window of `window` slots. False: no memory.
bool weir__operations_initialize(weir__operations *operations, size_t bytes, uint32_t window);
void weir__operations_deinitialize(weir__operations *operations);

// Makes operations that need not be made later, as far as there is memory for them.
void weir__operations_reserve(weir__operations *operations, uint32_t count);

// Adds a slab to the free ones. False: no memory.
bool weir__operations_grow(weir__operations *operations);

// An operation whose head is ready and whose other members are as they were left; zero in one that was never used. NULL: no
// memory.
static inline weir__operation *weir__operations_take(weir__operations *operations) {
  if (operations->free == NULL && !weir__operations_grow(operations)) return NULL;
  weir__operation *operation = operations->free;
  operations->free = operation->next;
  operation->next = NULL;
  operation->place = NULL;
  operation->task = NULL;
  operation->status = WEIR_OK;
  return operation;
}

static inline void weir__operations_give(weir__operations *operations, weir__operation *operation) {
  operation->next = operations->free;
  operations->free = operation;
}

// The operation of a task of this device; NULL: the task is done.
static inline weir__operation *weir__operations_find(const weir__operations *operations, const weir__window *window,
                                                     weir__id id) {
  weir__operation *operation = operations->slots[id & operations->mask];
  return operation != NULL && window->tasks[id & operations->mask].id == id ? operation : NULL;
}

// Enters the operation as that of the task (NULL: there is none any more).
static inline void weir__operations_set(weir__operations *operations, weir__id id, weir__operation *operation) {
  operations->slots[id & operations->mask] = operation;
}

// Makes room for `count` places, and keeps those that are there. False: no memory.
bool weir__operations_reserve_places(weir__operations *operations, uint32_t count);

// Puts the places of the task's predecessors that are not done into `places`, which has room for one more. False: no memory.
bool weir__operations_find_predecessors(weir__operations *operations, const weir__window *window,
                                        const weir__task *task, uint32_t *out_count);

static inline void weir__operation_list_append(weir__operation_list *list, weir__operation *operation) {
  operation->next = NULL;
  if (list->last == NULL)
    list->first = operation;
  else
    list->last->next = operation;
  list->last = operation;
}

static inline weir__operation *weir__operation_list_pop(weir__operation_list *list) {
  weir__operation *operation = list->first;
  list->first = operation->next;
  if (list->first == NULL) list->last = NULL;
  return operation;
}

#endif // WEIR_ISSUE_OPERATIONS_H
