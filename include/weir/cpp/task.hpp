// SPDX-License-Identifier: Apache-2.0
//
// Parts of weir/weir.hpp: arguments of tasks, and functions that are tasks.
//
// A further kind of access is a function that returns access<T> with another mode.
#ifndef WEIR_CPP_TASK_HPP
#define WEIR_CPP_TASK_HPP

#include "weir/cpp/base.hpp"

namespace weir {

// An argument: elements of a buffer. The function gets a span<T>.
template <class T> struct access {
  weir_arg arg;
  std::size_t count;
};

namespace detail {

template <class A> struct argument { // a value: the function gets a copy of it
  using type = std::decay_t<A>;
  using passed = const type &;
  static_assert(std::is_trivially_copyable<type>::value,
                "an argument of a task is reads(), writes() or updates() of a buffer, or a trivially copyable value");
  static_assert(alignof(type) <= 16, "Weir aligns values to 16 bytes");
  static weir_arg of(const type &value) {
    return weir_value(&value, sizeof(type));
  }
  static std::size_t count(const type &) {
    return 0;
  }
  static passed pass(void *pointer, std::size_t) {
    return *static_cast<const type *>(pointer);
  }
};

template <class T> struct argument<access<T>> {
  using passed = span<T>;
  static weir_arg of(const access<T> &one) {
    return one.arg;
  }
  static std::size_t count(const access<T> &one) {
    return one.count;
  }
  static passed pass(void *pointer, std::size_t count) {
    return span<T>(static_cast<T *>(pointer), count);
  }
};

template <class A> using argument_of = argument<std::decay_t<A>>;

// A function with its arguments' types: what weir_task.user points to. It is called by threads of Weir.
struct body : outcome {
  state *all;
  std::uint32_t node = 0; // of a graph, which owns the body
  bool in_graph = false;

  explicit body(state *all_) : all(all_) {}
  virtual void call(const weir_work &work) = 0;
  virtual void end() = 0; // destroys the function

  static void run(const weir_work *work) noexcept {
    body *self = static_cast<body *>(work->user);
    try {
      self->call(*work);
    } catch (...) {
      self->fail(work);
    }
  }

  // weir_task.destroy: the function goes; what it threw stays for the event.
  static void destroy(void *user) noexcept {
    body *self = static_cast<body *>(user);
    try {
      self->end();
    } catch (...) {
      self->all->keep_for_finish();
    }
    self->drop();
  }

private:
  void fail(const weir_work *work) noexcept {
    const std::exception_ptr thrown = std::current_exception();
    try {
      throw;
    } catch (const std::exception &standard) {
      weir_work_fail(work, standard.what());
    } catch (...) {
      weir_work_fail(work, "an exception that is no std::exception");
    }
    all->keep(work->task, node, thrown, in_graph ? nullptr : this);
  }
};

template <class F, class... A> class body_of final : public body {
  static constexpr bool takes_work = std::is_invocable<F &, const weir_work &, typename argument<A>::passed...>::value;
  static_assert(takes_work || std::is_invocable<F &, typename argument<A>::passed...>::value,
                "the function of a task takes a span for each access and a reference for each value, in their order, "
                "and may take a const weir_work & before them");

public:
  template <class G, class... B>
  explicit body_of(state *all_, G &&function, const B &...arguments)
      : body(all_), counts_{{argument<A>::count(arguments)...}} {
    function_ = ::new (static_cast<void *>(storage_)) F(std::forward<G>(function));
  }
  body_of(const body_of &) = delete;
  body_of &operator=(const body_of &) = delete;
  ~body_of() override {
    try {
      end();
    } catch (...) {
      all->keep_for_finish();
    }
  }

  void end() override {
    if (F *function = std::exchange(function_, nullptr)) function->~F();
  }

  void call(const weir_work &work) override {
    call(work, std::index_sequence_for<A...>());
  }

private:
  template <std::size_t... I> void call(const weir_work &work, std::index_sequence<I...>) {
    if constexpr (takes_work)
      (*function_)(work, argument<A>::pass(work.args[I], counts_[I])...);
    else
      (*function_)(argument<A>::pass(work.args[I], counts_[I])...);
  }

  std::array<std::size_t, sizeof...(A) + 1> counts_;
  F *function_;
  alignas(F) unsigned char storage_[sizeof(F)];
};

// The function of a kernel, which the tasks of the kernel share.
template <class F> struct shared_function {
  std::shared_ptr<const F> function;
  template <class... A>
  auto operator()(A &&...arguments) const -> decltype((*std::declval<const F *>())(std::forward<A>(arguments)...)) {
    return (*function)(std::forward<A>(arguments)...);
  }
};

// A weir_task that is being made: it points to the caller's options and arguments.
template <class... A> struct task_parts {
  std::array<weir_arg, sizeof...(A) + 1> args;
  weir_task task = {};

  static_assert((... && !std::is_array<A>::value), "an array is no argument of a task; std::array is a value");

  explicit task_parts(const task_options &options, const A &...arguments)
      : args{{argument_of<A>::of(arguments)..., weir_arg{}}} {
    task.args = sizeof...(A) > 0 ? args.data() : nullptr;
    task.arg_count = static_cast<std::uint32_t>(sizeof...(A));
    for (std::size_t i = 0; i < 3; i++) task.groups[i] = options.groups[i];
    task.device = options.device;
    task.after = options.after.empty() ? nullptr : options.after.data();
    task.after_count = static_cast<std::uint32_t>(options.after.size());
    task.priority = options.priority;
    task.label = options.label.empty() ? nullptr : options.label.c_str();
    task.tag = options.tag;
  }
  task_parts(const task_parts &) = delete;
  task_parts &operator=(const task_parts &) = delete;
};

} // namespace detail
} // namespace weir

#endif // WEIR_CPP_TASK_HPP
