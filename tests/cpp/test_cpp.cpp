// SPDX-License-Identifier: Apache-2.0
//
// weir.hpp: lifetimes, exceptions and types. Every function that a task owns is destroyed exactly once, every exception comes
// back with its type, and nothing that is left over or moved from crashes.
#include <weir/weir.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                             \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (0)

namespace {

std::atomic<int> alive{0}, made{0};

// Counts how many there are.
struct counted {
  counted() {
    alive++;
    made++;
  }
  counted(const counted &) : counted() {}
  counted(counted &&) noexcept : counted() {}
  counted &operator=(const counted &) = delete;
  ~counted() {
    alive--;
  }
};

struct own_error {
  int number;
};

template <class F> weir_status status_of(F &&call) {
  try {
    call();
  } catch (const weir::error &failure) {
    CHECK(std::strlen(failure.what()) > 0);
    return failure.status();
  }
  return WEIR_OK;
}

template <class F> int number_of(F &&call) {
  try {
    call();
  } catch (const own_error &failure) {
    return failure.number;
  }
  return -1;
}

void typed_buffers_and_values() {
  weir::context context;
  weir::buffer<float> x(context, 100), y(context, 100);
  std::vector<float> numbers(100, 2.0f);
  x.write(numbers);
  context.submit(
      [](weir::span<const float> from, weir::span<float> to, float factor, std::array<int, 2> pair) {
        CHECK(from.size() == 100 && to.size() == 100 && pair[1] == 5);
        for (std::size_t i = 0; i < from.size(); i++) to[i] = from[i] * factor;
      },
      weir::reads(x), weir::writes(y), 3.0f, std::array<int, 2>{4, 5});
  context.submit(
      [](weir::span<float> part) {
        CHECK(part.size() == 7);
        part[0] = -1;
      },
      weir::updates(y, 10, 7));
  numbers = y.read();
  CHECK(numbers[9] == 6.0f && numbers[10] == -1.0f && numbers[99] == 6.0f);
  float few[3];
  y.read(few, 9);
  CHECK(few[0] == 6.0f && few[1] == -1.0f);
  CHECK(status_of([&] { y.read(few, 98); }) == WEIR_ERROR_OUT_OF_RANGE);
  CHECK(status_of([&] { context.submit([](weir::span<float>) {}, weir::updates(y, 101, 0)); }) ==
        WEIR_ERROR_OUT_OF_RANGE);
  CHECK(status_of([&] { weir::buffer<float> none(context, 0); }) == WEIR_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { weir::buffer<float> huge(context, SIZE_MAX); }) == WEIR_ERROR_INVALID_ARGUMENT);
  int memory[4] = {1, 2, 3, 4};
  weir::buffer wrapped(context, memory);
  context.submit([](weir::span<int> all) { all[3] = 9; }, weir::updates(wrapped)).wait();
  CHECK(memory[3] == 9 && wrapped.size() == 4);
}

void work_and_options() {
  weir::options options;
  options.devices = "cpu:2";
  options.window = 64;
  weir::context context(options);
  CHECK(context.statistics().window == 64);
  CHECK(std::strcmp(weir_device_information(context.device(0))->name, "cpu:2") == 0);
  options.devices = "nothing";
  CHECK(status_of([&] { weir::context none(options); }) == WEIR_ERROR_INVALID_ARGUMENT);
  weir::task_options task;
  task.label = "labelled";
  task.tag = 7;
  weir::event first = context.submit(task, [](const weir_work &work) { CHECK(work.worker < work.worker_count); });
  task.after = {first.get()};
  context.submit(task, [] {}).wait();
  CHECK(first.poll() == WEIR_OK && first.message().empty());
  context.finish();
}

void kernels() {
  weir::context context;
  weir::buffer<int> x(context, 1000);
  std::vector<int> numbers(1000, 1);
  x.write(numbers);
  auto held = std::make_shared<int>(2);
  {
    weir::kernel add(context, "add", [held](const weir_work &work, weir::span<int> all, int more) {
      for (auto i = work.first * 10; i < work.end * 10; i++) all[i] += more + *held;
    });
    weir::task_options hundred;
    hundred.groups = {100};
    for (int i = 0; i < 50; i++) context.submit(hundred, add, weir::updates(x), i);
    weir::graph graph(context);
    graph.add(hundred, add, weir::updates(x), 0);
    graph.launch();
  }
  for (int number : x.read()) CHECK(number == 1 + 49 * 50 / 2 + 51 * 2);
  // A worker drops the kernel's function after the last launch is done.
  while (held.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  weir::kernel fails(context, "fails", [](int number) { throw own_error{number}; });
  weir::task_options many;
  many.groups = {64};
  weir::event event = context.submit(many, fails, 5);
  CHECK(number_of([&] { event.wait(); }) == 5);
  CHECK(number_of([&] { context.finish(); }) == 5);
  weir::kernel none(context, std::string("none"));
  CHECK(status_of([&] { context.submit(none); }) == WEIR_ERROR_NO_CODE);
  CHECK(status_of([&] { context.submit(none, weir::reads(x)); }) == WEIR_ERROR_NO_CODE);
}

void functions_are_destroyed_once() {
  for (int round = 0; round < 4; round++) {
    weir::context context;
    weir::buffer<int> x(context, 4);
    x.write(std::vector<int>{1, 2, 3, 4});
    counted object;
    for (int i = 0; i < 300; i++) {
      const bool fails = round == 1 && i % 7 == 0;
      weir::event event = context.submit(
          [object, fails](weir::span<int> all) {
            if (fails) throw own_error{all[0]};
          },
          weir::updates(x));
      if (i % 3 == 0) {
        try {
          event.wait();
        } catch (...) {
        }
        CHECK(alive == 1 || !fails); // this one's is gone before its event is done
      }
      if (round == 2 && i == 100) context.cancel();
      if (i % 50 == 0 && round == 1) x.write(std::vector<int>{1, 2, 3, 4});
    }
    try {
      context.finish();
    } catch (const own_error &) {
      CHECK(round == 1);
    } catch (const weir::error &failure) {
      CHECK(round == 2 && failure.status() == WEIR_ERROR_CANCELLED);
    }
    CHECK(alive == 1);
    // Refused: an empty range, and a device that has no functions.
    CHECK(status_of([&] { context.submit([object](weir::span<int>) {}, weir::updates(x, 2, 0)); }) ==
          WEIR_ERROR_INVALID_ARGUMENT);
    CHECK(alive == 1);
  }
  CHECK(alive == 0 && made > 1000);
}

void exceptions_come_back() {
  weir::context context;
  weir::buffer<int> x(context, 1);
  weir::event failed = context.submit([](weir::span<int>) { throw own_error{42}; }, weir::writes(x));
  weir::event skipped = context.submit([](weir::span<int>) { CHECK(false); }, weir::updates(x));
  for (int i = 0; i < 2; i++) CHECK(number_of([&] { failed.wait(); }) == 42);
  CHECK(status_of([&] { skipped.wait(); }) == WEIR_ERROR_UPSTREAM_FAILED);
  CHECK(number_of([&] { context.finish(); }) == 42);
  context.finish(); // a failure is reported once
  CHECK(number_of([&] { failed.wait(); }) == 42);
  CHECK(status_of([&] { x.read(); }) == WEIR_ERROR_UPSTREAM_FAILED);
  try {
    context.submit([] { throw std::out_of_range("the text"); }).wait();
    CHECK(false);
  } catch (const std::out_of_range &failure) {
    CHECK(std::strcmp(failure.what(), "the text") == 0);
  }
  weir::event told = context.submit([](const weir_work &work) { weir_work_fail(&work, "told to"); });
  CHECK(status_of([&] { told.wait(); }) == WEIR_ERROR_TASK_FAILED);
  CHECK(told.message().find("told to") != std::string::npos);
  CHECK(status_of([&] { // a call in a task that must not wait
          context.submit([&] { context.finish(); }).wait();
        }) == WEIR_ERROR_INVALID_ARGUMENT);
  try {
    context.finish();
  } catch (...) {
  }
}

// Callbacks, destructors and the profile function may throw: the next finish() has it.
void exceptions_of_callbacks() {
  weir::context context;
  weir::event event = context.submit([] {});
  event.wait();
  bool called = false;
  event.on_done([&called](weir_status status) {
    called = status == WEIR_OK;
    throw own_error{1};
  });
  CHECK(called);
  CHECK(number_of([&] { context.finish(); }) == 1);
  context.finish();
  struct throws {
    bool armed = true;
    throws() = default;
    throws(throws &&other) noexcept : armed(std::exchange(other.armed, false)) {}
    ~throws() noexcept(false) {
      if (armed) throw own_error{2};
    }
    void operator()() {}
  };
  context.submit(throws()).wait();
  CHECK(number_of([&] { context.finish(); }) == 2);
  weir::options options;
  options.profile = [](const weir_profile_event &) { throw own_error{3}; };
  weir::context profiled(options);
  profiled.submit([] {});
  CHECK(number_of([&] { profiled.finish(); }) == 3);
}

void graphs() {
  counted object;
  weir::context context;
  weir::buffer<int> x(context, 8);
  x.write(std::vector<int>(8, 0));
  weir::event last;
  {
    weir::graph graph(context);
    for (int i = 0; i < 5; i++)
      CHECK(graph.add([object, i](weir::span<int> all) { all[0] += i; }, weir::updates(x)) == unsigned(i));
    for (int i = 0; i < 100; i++) last = graph.launch();
    graph.clear();
    graph.add([object](weir::span<int> all) { all[0] += 1; }, weir::updates(x));
    last = graph.launch();
  }
  last.wait();
  CHECK(x.read()[0] == 1001);
  weir::graph fails(context);
  fails.add([] { throw own_error{10}; });
  fails.add([] { throw own_error{11}; });
  for (int i = 0; i < 20; i++) {
    last = fails.launch();
    CHECK(number_of([&] { last.wait(); }) == 10);
  }
  CHECK(number_of([&] { context.finish(); }) == 10);
  CHECK(number_of([&] { last.wait(); }) == 10);
  CHECK(status_of([&] { fails.wait(); }) == WEIR_ERROR_TASK_FAILED);
}

void context_goes_first() {
  weir::event event;
  weir::buffer<int> x;
  {
    weir::context context;
    x = weir::buffer<int>(context, 4);
    weir::kernel kernel(context, "k", [](weir::span<int> all) { all[0] = 1; });
    weir::graph graph(context);
    graph.add(kernel, weir::updates(x));
    context.submit(kernel, weir::writes(x));
    event = graph.launch();
    weir::context other = std::move(context);
    CHECK(status_of([&] { context.finish(); }) == WEIR_ERROR_INVALID_ARGUMENT);
    CHECK(status_of([&] { context.submit([] {}); }) == WEIR_ERROR_INVALID_ARGUMENT);
    other.finish();
    other = weir::context(); // which frees the first
    CHECK(status_of([&] { graph.launch(); }) == WEIR_ERROR_RELEASED);
  }
  CHECK(status_of([&] { event.wait(); }) == WEIR_ERROR_RELEASED);
  CHECK(status_of([&] { x.read(); }) == WEIR_ERROR_RELEASED);
  CHECK(x.size() == 4);
  weir::buffer<int> moved = std::move(x);
  CHECK(status_of([&] { x.read(); }) == WEIR_ERROR_INVALID_ARGUMENT && !x);
  CHECK(status_of([&] { x.read(weir::span<int>()); }) == WEIR_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { x.write(weir::span<const int>()); }) == WEIR_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { weir::event().wait(); }) == WEIR_ERROR_INVALID_ARGUMENT);
}

void graph_that_was_moved_from() {
  weir::context context;
  weir::buffer<int> x(context, 1);
  weir::kernel kernel(context, "k", [](weir::span<int> all) { all[0] = 1; });
  weir::graph graph(context);
  graph.add(kernel, weir::writes(x));
  weir::graph moved = std::move(graph);
  CHECK(status_of([&] { graph.launch(); }) == WEIR_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { graph.add(kernel, weir::writes(x)); }) == WEIR_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { graph.add([] {}); }) == WEIR_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { graph.clear(); }) == WEIR_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { graph.wait(); }) == WEIR_ERROR_INVALID_ARGUMENT);
  moved.launch().wait();
  CHECK(x.read()[0] == 1);
}

// A context that a task destroys stays; what it runs goes on.
void context_destroyed_by_a_task() {
  auto context = std::make_unique<weir::context>();
  weir_context *handle = context->get();
  std::atomic<bool> go{false}, done{false};
  weir::event event = context->submit([&] {
    while (!go) std::this_thread::yield();
    context.reset();
    done = true;
  });
  go = true;
  event.wait();
  event = weir::event();
  CHECK(done && weir_context_release(handle) == WEIR_OK);
}

void many_threads() {
  counted object;
  weir::context context;
  weir::buffer<long> sum(context, 1);
  sum.write(std::vector<long>{0});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; i++) {
        weir::event event = context.submit([object](weir::span<long> all) { all[0]++; }, weir::updates(sum));
        if (i % 97 == 0) event.wait();
        if (i % 31 == 0) event.on_done([object](weir_status) {});
        if (i % 61 != 0) continue;
        event = context.submit([i] { throw own_error{i}; });
        CHECK(number_of([&] { event.wait(); }) == i);
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(number_of([&] { context.finish(); }) >= 0);
  CHECK(sum.read()[0] == 3000);
}

} // namespace

int main() {
  typed_buffers_and_values();
  work_and_options();
  kernels();
  functions_are_destroyed_once();
  exceptions_come_back();
  exceptions_of_callbacks();
  graphs();
  context_goes_first();
  graph_that_was_moved_from();
  context_destroyed_by_a_task();
  many_threads();
  CHECK(alive == 0);
  std::puts("all is well");
}
