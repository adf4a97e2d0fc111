// SPDX-License-Identifier: Apache-2.0
//
// Parts of weir/weir.hpp: spans, errors, options, and the state that all objects of a context share.
#ifndef WEIR_CPP_BASE_HPP
#define WEIR_CPP_BASE_HPP

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if defined(__has_include) && __cplusplus >= 202002L
#if __has_include(<span>)
#include <span>
#endif
#endif

#include "weir/error.h"
#include "weir/graph.h"
#include "weir/weir.h"

namespace weir {

// Elements in a row: a pointer and a count. It owns nothing. Containers with data() and size(), arrays and std::span
// convert to it, and it converts to std::span.
template <class T> class span {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  constexpr span() noexcept = default;
  constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <class C,
            class = std::enable_if_t<
                !std::is_array<std::remove_reference_t<C>>::value &&
                std::is_convertible<std::remove_pointer_t<decltype(std::declval<C &>().data())> (*)[], T (*)[]>::value>,
            class = decltype(std::declval<C &>().size())>
  constexpr span(C &&container) noexcept : data_(container.data()), size_(container.size()) {}

  constexpr T *data() const noexcept {
    return data_;
  }
  constexpr std::size_t size() const noexcept {
    return size_;
  }
  constexpr std::size_t size_bytes() const noexcept {
    return size_ * sizeof(T);
  }
  constexpr bool empty() const noexcept {
    return size_ == 0;
  }
  constexpr T &operator[](std::size_t index) const noexcept {
    return data_[index];
  }
  constexpr T *begin() const noexcept {
    return data_;
  }
  constexpr T *end() const noexcept {
    return data_ + size_;
  }
#if defined(__cpp_lib_span)
  constexpr operator std::span<T>() const noexcept {
    return {data_, size_};
  }
#endif

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// A call that failed, or a task that failed without an exception of its own. what() is weir_last_error().
class error : public std::runtime_error {
public:
  error(weir_status status, const char *text) : std::runtime_error(text), status_(status) {}
  weir_status status() const noexcept {
    return status_;
  }

private:
  weir_status status_;
};

// Throws weir::error if a call of the C interface failed.
inline void check(weir_status status) {
  if (status != WEIR_OK) throw error(status, weir_last_error());
}

// Options of a context (weir_context_options). Members that are left alone have their defaults.
struct options {
  std::string devices = {}; // "cpu:4,cuda"; empty: "cpu"
  std::uint32_t window = 0;
  std::uint32_t queues = 0;
  std::uint64_t memory_limit = 0;
  std::uint64_t device_memory_limit = 0;
  weir_issue issue = WEIR_ISSUE_AUTO;
  std::uint64_t seed = 0;
  std::uint32_t flags = 0; // WEIR_CONTEXT_*
  std::uint64_t rename_limit = 0;
  std::function<void(const weir_profile_event &)> profile = {};
};

// Options of a task (weir_task).
struct task_options {
  std::array<std::uint32_t, 3> groups = {}; // 0 counts as 1
  weir_device *device = nullptr;
  std::vector<weir_event *> after = {};
  std::int32_t priority = 0;
  std::string label = {};
  std::uint64_t tag = 0;
};

namespace detail {

// What a task threw. The body of the task and its event each hold a reference.
struct outcome {
  std::atomic<unsigned> references{1};
  std::exception_ptr what; // guarded by the mutex of the state
  outcome() = default;
  outcome(const outcome &) = delete;
  outcome &operator=(const outcome &) = delete;
  virtual ~outcome() = default;

  void drop() noexcept {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

// What the objects of a context share. It outlives the weir_context: objects that are left over find it gone.
class state {
public:
  std::atomic<weir_context *> handle{nullptr};
  std::function<void(const weir_profile_event &)> profile;

  weir_context *get() const {
    weir_context *context = handle.load(std::memory_order_acquire);
    if (context == nullptr) throw error(WEIR_ERROR_RELEASED, "the context of this object is gone");
    return context;
  }

  // Keeps what task `task` threw; of a launch of a graph, the first of the tasks in the order of recording counts.
  void keep(std::uint64_t task, std::uint32_t node, const std::exception_ptr &thrown, outcome *own) noexcept {
    try {
      std::lock_guard<std::mutex> lock(mutex_);
      if (own != nullptr && own->what == nullptr) own->what = thrown;
      for (kept &one : kept_) {
        if (one.task != task) continue;
        if (node < one.node) one = kept{task, node, thrown};
        return;
      }
      kept_.push_back(kept{task, node, thrown});
      if (kept_.size() > most_kept) kept_.pop_front();
    } catch (...) { // no memory: the failure has its text still
    }
  }

  // What a callback or the destructor of a function threw; the first one is for the next finish().
  void keep_for_finish() noexcept {
    std::exception_ptr thrown = std::current_exception();
    try {
      std::lock_guard<std::mutex> lock(mutex_);
      if (for_finish_ == nullptr) for_finish_ = thrown;
    } catch (...) {
    }
  }

  std::exception_ptr thrown_by(std::uint64_t task) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const kept &one : kept_)
      if (one.task == task) return one.thrown;
    return nullptr;
  }

  std::exception_ptr thrown_by(const outcome &own) {
    std::lock_guard<std::mutex> lock(mutex_);
    return own.what;
  }

  // Keeps the state of a context that is never freed.
  static void leave(const std::shared_ptr<state> &one) noexcept {
    static std::atomic<state *> all_left{nullptr};
    one->self_ = one;
    one->next_left_ = all_left.exchange(one.get());
  }

  std::exception_ptr take_for_finish() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(for_finish_, nullptr);
  }

private:
  struct kept {
    std::uint64_t task;
    std::uint32_t node;
    std::exception_ptr thrown;
  };
  static constexpr std::size_t most_kept = 1024;
  std::mutex mutex_;
  std::deque<kept> kept_;
  std::exception_ptr for_finish_;
  std::shared_ptr<state> self_;
  state *next_left_ = nullptr;
};

using shared_state = std::shared_ptr<state>;

// Throws what a failed wait is about: the exception of the task if there is one, or weir::error.
[[noreturn]] inline void throw_failure(state &all, weir_status status, const outcome *own) {
  const std::uint64_t task = weir_last_error_task();
  const error plain(status, weir_last_error());
  std::exception_ptr thrown;
  if (status == WEIR_ERROR_TASK_FAILED && own != nullptr) thrown = all.thrown_by(*own);
  if (status == WEIR_ERROR_TASK_FAILED && own == nullptr && task != 0) thrown = all.thrown_by(task);
  if (thrown != nullptr) std::rethrow_exception(thrown);
  throw plain;
}

inline std::uint64_t nanoseconds(std::chrono::nanoseconds time) noexcept {
  return time.count() < 0 ? 0 : static_cast<std::uint64_t>(time.count());
}

// An object of the C interface and what releases it. It is moved, never copied; the context releases it if that goes first.
template <class Handle, auto Release> class owner {
public:
  owner() noexcept = default;
  owner(shared_state all, Handle *handle) noexcept : all_(std::move(all)), handle_(handle) {}
  owner(owner &&other) noexcept : all_(std::move(other.all_)), handle_(std::exchange(other.handle_, nullptr)) {}
  owner &operator=(owner &&other) noexcept {
    owner(std::move(other)).swap(*this);
    return *this;
  }
  ~owner() {
    if (handle_ != nullptr && all_->handle.load(std::memory_order_acquire) != nullptr) (void)Release(handle_);
  }

  void swap(owner &other) noexcept {
    std::swap(all_, other.all_);
    std::swap(handle_, other.handle_);
  }
  bool holds() const noexcept {
    return handle_ != nullptr;
  }
  state &all() const {
    return *all_;
  }
  const shared_state &shared() const {
    return all_;
  }

  // The object; an error if it was moved away, or its context is gone.
  Handle *get() const {
    if (handle_ == nullptr) throw error(WEIR_ERROR_INVALID_ARGUMENT, "this object was moved from, or never made");
    all_->get();
    return handle_;
  }

private:
  shared_state all_;
  Handle *handle_ = nullptr;
};

} // namespace detail
} // namespace weir

#endif // WEIR_CPP_BASE_HPP
