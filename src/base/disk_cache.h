// SPDX-License-Identifier: Apache-2.0
//
// Compiled code on disk: files of one folder, found by a hash of what they were made of. Each holds what it was made
// of, so that a collision is recognised, and a checksum, so that a damaged file is. The folder is $WEIR_CACHE, else
// $XDG_CACHE_HOME/weir, else ~/.cache/weir; WEIR_CACHE set to "" switches the cache off. Files are written beside and
// renamed, so that processes may share the folder. A cache that cannot be read or written is as good as an empty one:
// nothing here fails.
#ifndef WEIR_BASE_DISK_CACHE_H
#define WEIR_BASE_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the folder may hold; what was used longest ago is deleted first.
#define WEIR__DISK_CACHE_LIMIT (512ull << 20)

// Whether it is not switched off.
bool weir__disk_cache_is_on(void);

// What was stored for `key`. The caller frees it with weir__free.
bool weir__disk_cache_get(const void *key, size_t key_bytes, void **out_value, size_t *out_bytes);

// Stores it, and deletes old entries beyond the limit.
void weir__disk_cache_put(const void *key, size_t key_bytes, const void *value, size_t bytes);

// Deletes what was used longest ago until the cache's files have at most `limit` bytes together.
void weir__disk_cache_trim(uint64_t limit);

#endif // WEIR_BASE_DISK_CACHE_H
