// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/ptx_texts.h"

#include "base/hash.h"
#include "base/lock.h"

typedef struct known_text {
  weir__hash hash;
  size_t bytes;
  weir__ptx_entry *entries; // NULL: the place is free
  uint32_t users;
  uint64_t last; // the larger, the later it was taken
} known_text;

// Guards `texts`; held to search only, not while a text is read.
static weir__lock lock;
static known_text texts[WEIR__PTX_TEXTS_KEPT];
static uint64_t takes;

static const weir__ptx_entry *find_and_take(weir__hash hash, size_t bytes) {
  for (uint32_t i = 0; i < WEIR__PTX_TEXTS_KEPT; i++) {
    known_text *at = &texts[i];
    if (at->entries == NULL || at->bytes != bytes || !weir__hash_equal(at->hash, hash)) continue;
    at->users++;
    at->last = ++takes;
    return at->entries;
  }
  return NULL;
}

// A free place, or else that of the text that nobody uses and that was taken longest ago. NULL: all are used.
static known_text *find_place(void) {
  known_text *oldest = NULL;
  for (uint32_t i = 0; i < WEIR__PTX_TEXTS_KEPT; i++) {
    known_text *at = &texts[i];
    if (at->entries == NULL) return at;
    if (at->users == 0 && (oldest == NULL || at->last < oldest->last)) oldest = at;
  }
  return oldest;
}

// Keeps what was read, where there is a place. Returns what it displaces, for the caller to free.
static weir__ptx_entry *keep(weir__hash hash, size_t bytes, weir__ptx_entry *entries) {
  known_text *place = find_place();
  if (place == NULL) return NULL;
  weir__ptx_entry *displaced = place->entries;
  *place = (known_text){.hash = hash, .bytes = bytes, .entries = entries, .users = 1, .last = ++takes};
  return displaced;
}

const weir__ptx_entry *weir__ptx_take(const char *text, size_t bytes) {
  weir__hash hash = weir__hash_of(text, bytes);
  weir__lock_acquire(&lock);
  const weir__ptx_entry *known = find_and_take(hash, bytes);
  weir__lock_release(&lock);
  if (known != NULL) return known;
  weir__ptx_entry *entries = weir__ptx_read(text, bytes);
  if (entries == NULL) return NULL;
  weir__lock_acquire(&lock);
  known = find_and_take(hash, bytes); // another thread may have read it meanwhile
  weir__ptx_entry *unused = known != NULL ? entries : keep(hash, bytes, entries);
  weir__lock_release(&lock);
  weir__ptx_free(unused);
  return known != NULL ? known : entries;
}

static known_text *find_entries(const weir__ptx_entry *entries) {
  for (uint32_t i = 0; i < WEIR__PTX_TEXTS_KEPT; i++)
    if (texts[i].entries == entries) return &texts[i];
  return NULL;
}

void weir__ptx_give_back(const weir__ptx_entry *entries) {
  if (entries == NULL) return;
  weir__lock_acquire(&lock);
  known_text *at = find_entries(entries);
  if (at != NULL) at->users--;
  weir__lock_release(&lock);
  if (at == NULL) weir__ptx_free((weir__ptx_entry *)entries); // there was no place for it
}
