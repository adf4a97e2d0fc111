// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/binding.h"

#include <string.h>

#include "base/allocate.h"

bool weir__cuda_binding_create(weir__cuda_binding *binding, const weir__graph_plan *plan) {
  *binding = (weir__cuda_binding){.args = weir__allocate_zeroed((plan->arg_count + 1) * sizeof(void *)),
                                  .values = weir__allocate_zeroed(plan->value_bytes + 1),
                                  .changed = weir__allocate_zeroed(plan->node_count * sizeof(bool))};
  return binding->args != NULL && binding->values != NULL && binding->changed != NULL;
}

void weir__cuda_binding_free(weir__cuda_binding *binding) {
  weir__free(binding->args);
  weir__free(binding->values);
  weir__free(binding->changed);
  *binding = (weir__cuda_binding){0};
}

// Pointers: where buffers and the caller's memory are. Where values are says nothing.
static bool take_pointers(weir__cuda_binding *binding, const weir__graph_run *run, const weir__graph_node *node) {
  bool same = true;
  for (uint32_t i = node->first_arg; i < node->first_arg + node->arg_count; i++) {
    if (binding->args[i] == run->args[i]) continue;
    const weir__graph_arg *arg = &run->plan->args[i];
    binding->args[i] = run->args[i];
    same = same && arg->mode == WEIR_VALUE && !arg->host;
  }
  return same;
}

static bool take_values(weir__cuda_binding *binding, const weir__graph_run *run, const weir__graph_node *node) {
  unsigned char *known = binding->values + node->first_value;
  const unsigned char *values = run->values + node->first_value;
  if (node->value_bytes == 0 || memcmp(known, values, node->value_bytes) == 0) return true;
  memcpy(known, values, node->value_bytes);
  return false;
}

uint32_t weir__cuda_binding_take(weir__cuda_binding *binding, const weir__graph_run *run) {
  uint32_t count = 0;
  if (binding->known && binding->stamp == run->stamp) return 0;
  binding->stamp = run->stamp;
  for (uint32_t i = 0; i < run->plan->node_count; i++) {
    const weir__graph_node *node = &run->plan->nodes[i];
    bool same_pointers = take_pointers(binding, run, node), same_values = take_values(binding, run, node);
    binding->changed[i] = !binding->known || !same_pointers || !same_values;
    count += binding->changed[i];
  }
  binding->known = true;
  return count;
}

void weir__cuda_binding_forget(weir__cuda_binding *binding) {
  binding->known = false;
}
