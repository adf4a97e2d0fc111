// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the bodies example in their CUDA form, with a thread for each work-item, under the thread sanitizer, which
// ends the process at a race.
#include "cuda_threads.hpp"

#include <stdio.h>

#include "../../examples/bodies/motion.c"

enum { COUNT = 40 };

// A row of bodies, each joined to the next; joints with even and odd numbers have a colour each.
int main() {
  const physics_rules rules = {9.05f, 3, 1.0f / 120, 9.81f, 4, 0.3f};
  std::vector<physics_body> bodies(COUNT), driven(COUNT);
  std::vector<int32_t> order(COUNT);
  std::vector<physics_constraint> constraints;
  for (int32_t i = 0; i < COUNT; i++) {
    const size_t place = static_cast<size_t>(i);
    bodies[place] = {0.12f + 0.22f * static_cast<float>(i),
                     0.1f + 0.01f * static_cast<float>(i % 7),
                     0,
                     -1,
                     0.1f,
                     1,
                     i,
                     i % 5 == 0 ? i / 5 : -1};
    order[place] = COUNT - 1 - i;
  }
  for (int32_t odd = 0; odd < 2; odd++) {
    for (int32_t i = odd; i + 1 < COUNT; i += 2) constraints.push_back({i, i + 1, 0.21f, i % 3 != 0});
  }
  const std::vector<int32_t> colours = {0, COUNT / 2, COUNT - 1};
  const std::vector<physics_action> actions(COUNT / 5, physics_action{1, 2});
  physics_observation seen;
  for (int step = 0; step < 2; step++) {
    launch({1, 1, 1}, {32, 1, 1},
           [&] { drive(bodies.data(), order.data(), actions.data(), driven.data(), COUNT, rules); });
    launch({1, 1, 1}, {32, 1, 1}, [&] { solve(driven.data(), constraints.data(), colours.data(), COUNT, 2, rules); });
    launch({1, 1, 1}, {32, 1, 1}, [&] { observe(driven.data(), &seen, COUNT, rules); });
    bodies.swap(driven);
  }
  if (!(seen.kinetic > 0)) return 1;
  printf("no races\n");
  return 0;
}
