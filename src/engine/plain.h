// SPDX-License-Identifier: Apache-2.0
//
// The short way into the window, for most tasks of most programs.
#ifndef WEIR_ENGINE_PLAIN_H
#define WEIR_ENGINE_PLAIN_H

#include "engine/context.h"

// The mode of an argument that has no shape, and whose reserved member is 0. Others give another number.
static inline uint64_t weir__plain_mode(const weir_arg *arg) {
  uint64_t mode;
  static_assert(offsetof(weir_arg, buffer) == sizeof mode, "mode, shape and reserved member");
  memcpy(&mode, arg, sizeof mode);
  return mode;
}

// The device that a task names, or that its kernel has code for. NULL: there is none, or something is wrong. Whether the device has
// code for a kernel where the task names it, was not asked.
static inline weir_device *weir__plain_device(const weir_context *context, const weir_task *task) {
  weir_kernel *kernel = task->kernel;
  weir_device *device = task->device;
  if (device != NULL && device->host != &context->host) return NULL;
  if (kernel == NULL) return device != NULL ? device : context->devices.cpu;
  if (!weir__object_is(&kernel->object, WEIR__KIND_KERNEL) || kernel->object.context != context) return NULL;
  if (device != NULL) return device;
  return kernel->has_device ? context->host.devices[kernel->device] : NULL;
}

// Which tasks of a context may go a short way.
typedef enum weir__plain {
  WEIR__PLAIN_NONE,
  WEIR__PLAIN_HOST,  // of workers, where all memory is the host's
  WEIR__PLAIN_AHEAD, // of devices that run ahead and have memory of their own
} weir__plain;

// Finds out what the context's devices and options allow. After they are all known.
void weir__plain_open(weir_context *context);

// Submit a task that is right, for which there is room, and that asks for nothing special, as weir__submit would. False:
// it is another kind of task, or perhaps not right. Nothing has changed then, and weir__submit says what is to be said. The lock
// is held, and not released meanwhile.
bool weir__submit_plain(weir_context *context, const weir_task *task, weir_event **out_event);
bool weir__submit_plain_ahead(weir_context *context, const weir_task *task, weir_event **out_event);

static inline bool weir__submit_short(weir_context *context, const weir_task *task, weir_event **out_event) {
  if (context->devices.plain == WEIR__PLAIN_HOST) return weir__submit_plain(context, task, out_event);
  return context->devices.plain == WEIR__PLAIN_AHEAD && weir__submit_plain_ahead(context, task, out_event);
}

enum { WEIR__PLAIN_ARGS = 8 }; // their accesses and pointers fit in a slot

// A plain task without its buffers and values.
typedef struct weir__plain_form {
  bool plain;  // it is one, if these are plain, too
  bool valued; // some argument is a value
  bool whole;  // all are whole buffers, and it asks for nothing else (engine/plain_whole.h)
  uint32_t access_count;
  struct {
    uint64_t lo, bytes; // bytes may be WEIR_WHOLE
    uint8_t mode;       // weir_mode
    bool whole;         // of any buffer
  } accesses[WEIR__PLAIN_ARGS];
} weir__plain_form;

// Finds out what is known of a task that weir__submit would not refuse for its own sake.
void weir__plain_prepare(const weir_task *task, weir__plain_form *out_form);

// As weir__submit_plain, for a task of this form with these buffers. The arguments of `task` are looked at for values only, but
// `form` must be of these.
bool weir__submit_prepared(weir_context *context, const weir_task *task, const weir__plain_form *form,
                           weir_buffer *const *buffers, weir_event **out_event);

#endif // WEIR_ENGINE_PLAIN_H
