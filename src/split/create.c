// SPDX-License-Identifier: Apache-2.0
//
// Splits: made, released, asked.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/structs.h"
#include "split/policy.h"
#include "split/split.h"

static const double FLOOR = 0.005, OVERHEAD = 0.02;

enum { ROUNDS = 10, COST_NS = 2000 };

static weir_status invalid(const char *text) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: %s", text);
}

static weir_status take_devices(weir_split *split, const weir_split_options *options) {
  bool all = options->devices == NULL;
  uint32_t count = all ? split->context->devices.listed_count : options->device_count;
  if (all && options->device_count != 0) return invalid("a number of devices, but no list of them");
  if (count == 0 || count > WEIR_SPLIT_MOST_DEVICES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: %u devices; 1 to %d are possible", count,
                       WEIR_SPLIT_MOST_DEVICES);
  for (uint32_t i = 0; i < count; i++) {
    weir_device *device = all ? split->context->host.devices[i] : options->devices[i];
    if (device == NULL || device->host != &split->context->host)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: device %u %s", i,
                         device == NULL ? "is NULL" : "belongs to another context");
    uint64_t twins = 0;
    for (uint32_t j = 0; j < i; j++) {
      if (split->devices[j] == device)
        return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: device %u is device %u again (%s)", i, j, device->name);
      twins += strcmp(split->devices[j]->name, device->name) == 0;
    }
    split->devices[i] = device;
    split->ids[i] = weir__hash_of(device->name, strlen(device->name)).low + twins;
  }
  split->device_count = split->table.device_count = count;
  return WEIR_OK;
}

static weir_status take_numbers(weir_split *split, const weir_split_options *options) {
  double sum = 0;
  for (uint32_t i = 0; i < split->device_count; i++) {
    double share = options->shares == NULL ? 0 : options->shares[i];
    if (!isfinite(share) || share < 0)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: a share of %g for device %u", share, i);
    split->shares[i] = share;
    sum += share;
    split->granularities[i] = options->granularities == NULL || options->granularities[i] == 0 //
                                  ? 1
                                  : options->granularities[i];
  }
  if (options->shares != NULL && (sum <= 0 || !isfinite(sum))) return invalid("shares that are all 0, or too large");
  if (options->rounds > WEIR_SPLIT_MOST_ROUNDS)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: %u rounds; at most %d are possible", options->rounds,
                       WEIR_SPLIT_MOST_ROUNDS);
  if (!(options->floor >= 0 && options->floor * split->device_count <= 1))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: a floor of %g for %u devices", options->floor,
                       split->device_count);
  if (!(options->overhead >= 0 && options->overhead <= 1))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split: an overhead of %g; 0 to 1 are possible", options->overhead);
  split->rounds = options->rounds == 0 ? ROUNDS : options->rounds;
  split->floor = options->floor > 0 ? options->floor : FLOOR;
  split->overhead = options->overhead > 0 ? options->overhead : OVERHEAD;
  split->least = options->least;
  return WEIR_OK;
}

static weir_status take_policy(weir_split *split, const weir_split_options *options) {
  if (options->policy != NULL && options->custom != NULL) return invalid("both a policy by name and one of its own");
  const weir_split_policy *policy = options->custom;
  if (policy == NULL) policy = weir_split_find_policy(options->policy == NULL ? "auto" : options->policy);
  if (policy == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "split: there is no policy '%.40s'; known: static, history, queue, guided, frames, auto",
                       options->policy);
  if (policy->next == NULL || policy->name == NULL || strlen(policy->name) >= sizeof split->policy_name)
    return invalid("a policy without the function `next`, or without a name of at most 23 bytes");
  if (weir__sets_reserved(policy->reserved)) return invalid("the policy: " WEIR__RESERVED_TEXT);
  split->resident = options->resident;
  if (split->resident && (policy->next == weir__split_queue.next || policy->next == weir__split_guided.next))
    return weir__error(
        WEIR_ERROR_INVALID_ARGUMENT,
        "split: policy '%s' hands out parts while a launch runs; resident contents need one that gives all "
        "parts before: static, history, frames, auto",
        policy->name);
  if (split->resident) atomic_store_explicit(&split->context->host.times_tasks, true, memory_order_relaxed);
  split->policy = *policy;
  snprintf(split->policy_name, sizeof split->policy_name, "%s", policy->name);
  split->policy.name = split->policy_name;
  return WEIR_OK;
}

static void destroy(weir_split *split) {
  weir__split_table_clear(&split->table);
  weir__free(split->path);
  weir__free(split);
}

static weir_status initialize(weir_split *split, const weir_split_options *options) {
  weir_status status = take_devices(split, options);
  if (status == WEIR_OK) status = take_numbers(split, options);
  if (status == WEIR_OK) status = take_policy(split, options);
  if (status != WEIR_OK || options->history == NULL) return status;
  if (options->history[0] == '\0') return invalid("the name of the history's file is empty");
  split->path = weir__allocate_string(options->history);
  if (split->path == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "split: no memory");
  weir__split_table_load(&split->table, split->ids, split->path, split->warning, sizeof split->warning);
  return WEIR_OK;
}

weir_status weir_split_create_sized(weir_context *context, const weir_split_options *given, size_t options_size,
                                    weir_split **out_split) {
  if (out_split == NULL) return invalid("out_split is NULL");
  *out_split = NULL;
  if (context == NULL) return invalid("the context is NULL");
  weir_split_options options;
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "split");
  if (status != WEIR_OK) return status;
  weir_split *split = weir__allocate_zeroed(sizeof *split);
  if (split != NULL) weir__lock_ignores(&split->lock);
  if (split == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "split: no memory");
  split->context = context;
  split->references = 1;
  split->cost_ns = COST_NS;
  weir_device *device = NULL;
  status = initialize(split, &options);
  if (status == WEIR_OK) status = weir__split_device(context, &device);
  if (status != WEIR_OK) {
    destroy(split);
    return status;
  }
  weir__split_device_add(device, split);
  *out_split = split;
  return WEIR_OK;
}

void weir__split_drop(weir_split *split) {
  weir__lock_acquire(&split->lock);
  bool last = --split->references == 0;
  weir__lock_release(&split->lock);
  if (last) destroy(split);
}

static weir_status save(weir_split *split) {
  char text[sizeof split->warning] = "";
  weir__lock_acquire(&split->lock);
  weir_status status = weir__split_table_save(&split->table, split->ids, split->path, text, sizeof text);
  weir__lock_release(&split->lock);
  return status == WEIR_OK ? WEIR_OK : weir__error(status, "split: %s", text);
}

weir_status weir_split_save(weir_split *split) {
  if (split == NULL) return invalid("NULL is no split to save");
  if (split->path == NULL) return invalid("it has no file for its history");
  return save(split);
}

weir_status weir_split_release(weir_split *split) {
  if (split == NULL) return WEIR_OK;
  weir_device *device = NULL;
  weir_status status = split->path == NULL ? WEIR_OK : save(split);
  weir__split_device(split->context, &device); // it exists
  weir__split_device_remove(device, split);
  weir__split_drop(split);
  return status;
}

weir_status weir_split_last_round_sized(weir_split *split, weir_split_round *out_round, size_t round_size) {
  if (split == NULL || out_round == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split last round: the %s is NULL",
                       split == NULL ? "split" : "round");
  weir__lock_acquire(&split->lock);
  bool has = split->has_last;
  weir__struct_give(out_round, round_size, &split->last, sizeof split->last);
  weir__lock_release(&split->lock);
  return has ? WEIR_OK : weir__error(WEIR_ERROR_UNAVAILABLE, "split last round: no launch is done yet");
}

const char *weir_split_warning(const weir_split *split) {
  return split == NULL ? "" : split->warning;
}

weir_split_arg weir_split_whole(weir_arg arg) {
  return (weir_split_arg){.arg = arg, .mapping = WEIR_SPLIT_WHOLE};
}

weir_split_arg weir_split_block(weir_arg arg, uint64_t group_bytes) {
  return weir_split_halo(arg, group_bytes, 0, 0);
}

weir_split_arg weir_split_halo(weir_arg arg, uint64_t group_bytes, uint32_t before, uint32_t after) {
  return (weir_split_arg){
      .arg = arg, .mapping = WEIR_SPLIT_BLOCK, .group_bytes = group_bytes, .halo_before = before, .halo_after = after};
}

weir_split_arg weir_split_by(weir_arg arg, weir_split_function function, void *user) {
  return (weir_split_arg){.arg = arg, .mapping = WEIR_SPLIT_FUNCTION, .function = function, .function_user = user};
}

weir_split_arg weir_split_part_of(uint32_t halo_of) {
  return (weir_split_arg){.mapping = WEIR_SPLIT_PART, .halo_of = halo_of};
}
