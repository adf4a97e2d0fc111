// SPDX-License-Identifier: Apache-2.0
//
// Makes executable graphs in a thread of its own, for batches that may come again, while the device's thread launches other
// things. Except for the thread itself all is called by the device's thread.
#ifndef WEIR_DEVICE_CUDA_GRAPH_BUILDER_H
#define WEIR_DEVICE_CUDA_GRAPH_BUILDER_H

#include "device/cuda/graph/exec.h"

typedef struct weir__cuda_builder weir__cuda_builder;

// NULL: no memory, or no thread.
weir__cuda_builder *weir__cuda_builder_create(weir__cuda_device *device);

// Stops the thread; what was not fetched is dropped. The device's context is current. NULL is allowed.
void weir__cuda_builder_destroy(weir__cuda_builder *builder);

// Asks for a graph of these steps, of which everything is copied. `known`: they are likely to come again soon, as steps are that are
// asked for twice. Their graphs are made first, and others only while the device is idle. Quietly does nothing when there is no
// memory, and drops what was asked for once when much is waiting: it only would have saved time.
void weir__cuda_builder_ask(weir__cuda_builder *builder, const weir__cuda_step *steps, uint32_t count, uint64_t hash,
                            bool known);

// Fetches a graph that was made, with the hash that it was asked for with. NULL: none.
weir__cuda_exec *weir__cuda_builder_fetch(weir__cuda_builder *builder, uint64_t *out_hash);

// What the device does just now. The builder leaves the driver to who launches for a while, since making a graph holds up
// launches; most of all those of new tasks, which are launched one by one.
typedef enum weir__cuda_work { WEIR__CUDA_IDLE = 0, WEIR__CUDA_BUSY = 1, WEIR__CUDA_BUSY_WITH_NEW = 2 } weir__cuda_work;
void weir__cuda_builder_note_work(weir__cuda_builder *builder, weir__cuda_work work);

#endif // WEIR_DEVICE_CUDA_GRAPH_BUILDER_H
