// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. A tree over the intervals of a buffer, halved again and again; an access is noted at the O(log intervals) places that
// together are its range. At each place stand the last writer of the whole place and its readers since, and beneath that how new
// the newest accesses are. A write makes all accesses at and beneath its places void; they are not removed, but known by their
// age. An access looks from the root to its places, at readers there that cover them, and beneath its places at whatever is
// newer than the last write of the whole, newest first. It does not look
//   - where everything is older than the last write of the whole place: that write comes after it;
//   - for writers that are older than a reader of the whole place that is an ancestor already, or that a writer comes after.
// So it costs O(log intervals) and for each predecessor that it finds again as much. Readers that are ancestors of a new reader
// of the same place are dropped: who comes after the new one comes after them.
#include "graph/plan_hazards.h"

#include <string.h>

#include "base/allocate.h"

enum { MOST_DEPTH = 34, READERS_TRIED = 8 };

typedef weir__plan_hazards hazards;
typedef weir__plan_users users;
typedef weir__plan_access access;

// A place of a tree: intervals [first, end), and their users. The root is the first of a tree's; the halves of a place with n
// intervals stand behind it, the left with its 2 * (n / 2) - 1 places first.
typedef struct place {
  users *users;
  uint32_t first, end;
} place;

static inline bool is_leaf(place at) {
  return at.end - at.first == 1;
}

static inline place left_half(place at) {
  return (place){at.users + 1, at.first, at.first + (at.end - at.first) / 2};
}

static inline place right_half(place at) {
  uint32_t half = (at.end - at.first) / 2;
  return (place){at.users + 2 * (size_t)half, at.first + half, at.end};
}

static place root_of(const hazards *all, uint32_t buffer) {
  size_t places = all->trees[buffer + 1] - all->trees[buffer];
  return (place){all->users + all->trees[buffer], 0, (uint32_t)(places + 1) / 2};
}

static inline uint32_t newer(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

static inline uint32_t older(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

bool weir__plan_hazards_initialize(hazards *all, weir__plan_ancestors *ancestors, uint32_t buffer_count,
                                   const uint32_t *first_cuts) {
  *all = (hazards){.ancestors = ancestors};
  all->trees = weir__allocate(((size_t)buffer_count + 1) * sizeof *all->trees);
  if (all->trees == NULL) return false;
  all->trees[0] = 0;
  for (uint32_t i = 0; i < buffer_count; i++)
    all->trees[i + 1] = all->trees[i] + 2 * (size_t)(first_cuts[i + 1] - first_cuts[i] - 1) - 1;
  all->users = weir__allocate_zeroed((all->trees[buffer_count] + 1) * sizeof *all->users);
  all->reader_count = 1; // 0 is none
  return all->users != NULL;
}

void weir__plan_hazards_deinitialize(hazards *all) {
  weir__free(all->trees);
  weir__free(all->users);
  weir__free(all->readers);
  weir__free(all->found);
  *all = (hazards){0};
}

void weir__plan_hazards_add(hazards *all, const weir__plan_hazard *hazard) {
  if (weir__plan_is_ancestor(all->ancestors, hazard->node)) {
    // The hazard that brings data is the one to name.
    for (uint32_t i = 0; i < all->found_count && i < READERS_TRIED; i++) {
      if (all->found[i].node == hazard->node &&
          (hazard->kind == WEIR__HAZARD_RAW || all->found[i].kind == WEIR__HAZARD_AFTER))
        all->found[i] = *hazard;
    }
    return;
  }
  if (all->found_count == all->found_capacity) {
    uint32_t capacity = all->found_capacity * 2 + 64;
    weir__plan_hazard *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) {
      all->no_memory = true;
      return;
    }
    if (all->found_count > 0) memcpy(larger, all->found, all->found_count * sizeof *larger);
    weir__free(all->found);
    all->found = larger;
    all->found_capacity = capacity;
  }
  all->found[all->found_count++] = *hazard;
  weir__plan_ancestors_add(all->ancestors, hazard->node);
}

// ---------------------------------------------------------------------------------------------------------------
// Looking

// What is looked for, and the places from the root to where it is looked.
typedef struct look {
  hazards *all;
  const access *access;
  uint32_t depth;
  uint32_t seen[MOST_DEPTH];  // predecessors that had been found when `above` was worked out
  uint32_t above[MOST_DEPTH]; // writers of the place up to this one come before the node: a reader says so
  const users *path[MOST_DEPTH];
} look;

static void add(look *l, uint32_t node, weir__hazard kind, place at) {
  const access *by = l->access;
  const weir__plan_hazard hazard = {.node = node - 1,
                                    .buffer = by->buffer,
                                    .first = newer(at.first, by->first),
                                    .end = older(at.end, by->end),
                                    .kind = kind};
  weir__plan_hazards_add(l->all, &hazard);
}

// The newest reader of a place that comes before the node: all readers do, if that one writes.
static uint32_t reader_before(const look *l, const users *at) {
  const hazards *all = l->all;
  if (l->access->writes) return at->readers == 0 ? 0 : all->readers[at->readers].node;
  uint32_t reader = at->readers;
  for (int i = 0; reader != 0 && i < READERS_TRIED; i++) {
    if (weir__plan_is_ancestor(all->ancestors, all->readers[reader].node - 1)) return all->readers[reader].node;
    reader = all->readers[reader].next;
  }
  return 0;
}

// Up to which writer of the last place of the path a reader of it says that they come before the node.
static uint32_t known_writers(look *l) {
  uint32_t depth = 0;
  while (depth < l->depth && l->seen[depth] == l->all->found_count) depth++;
  for (; depth < l->depth; depth++) {
    l->above[depth] = newer(depth == 0 ? 0 : l->above[depth - 1], reader_before(l, l->path[depth]));
    l->seen[depth] = l->all->found_count;
  }
  return l->above[l->depth - 1];
}

static inline void go_down(look *l, const users *at) {
  l->path[l->depth] = at;
  l->seen[l->depth++] = UINT32_MAX;
}

static uint32_t newest_in(const look *l, place at) {
  return l->access->writes ? newer(at.users->newest_write, at.users->newest_read) : at.users->newest_write;
}

// Readers of the place since `since`, newest first.
static void add_readers(look *l, place at, uint32_t since) {
  const hazards *all = l->all;
  for (uint32_t i = at.users->readers; i != 0 && all->readers[i].node > since; i = all->readers[i].next)
    add(l, all->readers[i].node, WEIR__HAZARD_WAR, at);
}

static weir__hazard after_writer(const look *l) {
  return l->access->reads ? WEIR__HAZARD_RAW : WEIR__HAZARD_WAW;
}

// The users of a place all of which is accessed, since `writer` wrote it and more.
static void look_beneath(look *l, place at, uint32_t writer) {
  const users *here = at.users;
  bool own_writer = here->writer > writer;
  if (own_writer) writer = here->writer;
  go_down(l, here);
  bool has_last_bytes = own_writer;
  if (!is_leaf(at)) {
    place one = right_half(at), other = left_half(at);
    if (own_writer && older(one.users->covered, other.users->covered) > writer) has_last_bytes = false;
    if (newest_in(l, one) < newest_in(l, other)) {
      place swapped = one;
      one = other;
      other = swapped;
    }
    for (int i = 0; i < 2; i++, one = other) {
      if (newer(writer, known_writers(l)) < one.users->newest_write ||
          (l->access->writes && one.users->newest_read > writer))
        look_beneath(l, one, writer);
    }
  }
  if (l->access->writes) add_readers(l, at, newer(writer, here->covered));
  if (has_last_bytes && writer > known_writers(l)) add(l, writer, after_writer(l), at);
  l->depth--;
}

// From the root on to the places that the access covers. Returns a node since which all of the access's bytes in here have been
// written.
static uint32_t look_from(look *l, place at, uint32_t writer) {
  const access *by = l->access;
  if (by->first <= at.first && at.end <= by->end) {
    look_beneath(l, at, writer);
    if (writer > at.users->covered) {
      go_down(l, at.users);
      if (writer > known_writers(l)) add(l, writer, after_writer(l), at);
      l->depth--;
    }
    return newer(writer, at.users->covered);
  }
  writer = newer(writer, at.users->writer);
  go_down(l, at.users);
  place halves[2] = {right_half(at), left_half(at)};
  int newest = newest_in(l, halves[0]) >= newest_in(l, halves[1]) ? 0 : 1;
  uint32_t since = UINT32_MAX;
  for (int i = 0; i < 2; i++, newest = 1 - newest) {
    place half = halves[newest];
    if (half.first < by->end && by->first < half.end) since = older(since, look_from(l, half, writer));
  }
  if (by->writes) add_readers(l, at, since);
  l->depth--;
  return since;
}

void weir__plan_hazards_find(hazards *all, const access *by) {
  look l;
  l.all = all;
  l.access = by;
  l.depth = 0;
  look_from(&l, root_of(all, by->buffer), 0);
}

static uint32_t newest_from(const hazards *all, const access *by, place at) {
  if (by->first <= at.first && at.end <= by->end)
    return by->writes ? newer(at.users->newest_write, at.users->newest_read) : at.users->newest_write;
  uint32_t newest = at.users->writer;
  if (by->writes && at.users->readers != 0) newest = newer(newest, all->readers[at.users->readers].node);
  place halves[2] = {left_half(at), right_half(at)};
  for (int i = 0; i < 2; i++) {
    if (halves[i].first < by->end && by->first < halves[i].end) newest = newer(newest, newest_from(all, by, halves[i]));
  }
  return newest;
}

uint32_t weir__plan_hazards_newest(const hazards *all, const access *by) {
  return newest_from(all, by, root_of(all, by->buffer));
}

// ---------------------------------------------------------------------------------------------------------------
// Recording

static uint32_t take_reader(hazards *all) {
  uint32_t taken = all->free_readers;
  if (taken != 0) {
    all->free_readers = all->readers[taken].next;
    return taken;
  }
  if (all->reader_count >= all->reader_capacity) {
    uint32_t capacity = all->reader_capacity + all->reader_capacity / 2 + 256;
    weir__plan_reader *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) return 0;
    if (all->readers != NULL) memcpy(larger, all->readers, all->reader_count * sizeof *larger);
    weir__free(all->readers);
    all->readers = larger;
    all->reader_capacity = capacity;
  }
  return all->reader_count++;
}

static void free_reader(hazards *all, uint32_t reader) {
  all->readers[reader].next = all->free_readers;
  all->free_readers = reader;
}

static void add_reader(hazards *all, users *at, uint32_t node) {
  if (at->readers != 0 && all->readers[at->readers].node == node) return;
  uint32_t *link = &at->readers;
  for (int i = 0; *link != 0 && i < READERS_TRIED; i++) {
    uint32_t reader = *link;
    if (weir__plan_is_ancestor(all->ancestors, all->readers[reader].node - 1)) {
      *link = all->readers[reader].next;
      free_reader(all, reader);
    } else {
      link = &all->readers[reader].next;
    }
  }
  uint32_t taken = take_reader(all);
  if (taken == 0) {
    all->no_memory = true;
    return;
  }
  all->readers[taken] = (weir__plan_reader){.node = node, .next = at->readers};
  at->readers = taken;
}

static void record_here(hazards *all, const access *by, users *at, uint32_t node) {
  if (!by->writes) {
    at->newest_read = node;
    add_reader(all, at, node);
    return;
  }
  at->writer = at->covered = at->newest_write = node;
  at->newest_read = 0;
  while (at->readers != 0) {
    uint32_t reader = at->readers;
    at->readers = all->readers[reader].next;
    free_reader(all, reader);
  }
}

static void record_from(hazards *all, const access *by, place at, uint32_t node) {
  if (by->first <= at.first && at.end <= by->end) {
    record_here(all, by, at.users, node);
    return;
  }
  *(by->writes ? &at.users->newest_write : &at.users->newest_read) = node;
  place halves[2] = {left_half(at), right_half(at)};
  for (int i = 0; i < 2; i++) {
    if (halves[i].first < by->end && by->first < halves[i].end) record_from(all, by, halves[i], node);
  }
  at.users->covered = newer(at.users->writer, older(halves[0].users->covered, halves[1].users->covered));
}

void weir__plan_hazards_record(hazards *all, const access *by) {
  record_from(all, by, root_of(all, by->buffer), all->ancestors->node + 1);
}
