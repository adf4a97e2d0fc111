// SPDX-License-Identifier: Apache-2.0
//
// The k points that are nearest to a query: squared distances of all, the k best of each work-group's share, and the k best of
// those. Equal distances go by the points' numbers: a key is the distance, then the number. The next best is the smallest key
// that is larger than the last.
#include <weir/kernel.h>

WEIR_KERNEL(knn_distances, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, points), WEIR_BUFFER(const int32_t, query), WEIR_BUFFER(int32_t, distances))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int i = weir_global_id(0);
    int x = points[2 * i] - query[0];
    int y = points[2 * i + 1] - query[1];
    distances[i] = x * x + y * y;
  }
}

// Every work-group: the k best of `share` points, as keys.
WEIR_KERNEL(knn_best_of_share, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, distances), WEIR_BUFFER(uint64_t, best), WEIR_SCALAR(int32_t, share),
             WEIR_SCALAR(int32_t, k))) {
  WEIR_LOCAL uint64_t least[64];
  WEIR_LOCAL uint64_t chosen[65]; // chosen[r]: the key that round r must pass
  int first = weir_group_id(0) * share;
  WEIR_FOR_EACH_ITEM {
    if (weir_local_id(0) == 0) chosen[0] = 0;
  }
  for (int round = 0; round < k; round++) {
    WEIR_FOR_EACH_ITEM {
      uint64_t smallest = ~(uint64_t)0;
      for (int i = first + weir_local_id(0); i < first + share; i += 64) {
        uint64_t key = ((uint64_t)(uint32_t)distances[i] << 32) + (uint64_t)(i + 1);
        if (key > chosen[round] && key < smallest) smallest = key;
      }
      least[weir_local_id(0)] = smallest;
    }
    for (int apart = 32; apart > 0; apart /= 2) {
      WEIR_FOR_EACH_ITEM {
        int i = weir_local_id(0);
        if (i < apart && least[i + apart] < least[i]) least[i] = least[i + apart];
      }
    }
    WEIR_FOR_EACH_ITEM {
      if (weir_local_id(0) == 0) {
        chosen[round + 1] = least[0];
        best[weir_group_id(0) * k + round] = least[0];
      }
    }
  }
}

// One work-group: the k best of `count` keys, as pairs of a distance and a point's number.
WEIR_KERNEL(knn_best_of_all, 64, 1, 1,
            (WEIR_BUFFER(const uint64_t, best), WEIR_BUFFER(int32_t, nearest), WEIR_SCALAR(int32_t, count),
             WEIR_SCALAR(int32_t, k))) {
  WEIR_LOCAL uint64_t least[64];
  WEIR_LOCAL uint64_t chosen[65];
  WEIR_FOR_EACH_ITEM {
    if (weir_local_id(0) == 0) chosen[0] = 0;
  }
  for (int round = 0; round < k; round++) {
    WEIR_FOR_EACH_ITEM {
      uint64_t smallest = ~(uint64_t)0;
      for (int i = weir_local_id(0); i < count; i += 64) {
        if (best[i] > chosen[round] && best[i] < smallest) smallest = best[i];
      }
      least[weir_local_id(0)] = smallest;
    }
    for (int apart = 32; apart > 0; apart /= 2) {
      WEIR_FOR_EACH_ITEM {
        int i = weir_local_id(0);
        if (i < apart && least[i + apart] < least[i]) least[i] = least[i + apart];
      }
    }
    WEIR_FOR_EACH_ITEM {
      if (weir_local_id(0) == 0) {
        chosen[round + 1] = least[0];
        nearest[2 * round] = (int32_t)(least[0] >> 32);
        nearest[2 * round + 1] = (int32_t)(least[0] & 0xffffffff) - 1;
      }
    }
  }
}
