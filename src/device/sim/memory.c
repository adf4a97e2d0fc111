// SPDX-License-Identifier: Apache-2.0
//
// Memory of a simulated device's own: a part of the heap with a bound, which contents reach by copies that take virtual time.
#include <string.h>

#include "base/allocate.h"
#include "device/sim/sim.h"

enum { HEAD_BYTES = 64 }; // in front of a block: its size

static void *allocate(void *user, uint64_t bytes) {
  weir__sim_device *device = user;
  if (bytes > device->memory_left) return NULL;
  char *block = weir__allocate(bytes + HEAD_BYTES);
  if (block == NULL) return NULL;
  memcpy(block, &bytes, sizeof bytes);
  device->memory_left -= bytes;
  return block + HEAD_BYTES;
}

static void release(void *user, void *memory) {
  weir__sim_device *device = user;
  char *block = (char *)memory - HEAD_BYTES;
  uint64_t bytes;
  memcpy(&bytes, block, sizeof bytes);
  device->memory_left += bytes;
  weir__free(block);
}

static void sources(weir_device *device, weir__memory_source *out_device_memory, weir__memory_source *out_host_memory) {
  *out_device_memory = (weir__memory_source){.allocate = allocate, .free = release, .user = weir__sim_of(device)};
  *out_host_memory = weir__heap;
}

static bool can_access_host(weir_device *device, const void *memory, uint64_t bytes, bool writes) {
  (void)device;
  (void)memory;
  (void)bytes;
  (void)writes;
  return true;
}

const weir__memory_ops weir__sim_memory_ops = {.sources = sources, .can_access_host = can_access_host};

void weir__sim_move_cost(const weir__sim_device *device, const weir__move *move, weir__sim_cost *out_cost) {
  const weir__sim_profile *profile = weir__sim_engine_profile(device->engine);
  bool host = move->source_space == WEIR__HOST_SPACE || move->destination_space == WEIR__HOST_SPACE;
  bool within = move->fill || move->source_space == move->destination_space;
  uint64_t rate = host || profile->peer_rate == 0 ? profile->host_rate : profile->peer_rate;
  // Within its memory bytes move so much faster than over a link that it takes no time.
  weir__sim_profile_copy_cost(profile, within ? 0 : move->bytes, rate, out_cost);
}

void weir__sim_make_move(const weir__move *move) {
  char *to = move->destination;
  if (!move->fill) {
    memcpy(to, move->source, move->bytes);
    return;
  }
  for (uint64_t at = 0; at + sizeof move->pattern <= move->bytes; at += sizeof move->pattern)
    memcpy(to + at, &move->pattern, sizeof move->pattern);
}
