// SPDX-License-Identifier: Apache-2.0
//
// The kernels of bench/pipeline in their CUDA form, with a thread for each work-item, under the thread sanitizer, which ends the
// process at a race.
#include "cuda_threads.hpp"

#include <stdio.h>

#include "knn.c"
#include "sobel.c"
#include "sssp.c"

template <class T> static std::vector<T> numbers(size_t count, unsigned most) {
  std::vector<T> result(count);
  for (size_t i = 0; i < count; i++) result[i] = static_cast<T>(i * 7919 % most);
  return result;
}

static void run_images() {
  const int width = 64, height = 4, stride = 128, rows = 3;
  auto colours = numbers<uint32_t>(width * height, 1 << 24);
  std::vector<int32_t> grey(stride * (height + 2)), gradient(width * height);
  launch({2, 2, 1}, {64, 1, 1}, [&] { sobel_grey(colours.data(), grey.data(), width, height, stride, rows); });
  launch({1, 2, 1}, {64, 1, 1}, [&] { sobel_gradient(grey.data(), gradient.data(), width, height, stride, rows); });
}

static void run_paths() {
  const int nodes = 64, degree = 3;
  std::vector<int32_t> rows(nodes + 1), distances(nodes), shorter(nodes), changed(nodes);
  for (int i = 0; i <= nodes; i++) rows[static_cast<size_t>(i)] = i * degree;
  auto targets = numbers<int32_t>(nodes * degree, nodes), lengths = numbers<int32_t>(nodes * degree, 50);
  launch({1, 1, 1}, {64, 1, 1}, [&] { sssp_begin(distances.data(), shorter.data(), changed.data(), nodes); });
  for (int round = 0; round < 3; round++) {
    launch({1, 1, 1}, {64, 1, 1}, [&] {
      sssp_relax(rows.data(), targets.data(), lengths.data(), distances.data(), changed.data(), shorter.data(), nodes);
    });
    launch({1, 1, 1}, {64, 1, 1}, [&] { sssp_settle(shorter.data(), distances.data(), changed.data(), nodes); });
  }
}

static void run_neighbours() {
  const int groups = 2, share = 128, k = 3;
  auto points = numbers<int32_t>(2 * groups * share, 100), query = numbers<int32_t>(2, 100);
  std::vector<int32_t> distances(groups * share), nearest(2 * k);
  std::vector<uint64_t> best(groups * k);
  launch({4, 1, 1}, {64, 1, 1}, [&] { knn_distances(points.data(), query.data(), distances.data()); });
  launch({2, 1, 1}, {64, 1, 1}, [&] { knn_best_of_share(distances.data(), best.data(), share, k); });
  launch({1, 1, 1}, {64, 1, 1}, [&] { knn_best_of_all(best.data(), nearest.data(), groups * k, k); });
}

int main() {
  run_images();
  run_paths();
  run_neighbours();
  puts("no race");
  return 0;
}
