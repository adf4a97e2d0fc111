// SPDX-License-Identifier: Apache-2.0
//
// The launcher on the card, the host's side: a third place for tasks of resident issue, beside the resident kernel's ring and the
// queues, for kernels that cannot be linked with the resident one. docs/cuda.md tells of it, protocol.h is what the card does.
//
// The device's thread calls all of this unless it says otherwise. Code and graphs are made by a thread of its own (make.c), which
// begins when the first task wants them; nobody waits for it. Without what it takes (a driver and NVRTC that can, libcudadevrt.a)
// there is no launcher, and tasks go to queues.
#ifndef WEIR_DEVICE_CUDA_ONDEVICE_ONDEVICE_H
#define WEIR_DEVICE_CUDA_ONDEVICE_ONDEVICE_H

#include "device/cuda/cuda.h"

typedef struct weir__ondevice weir__ondevice;

// Made with the resident kernel's side. NULL and WEIR_OK: this context has none, since it keeps a timeline or WEIR_CARD_LAUNCH
// says so.
weir_status weir__ondevice_create(weir__cuda_device *device, weir__ondevice **out_launcher);
// The device's thread has ended. The device's context is current if `entered`.
void weir__ondevice_destroy(weir__ondevice *launcher, bool entered);

// What follows may be called with NULL.

// A task is handed over: whether it should go to the launcher, if it may when its turn comes.
bool weir__ondevice_wants(weir__ondevice *launcher, const weir__task *task);
// A task was reported, wherever it was.
void weir__ondevice_settled(weir__ondevice *launcher, weir__id id);

// The task's predecessors are done or with the launcher, whose numbers are `edges`, at most WEIR__L_EDGES. WAIT: something in flight
// there must be done first. REFUSED: it is to go to a queue.
typedef enum weir__ondevice_answer {
  WEIR__ONDEVICE_TAKEN,
  WEIR__ONDEVICE_WAIT,
  WEIR__ONDEVICE_REFUSED,
} weir__ondevice_answer;
weir__ondevice_answer weir__ondevice_write(weir__ondevice *launcher, weir__task *task, const uint32_t *edges,
                                           uint32_t edge_count, uint32_t *out_number);

// Tells the card what was written, and launches its scheduler if it is wanted and not there.
void weir__ondevice_tell(weir__ondevice *launcher);
// Reports what is done. Returns whether there was anything.
bool weir__ondevice_poll(weir__ondevice *launcher);
uint32_t weir__ondevice_in_flight(const weir__ondevice *launcher);
// The device is lost: what is in flight fails. Returns whether there was anything.
bool weir__ondevice_report_lost(weir__ondevice *launcher);
// Waits until nothing of it is on the card.
void weir__ondevice_stop(weir__ondevice *launcher);
// The caller gives up what runs: the scheduler faults. Any thread.
void weir__ondevice_abort(weir__ondevice *launcher);
// Why there is no launcher, though one was wanted; "": there is, or none was. Any thread.
void weir__ondevice_reason(weir__ondevice *launcher, char *out_text, size_t bytes);

#endif // WEIR_DEVICE_CUDA_ONDEVICE_ONDEVICE_H
