// SPDX-License-Identifier: Apache-2.0
//
// Graph issue: tasks are collected into pieces, runs of tasks in the order of submission, and each piece is launched as one
// graph. Executable graphs are kept: a piece that comes again costs one call, one with other parameters a little more, one
// with other kernels but the same dependences more still, and only a topology never met before must be made.
//
// Making an executable graph takes longer than launching its tasks one by one. So where there are cores for it, a piece that
// was never met is launched so, by several threads, while another thread makes the graph for the next time (builder.h).
//
// Where pieces are cut decides what comes again. A sequence of pieces begins when the device was idle, or when the tasks
// repeat an earlier beginning. When a beginning is new, pieces are small, because making them is what takes time; once it
// was met before, they grow from piece to piece, so that the first one starts early and few ends hold the rest up. Cuts are
// moved to where few tasks are open. All of it depends on the tasks alone and not on time, so that it repeats when they do.
//
// Called by the device's thread only.
#ifndef WEIR_DEVICE_CUDA_PIECES_H
#define WEIR_DEVICE_CUDA_PIECES_H

#include "device/cuda/cuda.h"
#include "device/cuda/exec.h"

typedef struct weir__cuda_pieces weir__cuda_pieces;
typedef struct weir__cuda_piece weir__cuda_piece;

// Sets device->pieces, which stays NULL where the context wants queues or order.
weir_status weir__cuda_pieces_create(weir__cuda_device *device);
void weir__cuda_pieces_destroy(weir__cuda_pieces *pieces);

// Takes a task; pieces that are complete by that are launched.
void weir__cuda_collect(weir__cuda_device *device, weir__task *task);

// Tasks that were taken and not launched.
uint32_t weir__cuda_held_back(const weir__cuda_device *device);

// Launches what was collected, if it is `wanted` or nothing else keeps the device busy.
void weir__cuda_launch_collected(weir__cuda_device *device, bool wanted);

// The device's thread looked for tasks, and found some or not. Graphs that were made meanwhile are taken over.
void weir__cuda_note_work(weir__cuda_device *device, bool any);

// Launches a piece's graph; in any thread.
CUresult weir__cuda_launch_piece(weir__cuda_device *device, weir__cuda_piece *piece, CUstream stream);

// No task of the piece will end well, or none of those that read poison (`poisoned`). The context's lock is held.
void weir__cuda_doom_piece(weir__cuda_device *device, const weir__cuda_piece *piece, bool poisoned);

// Reports the tasks of a piece that is done. The context's lock is held.
void weir__cuda_report_piece(weir__cuda_device *device, weir__cuda_op *op);

#endif // WEIR_DEVICE_CUDA_PIECES_H
