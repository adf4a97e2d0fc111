// SPDX-License-Identifier: Apache-2.0
//
// Chains: checked, made, released.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "engine/boxes.h"
#include "engine/buffer.h"
#include "engine/check.h"
#include "pipeline/chain.h"

enum { DEFAULT_DEPTH = 2, VALUE_ALIGNMENT = 16, CHAINS_KEPT = 64 };

static weir_status no_memory(void) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "chain create: no memory");
}

static weir_status check_numbers(const weir_chain_options *options) {
  if (options->stage_count == 0 || options->stage_count > WEIR_CHAIN_MOST_STAGES || options->stages == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: %u stages%s; 1 to %d are possible",
                       options->stage_count, options->stages == NULL ? " at NULL" : "", WEIR_CHAIN_MOST_STAGES);
  if (options->link_count > WEIR_CHAIN_MOST_LINKS || (options->link_count > 0 && options->link_bytes == NULL))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: %u links%s; at most %d are possible",
                       options->link_count, options->link_bytes == NULL ? " at NULL" : "", WEIR_CHAIN_MOST_LINKS);
  if (options->depth > WEIR_CHAIN_MOST_DEPTH)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: a depth of %u; at most %d are possible",
                       options->depth, WEIR_CHAIN_MOST_DEPTH);
  for (uint32_t i = 0; i < options->link_count; i++) {
    if (options->link_bytes[i] == 0 || options->link_bytes[i] == WEIR_WHOLE)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: link %u has %s bytes", i,
                         options->link_bytes[i] == 0 ? "no" : "too many");
  }
  for (uint32_t i = 0; i < options->stage_count; i++) {
    const weir_chain_stage *stage = &options->stages[i];
    if (weir__sets_reserved(stage->reserved))
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: stage %u: " WEIR__RESERVED_TEXT, i);
    if (stage->arg_count > WEIR_MAX_ARGS || (stage->arg_count > 0 && stage->args == NULL))
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "chain create: stage %u has %u arguments%s; at most %d are possible", i, stage->arg_count,
                         stage->args == NULL ? " at NULL" : "", WEIR_MAX_ARGS);
  }
  return WEIR_OK;
}

// Where a stage runs. The lock is held.
static weir_status choose_device(weir_context *context, uint32_t index, const weir_chain_stage *given,
                                 weir_device **out_device) {
  char what[48];
  snprintf(what, sizeof what, "chain create: stage %u", index);
  if ((given->kernel == NULL) == (given->host == NULL))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: it needs a kernel or a host function, and not both", what);
  if (given->kernel != NULL) {
    weir_status status = weir__object_check(given->kernel, WEIR__KIND_KERNEL, context, what);
    if (status != WEIR_OK) return status;
  }
  const char *name = given->kernel != NULL ? given->kernel->name : "a host function";
  weir_device *device = given->device;
  if (device != NULL && device->host != &context->host)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the device belongs to another context", what);
  if (device == NULL && given->kernel == NULL) device = context->devices.cpu;
  if (device == NULL && given->kernel != NULL && given->kernel->has_device)
    device = context->host.devices[given->kernel->device];
  if (device == NULL)
    return weir__error(WEIR_ERROR_NO_CODE, "%s: %s has no code for any device of the context", what, name);
  if (!device->ops->has_code(device, given->kernel))
    return weir__error(WEIR_ERROR_NO_CODE, "%s: %s has no code for device %s", what, name, device->name);
  *out_device = device;
  return WEIR_OK;
}

// Where the bytes of values are, one behind the other.
static uint64_t value_bytes(const weir_chain_arg *arg) {
  bool has = arg->source == WEIR_CHAIN_FIXED && arg->arg.mode == WEIR_VALUE && arg->arg.value != NULL &&
             arg->arg.bytes <= WEIR__MAX_VALUE_BYTES;
  return has ? (arg->arg.bytes + VALUE_ALIGNMENT - 1) / VALUE_ALIGNMENT * VALUE_ALIGNMENT : 0;
}

static weir_status use_link(weir_chain *chain, uint32_t stage, uint32_t index, const weir_chain_arg *arg) {
  if (arg->index >= chain->link_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "chain create: stage %u, argument %u: link %u, of which there are %u", stage, index, arg->index,
                       chain->link_count);
  weir__chain_link *link = &chain->links[arg->index];
  bool reads = arg->arg.mode == WEIR_READ, written = link->writer != UINT32_MAX;
  if (reads ? written && link->writer < stage : arg->arg.mode == WEIR_WRITE && !written) {
    if (!reads) link->writer = stage;
    link->last_reader = stage;
    return WEIR_OK;
  }
  const char *why = arg->arg.mode != WEIR_WRITE && !reads ? "is neither read nor overwritten"
                    : !reads                              ? "is written a second time"
                                                          : "is read, but no stage before writes it";
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: stage %u, argument %u: link %u %s", stage, index,
                     arg->index, why);
}

// Copies the arguments of all stages, and learns how links and items' arguments are used.
static weir_status take_args(weir_chain *chain) {
  weir_chain_arg *args = chain->args;
  unsigned char *values = chain->values;
  char what[64];
  for (uint32_t i = 0; i < chain->stage_count; i++) {
    weir_chain_stage *given = &chain->stages[i].given;
    for (uint32_t j = 0; j < given->arg_count; j++) {
      args[j] = given->args[j];
      uint64_t bytes = value_bytes(&args[j]);
      if (bytes > 0) args[j].arg.value = memcpy(values, args[j].arg.value, args[j].arg.bytes);
      values += bytes;
      weir_status status = WEIR_OK;
      if (args[j].source == WEIR_CHAIN_LINK)
        status = use_link(chain, i, j, &args[j]);
      else if (args[j].source == WEIR_CHAIN_ITEM && args[j].index >= WEIR_MAX_ARGS)
        status = weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                             "chain create: stage %u, argument %u: number %u of an item's arguments; at most %d are "
                             "possible",
                             i, j, args[j].index, WEIR_MAX_ARGS);
      else if (args[j].source == WEIR_CHAIN_ITEM && args[j].index >= chain->item_arg_count)
        chain->item_arg_count = args[j].index + 1;
      else if (args[j].source != WEIR_CHAIN_FIXED && args[j].source != WEIR_CHAIN_ITEM)
        status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: stage %u, argument %u: %d is no source", i, j,
                             (int)args[j].source);
      if (status == WEIR_OK && args[j].source == WEIR_CHAIN_FIXED && args[j].arg.mode != WEIR_VALUE &&
          args[j].arg.shape != WEIR_RANGE) {
        snprintf(what, sizeof what, "chain create: stage %u", i);
        status = weir__refuse_box(&args[j].arg, j, what);
      }
      if (status == WEIR_OK && weir__sets_reserved(args[j].reserved))
        status =
            weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: stage %u, argument %u: " WEIR__RESERVED_TEXT, i, j);
      if (status != WEIR_OK) return status;
    }
    given->args = args;
    args += given->arg_count;
  }
  return WEIR_OK;
}

static weir_status check_uses(const weir_chain *chain) {
  for (uint32_t i = 0; i < chain->link_count; i++) {
    const weir__chain_link *link = &chain->links[i];
    if (link->writer == UINT32_MAX || link->last_reader == link->writer)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: no stage %s link %u",
                         link->writer == UINT32_MAX ? "writes" : "reads", i);
  }
  bool used[WEIR_MAX_ARGS] = {false};
  for (uint32_t i = 0; i < chain->stage_count; i++) {
    const weir_chain_stage *given = &chain->stages[i].given;
    for (uint32_t j = 0; j < given->arg_count; j++) {
      if (given->args[j].source == WEIR_CHAIN_ITEM) used[given->args[j].index] = true;
    }
  }
  for (uint32_t i = 0; i < chain->item_arg_count; i++) {
    if (!used[i])
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "chain create: no stage has argument %u of the items, though %u are used", i,
                         chain->item_arg_count);
  }
  return WEIR_OK;
}

static weir_status make_buffers(weir_chain *chain) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < chain->link_count; i++)
    count += (uint64_t)(chain->links[i].last_reader - chain->links[i].writer) * chain->depth;
  chain->buffers = weir__allocate_zeroed((count + 1) * sizeof(weir_buffer *));
  if (chain->buffers == NULL) return no_memory();
  weir_buffer **buffers = chain->buffers;
  for (uint32_t i = 0; i < chain->link_count; i++) {
    weir__chain_link *link = &chain->links[i];
    link->buffers = buffers;
    link->buffer_count = (link->last_reader - link->writer) * chain->depth;
    buffers += link->buffer_count;
    for (uint32_t j = 0; j < link->buffer_count; j++) {
      weir_status status = weir__buffer_make(chain->object.context, "chain create", link->bytes, &link->buffers[j]);
      if (status != WEIR_OK) return status;
      link->buffers[j]->kept = true;
      char label[WEIR__LABEL_BYTES];
      snprintf(label, sizeof label, "link %u.%u", i, j);
      weir_buffer_set_label(link->buffers[j], label);
    }
  }
  return WEIR_OK;
}

// What is wrong with the arguments of a stage, as far as they are known: those of items, and those whose
// mode the code tells, count as values.
static weir_status check_stage(weir_chain *chain, uint32_t index) {
  static const unsigned char any;
  const weir__chain_stage *stage = &chain->stages[index];
  const weir_chain_stage *given = &stage->given;
  for (uint32_t i = 0; i < given->arg_count; i++) {
    const weir_chain_arg *arg = &given->args[i];
    weir_buffer *link = arg->source == WEIR_CHAIN_LINK ? chain->links[arg->index].buffers[0] : NULL;
    bool open = arg->source == WEIR_CHAIN_ITEM || (arg->source == WEIR_CHAIN_FIXED && arg->arg.mode == WEIR_AUTO);
    chain->task_args[i] = open ? weir_value(&any, 1)
                          : arg->source == WEIR_CHAIN_FIXED
                              ? arg->arg
                              : (weir_arg){.mode = arg->arg.mode, .buffer = link, .bytes = WEIR_WHOLE};
  }
  weir_task task = {.label = stage->label_text, .args = chain->task_args, .arg_count = given->arg_count};
  weir__checked checked;
  weir_status status = weir__check_args(chain->object.context, &task, stage->device->space, chain->accesses, &checked);
  if (status == WEIR_OK) return WEIR_OK;
  char message[512];
  snprintf(message, sizeof message, "%s", weir_last_error());
  return weir__error(status, "chain create: stage %u: %s", index, message);
}

static bool allocate(weir_chain *chain, const weir_chain_options *options) {
  uint64_t args = 0, values = 0, most_args = 0;
  for (uint32_t i = 0; i < options->stage_count; i++) {
    const weir_chain_stage *stage = &options->stages[i];
    args += stage->arg_count;
    if (stage->arg_count > most_args) most_args = stage->arg_count;
    for (uint32_t j = 0; j < stage->arg_count; j++) values += value_bytes(&stage->args[j]);
  }
  uint64_t slots = (uint64_t)chain->stage_count * chain->depth;
  chain->stages = weir__allocate_zeroed(chain->stage_count * sizeof *chain->stages);
  chain->links = weir__allocate_zeroed((chain->link_count + 1ull) * sizeof *chain->links);
  chain->args = weir__allocate_zeroed((args + 1) * sizeof *chain->args);
  chain->values = weir__allocate_zeroed(values + 1);
  chain->events = weir__allocate_zeroed(slots * sizeof(weir_event *));
  chain->ends = weir__allocate_zeroed(slots * sizeof *chain->ends);
  chain->task_args = weir__allocate_zeroed((most_args + 1) * sizeof *chain->task_args);
  chain->accesses = weir__allocate_zeroed((most_args + 1) * sizeof *chain->accesses);
  return chain->stages != NULL && chain->links != NULL && chain->args != NULL && chain->values != NULL &&
         chain->events != NULL && chain->ends != NULL && chain->task_args != NULL && chain->accesses != NULL;
}

static void fill(weir_chain *chain, const weir_chain_options *options) {
  for (uint32_t i = 0; i < chain->link_count; i++)
    chain->links[i] = (weir__chain_link){.bytes = options->link_bytes[i], .writer = UINT32_MAX};
  for (uint32_t i = 0; i < chain->stage_count; i++) {
    weir__chain_stage *stage = &chain->stages[i];
    stage->given = options->stages[i];
    stage->events = chain->events + (uint64_t)i * chain->depth;
    stage->ends = chain->ends + (uint64_t)i * chain->depth;
  }
}

static void name_stage(weir__chain_stage *stage) {
  weir_chain_stage *given = &stage->given;
  const char *name = given->label != NULL ? given->label : given->kernel != NULL ? given->kernel->name : "host task";
  snprintf(stage->label_text, sizeof stage->label_text, "%s", name);
  if (given->label != NULL) given->label = stage->label_text;
  stage->statistics.device = stage->device;
}

static weir_status initialize(weir_chain *chain, const weir_chain_options *options) {
  weir_context *context = chain->object.context;
  chain->stage_count = options->stage_count;
  chain->link_count = options->link_count;
  chain->depth = options->depth == 0 ? DEFAULT_DEPTH : options->depth;
  chain->most_in_flight = options->in_flight != 0 ? options->in_flight : chain->depth * (chain->stage_count + 1);
  if (!allocate(chain, options)) return no_memory();
  fill(chain, options);
  weir_status status = WEIR_OK;
  weir__context_lock(context);
  for (uint32_t i = 0; i < chain->stage_count && status == WEIR_OK; i++) {
    status = choose_device(context, i, &chain->stages[i].given, &chain->stages[i].device);
    if (status == WEIR_OK) name_stage(&chain->stages[i]);
  }
  weir__context_unlock(context);
  if (status == WEIR_OK) status = take_args(chain);
  if (status == WEIR_OK) status = check_uses(chain);
  if (status == WEIR_OK) status = make_buffers(chain);
  weir__context_lock(context);
  for (uint32_t i = 0; i < chain->stage_count && status == WEIR_OK; i++) status = check_stage(chain, i);
  weir__context_unlock(context);
  return status;
}

static void release_buffers(weir_chain *chain) {
  for (uint32_t i = 0; chain->links != NULL && i < chain->link_count; i++) {
    for (uint32_t j = 0; j < chain->links[i].buffer_count; j++) weir_buffer_release(chain->links[i].buffers[j]);
  }
}

static void destroy_object(weir__object *object) {
  weir_chain *chain = (weir_chain *)object;
  while (chain->free_items != NULL) {
    weir__chain_item *item = chain->free_items;
    chain->free_items = item->next;
    weir__free(item);
  }
  void *const memory[] = {chain->stages, chain->links, chain->args,      chain->values,  chain->buffers,
                          chain->events, chain->ends,  chain->task_args, chain->accesses};
  for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) weir__free(memory[i]);
  weir__object header = chain->object;
  memset(chain, 0, sizeof *chain);
  chain->object = header;
}

weir_status weir_chain_create_sized(weir_context *context, const weir_chain_options *given, size_t options_size,
                                    weir_chain **out_chain) {
  if (out_chain == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: out_chain is NULL");
  *out_chain = NULL;
  if (context == NULL || given == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain create: the %s NULL",
                       context == NULL ? "context is" : "options are");
  weir_chain_options options;
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "chain create");
  if (status == WEIR_OK) status = check_numbers(&options);
  if (status != WEIR_OK) return status;
  weir_chain *chain;
  weir__context_lock(context);
  if (context->objects.chains.object_bytes == 0)
    weir__object_pool_initialize(&context->objects.chains, WEIR__KIND_CHAIN, sizeof *chain, CHAINS_KEPT,
                                 destroy_object);
  chain = (weir_chain *)weir__object_take(&context->objects.chains, context, UINT64_MAX);
  if (chain != NULL) {
    weir__object header = chain->object;
    memset(chain, 0, sizeof *chain);
    chain->object = header;
  }
  weir__context_unlock(context);
  if (chain == NULL) return no_memory();
  status = initialize(chain, &options);
  if (status != WEIR_OK) {
    release_buffers(chain);
    weir__context_lock(context);
    weir__chain_close(chain);
    weir__context_unlock(context);
    return status;
  }
  atomic_store_explicit(&context->host.times_tasks, true, memory_order_relaxed);
  *out_chain = chain;
  return WEIR_OK;
}

void weir__chain_close(weir_chain *chain) {
  uint32_t slots = chain->events == NULL ? 0 : chain->stage_count * chain->depth;
  for (uint32_t i = 0; i < slots; i++) {
    if (chain->events[i] == NULL) continue;
    chain->events[i]->object.released = true;
    weir__event_drop(chain->events[i]);
  }
  destroy_object(&chain->object);
  weir__object_give(&chain->object.context->objects.chains, &chain->object);
}

weir_status weir_chain_release(weir_chain *chain) {
  if (chain == NULL) return WEIR_OK;
  weir_status status = weir__object_check(chain, WEIR__KIND_CHAIN, NULL, "chain release");
  if (status != WEIR_OK) return status;
  weir_context *context = chain->object.context;
  release_buffers(chain);
  weir__context_lock(context);
  chain->object.released = chain->closed = true;
  if (chain->first == NULL) weir__chain_close(chain);
  weir__context_unlock(context);
  return WEIR_OK;
}

weir_chain_arg weir_chain_fixed(weir_arg arg) {
  return (weir_chain_arg){.source = WEIR_CHAIN_FIXED, .arg = arg};
}

weir_chain_arg weir_chain_item_arg(uint32_t index) {
  return (weir_chain_arg){.source = WEIR_CHAIN_ITEM, .index = index};
}

weir_chain_arg weir_chain_writes(uint32_t link) {
  return (weir_chain_arg){.source = WEIR_CHAIN_LINK, .arg.mode = WEIR_WRITE, .index = link};
}

weir_chain_arg weir_chain_reads(uint32_t link) {
  return (weir_chain_arg){.source = WEIR_CHAIN_LINK, .arg.mode = WEIR_READ, .index = link};
}

weir_status weir_chain_get_statistics_sized(weir_chain *chain, weir_chain_statistics *out_statistics,
                                            size_t statistics_size) {
  if (out_statistics == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain statistics: out_statistics is NULL");
  weir_chain_statistics statistics = {0};
  weir__struct_give(out_statistics, statistics_size, &statistics, sizeof statistics);
  weir_status status = weir__object_check(chain, WEIR__KIND_CHAIN, NULL, "chain statistics");
  if (status != WEIR_OK) return status;
  weir__context_lock(chain->object.context);
  statistics = chain->statistics;
  statistics.stage_count = chain->stage_count;
  for (uint32_t i = 0; i < chain->stage_count; i++) statistics.stages[i] = chain->stages[i].statistics;
  weir__context_unlock(chain->object.context);
  weir__struct_give(out_statistics, statistics_size, &statistics, sizeof statistics);
  return WEIR_OK;
}
