// SPDX-License-Identifier: Apache-2.0
//
// The smallest program in C++: the two tasks that fill buffers may overlap, the third waits for both, and what a task throws
// comes back where the program waits.
#include <cstdio>
#include <stdexcept>
#include <weir/weir.hpp>

static void fill(weir::span<int> out) {
  for (std::size_t i = 0; i < out.size(); i++) out[i] = static_cast<int>(i);
}

int main() {
  weir::context context;
  weir::buffer<int> a(context, 1000), b(context, 1000), sum(context, 1000);

  context.submit(fill, weir::writes(a));
  context.submit(fill, weir::writes(b));
  context.submit(
      [](weir::span<const int> x, weir::span<const int> y, weir::span<int> out) {
        for (std::size_t i = 0; i < out.size(); i++) out[i] = x[i] + y[i];
      },
      weir::reads(a), weir::reads(b), weir::writes(sum));

  int result = sum.read().back(); // waits for what it needs
  std::printf("999 + 999 = %d\n", result);

  bool caught = false;
  context.submit([] { throw std::range_error("on purpose"); });
  try {
    context.finish();
  } catch (const std::range_error &failure) {
    caught = true;
    std::printf("a task threw: %s\n", failure.what());
  }
  return result == 1998 && caught && std::fflush(stdout) == 0 ? 0 : 1;
}
