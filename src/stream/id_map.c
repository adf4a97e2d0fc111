// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "stream/reader.h"

static uint64_t mix(uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return key ^ (key >> 31);
}

static uint32_t slot_of(const weir__id_map *map, uint64_t key) {
  uint32_t slot = (uint32_t)(mix(mix(key ^ map->seed) + map->seed) & (map->capacity - 1));
  while (map->values[slot] != UINT32_MAX && map->keys[slot] != key) slot = (slot + 1) & (map->capacity - 1);
  return slot;
}

static bool resize(weir__id_map *map, uint32_t capacity) {
  weir__id_map larger = {.capacity = capacity, .count = map->count, .seed = map->seed};
  larger.keys = malloc(capacity * sizeof *larger.keys);
  larger.values = malloc(capacity * sizeof *larger.values);
  if (!larger.keys || !larger.values) {
    weir__id_map_destroy(&larger);
    return false;
  }
  memset(larger.values, 0xff, capacity * sizeof *larger.values);
  for (uint32_t i = 0; i < map->capacity; i++) {
    if (map->values[i] == UINT32_MAX) continue;
    uint32_t slot = slot_of(&larger, map->keys[i]);
    larger.keys[slot] = map->keys[i];
    larger.values[slot] = map->values[i];
  }
  free(map->keys);
  free(map->values);
  *map = larger;
  return true;
}

bool weir__id_map_add(weir__id_map *map, uint64_t key, uint32_t value) {
  if (map->capacity == 0 && getrandom(&map->seed, sizeof map->seed, GRND_NONBLOCK) < 0) map->seed = (uintptr_t)map;
  if (map->count >= map->capacity / 2 && !resize(map, map->capacity ? map->capacity * 2 : 64)) return false;
  uint32_t slot = slot_of(map, key);
  map->keys[slot] = key;
  map->values[slot] = value;
  map->count++;
  return true;
}

bool weir__id_map_find(const weir__id_map *map, uint64_t key, uint32_t *out_value) {
  if (map->capacity == 0) return false;
  uint32_t slot = slot_of(map, key);
  *out_value = map->values[slot];
  return *out_value != UINT32_MAX;
}

void weir__id_map_destroy(weir__id_map *map) {
  free(map->keys);
  free(map->values);
  *map = (weir__id_map){0};
}
