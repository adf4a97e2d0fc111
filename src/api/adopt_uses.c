// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of a graph that is adopted use, as far as somebody says so.
#include <stdlib.h>
#include <string.h>

#include "api/adopt.h"
#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"

typedef weir__adoption adoption;
typedef weir__adopt_use use;
typedef weir__adopt_place place;

// What a function says of a node.
struct weir_cuda_accesses {
  adoption *to;
  uint32_t node;
  bool described;
  weir_status status; // of the first access that was refused
};

static bool reserve_use(adoption *to) {
  if (to->use_count < to->use_capacity) return true;
  uint32_t capacity = to->use_capacity == 0 ? 256 : 2 * to->use_capacity;
  use *larger = to->use_count > UINT32_MAX / 4 ? NULL : weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  if (to->use_count > 0) memcpy(larger, to->uses, to->use_count * sizeof *larger);
  weir__free(to->uses);
  to->uses = larger;
  to->use_capacity = capacity;
  return true;
}

// The first of the caller's buffers that ends behind an address.
static uint32_t find_given(const adoption *to, uint64_t address) {
  uint32_t low = 0, high = to->given_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (to->places[middle].hi <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Cut where buffers of the caller's begin and end.
static weir_status add_use(adoption *to, uint32_t node, uint64_t lo, uint64_t hi, weir_mode mode) {
  uint32_t next = find_given(to, lo);
  while (lo < hi) {
    const place *given = next < to->given_count && to->places[next].lo < hi ? &to->places[next] : NULL;
    bool in = given != NULL && given->lo <= lo;
    uint64_t end = given == NULL ? hi : in ? given->hi : given->lo;
    if (end > hi) end = hi;
    if (!reserve_use(to)) return weir__adopt_no_memory();
    to->uses[to->use_count++] = (use){.lo = lo, .hi = end, .node = node, .place = in ? next : UINT32_MAX, .mode = mode};
    lo = end;
    next += in;
  }
  return WEIR_OK;
}

static weir_status add_access(adoption *to, uint32_t node, const weir_cuda_access *access) {
  char what[WEIR__ADOPT_WHAT_BYTES];
  bool known_mode = access->mode == WEIR_READ || access->mode == WEIR_WRITE || access->mode == WEIR_READ_WRITE;
  bool ends = access->bytes <= UINT64_MAX - access->pointer;
  if (known_mode && ends && !weir__sets_reserved(access->reserved))
    return add_use(to, node, access->pointer, access->pointer + access->bytes, access->mode);
  weir__adopt_describe(to, node, what);
  if (weir__sets_reserved(access->reserved))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: an access: " WEIR__RESERVED_TEXT, what);
  if (!known_mode)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "%s: mode %d of the access at 0x%llx is not READ, WRITE or READ_WRITE", what, (int)access->mode,
                       (unsigned long long)access->pointer);
  return weir__error(WEIR_ERROR_OUT_OF_RANGE, "%s: %llu bytes from 0x%llx leave the address space", what,
                     (unsigned long long)access->bytes, (unsigned long long)access->pointer);
}

weir_status weir_cuda_access_add(weir_cuda_accesses *accesses, uint64_t pointer, uint64_t bytes, weir_mode mode) {
  if (accesses == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "access add: `accesses` is NULL");
  accesses->described = true;
  weir_status status =
      add_access(accesses->to, accesses->node, &(weir_cuda_access){.pointer = pointer, .bytes = bytes, .mode = mode});
  if (accesses->status == WEIR_OK) accesses->status = status;
  return status;
}

// The caller's function says it, or Weir knows it, or nobody does.
static weir_status ask(adoption *to, uint32_t node) {
  const weir_cuda_node *asked = &to->nodes->nodes[node];
  weir_cuda_accesses accesses = {.to = to, .node = node};
  if (to->options->describe != NULL) {
    weir_status status = to->options->describe(to->options->user, asked, &accesses);
    if (accesses.status != WEIR_OK) return accesses.status;
    if (status != WEIR_OK) {
      char what[WEIR__ADOPT_WHAT_BYTES];
      weir__adopt_describe(to, node, what);
      return weir__error(status, "%s: the function that describes it returned %s", what, weir_status_name(status));
    }
  }
  if (accesses.described) return WEIR_OK;
  to->unknown[node] = asked->accesses == NULL;
  if (to->unknown[node] && node < to->first_unknown) to->first_unknown = node;
  for (uint32_t i = 0; i < asked->access_count; i++) {
    weir_status status = add_access(to, node, &asked->accesses[i]);
    if (status != WEIR_OK) return status;
  }
  return WEIR_OK;
}

static weir_status check_list(const adoption *to) {
  const weir_cuda_adopt_options *options = to->options;
  if (options->access_count > 0 && options->accesses == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: the list of accesses is NULL");
  for (uint32_t i = 0; i < options->access_count; i++) {
    uint32_t node = options->accesses[i].node;
    if (node >= to->nodes->count)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: access %u is of node %u; there are %u nodes", i, node,
                         to->nodes->count);
    if (i > 0 && node < options->accesses[i - 1].node)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "adopt: access %u is of node %u, and the one before it of node %u: they must be in order", i,
                         node, options->accesses[i - 1].node);
  }
  return WEIR_OK;
}

weir_status weir__adopt_find_uses(adoption *to) {
  const weir_cuda_adopt_options *options = to->options;
  weir_status status = check_list(to);
  uint32_t count = to->nodes->count;
  to->first_use = weir__allocate(((size_t)count + 1) * sizeof *to->first_use);
  to->unknown = weir__allocate_zeroed(count);
  if (status == WEIR_OK && (to->first_use == NULL || to->unknown == NULL)) status = weir__adopt_no_memory();
  for (uint32_t node = 0, at = 0; node < count && status == WEIR_OK; node++) {
    to->first_use[node] = to->use_count;
    bool listed = at < options->access_count && options->accesses[at].node == node;
    if (!listed) status = ask(to, node);
    for (; at < options->access_count && options->accesses[at].node == node && status == WEIR_OK; at++)
      status = add_access(to, node, &options->accesses[at]);
  }
  if (status == WEIR_OK) to->first_use[count] = to->use_count;
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// Arguments

// Where a use begins or ends.
typedef struct edge {
  uint64_t at;
  uint32_t place;
  weir_mode mode;
  bool begins;
} edge;

static int by_address(const void *left, const void *right) {
  uint64_t a = ((const edge *)left)->at, b = ((const edge *)right)->at;
  return a < b ? -1 : a > b;
}

// Adds an argument, or lets the last one go on. False: there are too many.
static bool add_arg(const adoption *to, uint32_t in, uint64_t lo, uint64_t hi, weir_mode mode, weir_arg *args,
                    uint32_t *count) {
  const place *where = &to->places[in];
  weir_arg *last = *count > 0 ? &args[*count - 1] : NULL;
  if (last != NULL && last->buffer == where->buffer && last->mode == mode &&
      last->offset + last->bytes == lo - where->lo) {
    last->bytes += hi - lo;
    return true;
  }
  if (*count == WEIR_MAX_ARGS) return false;
  args[(*count)++] = (weir_arg){.mode = mode, .buffer = where->buffer, .offset = lo - where->lo, .bytes = hi - lo};
  return true;
}

// What all uses of some bytes are together.
static weir_mode together(const uint32_t active[WEIR_READ_WRITE + 1]) {
  if (active[WEIR_READ_WRITE] > 0 || (active[WEIR_READ] > 0 && active[WEIR_WRITE] > 0)) return WEIR_READ_WRITE;
  return active[WEIR_WRITE] > 0 ? WEIR_WRITE : WEIR_READ;
}

static weir_status too_many(const adoption *to, uint32_t node, uint32_t count) {
  char what[WEIR__ADOPT_WHAT_BYTES];
  weir__adopt_describe(to, node, what);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s%s uses %u ranges of memory; a task has at most %d", what,
                     to->unknown[node] ? ", which nobody described," : "", count, WEIR_MAX_ARGS);
}

// It may use anything: the first such node counts as an update of all buffers. The later ones come after it anyway; they are
// skipped if it was, since what it should have written is poisoned.
static weir_status make_all(const adoption *to, uint32_t node, weir_arg *args, uint32_t *out_count) {
  uint32_t count = to->first_unknown == node || to->place_count == 0 ? to->place_count : 1;
  if (count > WEIR_MAX_ARGS) return too_many(to, node, count);
  for (uint32_t i = 0; i < count; i++)
    args[i] = (weir_arg){.mode = WEIR_READ_WRITE, .buffer = to->places[i].buffer, .bytes = WEIR_WHOLE};
  *out_count = count;
  return WEIR_OK;
}

weir_status weir__adopt_make_args(const adoption *to, uint32_t node, weir_arg *args, uint32_t *out_count) {
  uint32_t count = to->first_use[node + 1] - to->first_use[node], active[WEIR_READ_WRITE + 1] = {0};
  *out_count = 0;
  if (to->unknown[node]) return make_all(to, node, args, out_count);
  if (count == 0) return WEIR_OK;
  const use *uses = to->uses + to->first_use[node];
  edge *edges = weir__allocate(2 * (size_t)count * sizeof *edges);
  if (edges == NULL) return weir__adopt_no_memory();
  for (uint32_t i = 0; i < count; i++) {
    edges[2 * i] = (edge){uses[i].lo, uses[i].place, uses[i].mode, true};
    edges[2 * i + 1] = (edge){uses[i].hi, uses[i].place, uses[i].mode, false};
  }
  qsort(edges, 2 * (size_t)count, sizeof *edges, by_address);
  weir_status status = WEIR_OK;
  for (uint32_t i = 0, open = 0, in = 0; i < 2 * count && status == WEIR_OK; i++) {
    bool stretch = open > 0 && edges[i].at > edges[i - 1].at;
    if (stretch && !add_arg(to, in, edges[i - 1].at, edges[i].at, together(active), args, out_count))
      status = too_many(to, node, count);
    active[edges[i].mode] += edges[i].begins ? 1 : UINT32_MAX;
    open += edges[i].begins ? 1 : UINT32_MAX;
    if (edges[i].begins) in = edges[i].place;
  }
  weir__free(edges);
  return status;
}
