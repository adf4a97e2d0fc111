// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the tests and examples in their CUDA form, with a thread for each work-item, under the thread sanitizer,
// which ends the process at a race. `test_races broken` runs a kernel that has one.
#include "cuda_threads.hpp"

#include <stdio.h>
#include <string.h>

#include "../../examples/cholesky/own.c"
#include "../../examples/dynroute/layers.c"
#include "broken.c"
#include "forms.c"

template <class T> static std::vector<T> numbers(int count) {
  std::vector<T> result(static_cast<size_t>(count));
  for (int i = 0; i < count; i++) result[static_cast<size_t>(i)] = static_cast<T>(i * 7919 % 1000) / 8;
  return result;
}

static unsigned groups_of(int count, int size) {
  return static_cast<unsigned>((count + size - 1) / size);
}

static void run_broken() {
  auto data = numbers<int32_t>(64);
  launch({1, 1, 1}, {64, 1, 1}, [&] { broken(data.data()); });
}

static void run_forms() {
  auto floats = numbers<float>(1024);
  auto doubles = numbers<double>(256);
  std::vector<float> out(1024);
  std::vector<double> lengths(128);
  launch({3, 1, 1}, {64, 2, 1}, [&] { reduce(floats.data(), out.data()); });
  launch({2, 2, 1}, {16, 16, 1}, [&] { transpose(floats.data(), out.data(), 20, 19); });
  launch({2, 1, 1}, {32, 2, 1}, [&] { float_sum(floats.data(), out.data()); });
  const line of = {1, 2, 100};
  launch({2, 1, 1}, {64, 1, 1}, [&] { arithmetic(floats.data(), doubles.data(), out.data(), lengths.data(), of); });
  auto words = numbers<uint32_t>(192);
  launch({3, 1, 1}, {64, 1, 1}, [&] { scan(words.data()); });
  std::vector<uint32_t> counts(10), product(1, 1);
  std::vector<int32_t> extremes(2);
  launch({2, 1, 1}, {32, 1, 1}, [&] { histogram(words.data(), counts.data(), extremes.data(), product.data()); });
}

static void run_layers() {
  const int size = 10, pixels = size * size, channels = 64;
  auto map = numbers<float>(channels * pixels);
  auto weights = numbers<float>(channels * channels);
  std::vector<float> out(map.size()), means(channels), gates(6);
  launch({1, 2, channels}, {32, 8, 1}, [&] { depthwise(map.data(), weights.data(), out.data(), size); });
  launch({groups_of(pixels, 32), channels / 32, 1}, {32, 8, 1},
         [&] { pointwise(map.data(), weights.data(), weights.data(), out.data(), pixels, channels, channels); });
  launch({channels, 1, 1}, {256, 1, 1}, [&] { average(map.data(), means.data(), pixels); });
  launch({1, 1, 1}, {32, 8, 1}, [&] { gate(means.data(), weights.data(), gates.data(), channels, 6); });
}

// Factors an n x n tile, solves a tile of m rows with it, and multiplies that by itself.
static void run_own(int n, int m) {
  auto a = numbers<double>(n * n), b = numbers<double>(m * n), c = numbers<double>(m * m);
  for (int i = 0; i < n; i++) a[static_cast<size_t>(i * n + i)] += 1000 * n;
  const tile_shape square = {n, n, n, 1}, panel = {m, n, n, 0}, product = {m, m, n, 0};
  launch({1, 1, 1}, {64, 4, 1}, [&] { own_potrf(square, a.data()); });
  launch({groups_of(m, 32), 1, 1}, {32, 8, 1}, [&] { own_trsm(panel, a.data(), b.data()); });
  launch({groups_of(m, 64), groups_of(m, 64), 1}, {16, 16, 1},
         [&] { own_gemm(product, b.data(), b.data(), c.data()); });
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "broken") == 0) {
    run_broken();
    return 0;
  }
  run_forms();
  run_layers();
  run_own(70, 45);
  run_own(100, 70);
  printf("no races\n");
  return 0;
}
