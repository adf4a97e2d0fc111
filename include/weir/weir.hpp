// SPDX-License-Identifier: Apache-2.0
//
// Weir in C++17: objects that release themselves, typed buffers, lambdas as tasks, exceptions (docs/guide/cpp.md).
//
// Errors: a call that fails throws weir::error. A task that throws fails, and finish() and event::wait() throw the same
// exception in the thread that waits. No exception passes through Weir, and none ends the program.
//
// Ownership: objects are moved, not copied. A context waits for its tasks when it is destroyed. Objects that are
// destroyed later do nothing then, and calls on them throw. A context must not be destroyed by a task or a callback: it
// is never freed in that case. get() gives the object of the C interface, which stays the owner's.
//
// Threads: as weir.h says. No thread may use an object while another one moves or destroys it.
#ifndef WEIR_WEIR_HPP
#define WEIR_WEIR_HPP

#include "weir/cpp/base.hpp"
#include "weir/cpp/task.hpp"

namespace weir {

template <class T> class buffer;
template <class F> class kernel;

// A task that was submitted. Destroying it does not wait.
class event {
public:
  event() noexcept = default;
  event(event &&other) noexcept : own_(std::move(other.own_)), outcome_(std::exchange(other.outcome_, nullptr)) {}
  event &operator=(event &&other) noexcept {
    own_ = std::move(other.own_);
    std::swap(outcome_, other.outcome_);
    return *this;
  }
  ~event() {
    if (outcome_ != nullptr) outcome_->drop();
  }

  // Waits until the task is done. Throws what the task threw, or weir::error if it failed otherwise or was skipped.
  void wait() const {
    (void)wait_for(std::chrono::nanoseconds::max());
  }

  // The same for a limited time. False: the time is over, and the task goes on.
  bool wait_for(std::chrono::nanoseconds time) const {
    const bool forever = time == std::chrono::nanoseconds::max();
    const weir_status status = weir_event_wait(get(), forever ? WEIR_FOREVER : detail::nanoseconds(time));
    if (status == WEIR_TIMEOUT) return false;
    if (status != WEIR_OK) detail::throw_failure(own_.all(), status, outcome_);
    return true;
  }

  // WEIR_PENDING, WEIR_OK, or how the task failed.
  weir_status poll() const {
    return weir_event_poll(get());
  }

  // How the task failed, in words; "" if it has not.
  std::string message() const {
    return weir_event_message(get());
  }

  // Calls `function` with the task's status when it is done (weir_event_on_done). What it throws, the next
  // context::finish() throws.
  template <class F> void on_done(F &&function) const {
    struct callback {
      detail::state *all;
      std::decay_t<F> function;
      static void call(void *user, weir_status status) noexcept {
        callback *self = static_cast<callback *>(user);
        detail::state *all = self->all;
        try {
          std::unique_ptr<callback> owned(self);
          self->function(status);
        } catch (...) {
          all->keep_for_finish();
        }
      }
    };
    static_assert(std::is_nothrow_destructible<std::decay_t<F>>::value, "its destructor must not throw");
    weir_event *const handle = get();
    auto owned = std::make_unique<callback>(callback{&own_.all(), std::forward<F>(function)});
    check(weir_event_on_done(handle, callback::call, owned.get()));
    (void)owned.release(); // the call has it
  }

  explicit operator bool() const noexcept {
    return own_.holds();
  }
  weir_event *get() const {
    return own_.get();
  }

private:
  friend class context;
  friend class graph;
  template <class T> friend class buffer;
  event(detail::shared_state all, weir_event *handle, detail::outcome *outcome = nullptr) noexcept
      : own_(std::move(all), handle), outcome_(outcome) {}

  detail::owner<weir_event, weir_event_release> own_;
  detail::outcome *outcome_ = nullptr; // NULL: the context has it, by the task's number
};

// Devices, memory and the order of submission.
class context {
public:
  context() : context(options()) {}
  explicit context(const options &given) : all_(std::make_shared<detail::state>()) {
    weir_context_options plain = {};
    plain.devices = given.devices.empty() ? nullptr : given.devices.c_str();
    plain.window = given.window;
    plain.queues = given.queues;
    plain.memory_limit = given.memory_limit;
    plain.device_memory_limit = given.device_memory_limit;
    plain.issue = given.issue;
    plain.seed = given.seed;
    plain.flags = given.flags;
    plain.rename_limit = given.rename_limit;
    if (given.profile) {
      all_->profile = given.profile;
      plain.profile = profile;
      plain.profile_user = all_.get();
    }
    weir_context *handle = nullptr;
    check(weir_context_create(&plain, &handle));
    all_->handle.store(handle, std::memory_order_release);
  }
  context(context &&) noexcept = default;
  context &operator=(context &&other) noexcept {
    if (this != &other) {
      close();
      all_ = std::move(other.all_);
    }
    return *this;
  }
  ~context() {
    close();
  }

  // Submits a function as a task that runs once on a CPU worker, or a kernel. Each argument is reads(), writes() or
  // updates() of a buffer, of which the function gets a span, or a trivially copyable value, of which it gets a copy.
  // The function is moved into the task, and destroyed before the task's event is done, or before an error is thrown.
  template <class F, class... A> event submit(const task_options &options, F &&function, A &&...arguments) {
    return submit_task(options, function, std::forward<F>(function), arguments...);
  }
  template <class F, class... A, class = std::enable_if_t<!std::is_same<std::decay_t<F>, task_options>::value>>
  event submit(F &&function, A &&...arguments) {
    return submit_task(task_options(), function, std::forward<F>(function), arguments...);
  }

  // Waits for all tasks. Throws what the first task that failed threw (weir_finish), or what a callback threw.
  void finish() {
    (void)finish_for(std::chrono::nanoseconds::max());
  }

  // The same for a limited time. False: the time is over, and the tasks go on.
  bool finish_for(std::chrono::nanoseconds time) {
    const bool forever = time == std::chrono::nanoseconds::max();
    const weir_status status = weir_finish_for(get(), forever ? WEIR_FOREVER : detail::nanoseconds(time));
    if (status == WEIR_TIMEOUT) return false;
    if (status != WEIR_OK) detail::throw_failure(*all_, status, nullptr);
    if (const std::exception_ptr thrown = all_->take_for_finish()) std::rethrow_exception(thrown);
    return true;
  }

  void cancel() {
    weir_context_cancel(get());
  }

  weir_statistics statistics() const {
    weir_statistics counts = {};
    weir_context_statistics(get(), &counts);
    return counts;
  }

  // A device of the context; NULL past the end.
  weir_device *device(std::uint32_t index) const {
    return weir_context_device(get(), index);
  }

  weir_context *get() const {
    if (all_ == nullptr) throw error(WEIR_ERROR_INVALID_ARGUMENT, "this context was moved from");
    return all_->get();
  }

private:
  template <class T> friend class buffer;
  template <class F> friend class kernel;
  friend class graph;

  const detail::shared_state &shared() const {
    (void)get();
    return all_;
  }

  static void profile(void *user, const weir_profile_event *event) noexcept {
    detail::state *all = static_cast<detail::state *>(user);
    try {
      all->profile(*event);
    } catch (...) {
      all->keep_for_finish();
    }
  }

  void close() noexcept {
    if (all_ == nullptr) return;
    weir_context *handle = all_->handle.load(std::memory_order_acquire);
    if (handle == nullptr) return;
    if (weir_context_release(handle) == WEIR_OK)
      all_->handle.store(nullptr, std::memory_order_release);
    else
      detail::state::leave(all_); // its tasks go on, and need it
    all_.reset();
  }

  // The second argument chooses: a kernel, or any other function.
  template <class K, class F, class... A>
  event submit_task(const task_options &options, const kernel<K> &, F &&function, const A &...arguments) {
    (void)get();
    const kernel<K> &code = function;
    detail::task_parts<A...> parts(options, arguments...);
    parts.task.kernel = code.get();
    if constexpr (std::is_same<K, void>::value)
      return submit_parts(parts.task, nullptr);
    else
      return submit_parts(parts.task, code.make_body(arguments...));
  }
  template <class G, class F, class... A>
  event submit_task(const task_options &options, const G &, F &&function, const A &...arguments) {
    (void)get();
    detail::task_parts<A...> parts(options, arguments...);
    parts.task.host = detail::body::run;
    return submit_parts(
        parts.task, new detail::body_of<std::decay_t<F>, A...>(all_.get(), std::forward<F>(function), arguments...));
  }

  event submit_parts(weir_task &task, detail::body *body) {
    task.user = body;
    if (body != nullptr) {
      task.destroy = detail::body::destroy;
      body->references.store(2, std::memory_order_relaxed); // the task's and the event's
    }
    weir_event *handle = nullptr;
    const weir_status status = weir_submit(all_->get(), &task, &handle);
    if (status == WEIR_OK) return event(all_, handle, body);
    const error refused(status, weir_last_error());
    if (body != nullptr) body->drop();
    if (body != nullptr) detail::body::destroy(body);
    throw refused;
  }

  detail::shared_state all_;
};

// Code that tasks share, with a form for each kind of device. The function is its code for the CPU: it gets the range of
// work-groups as a const weir_work & (first, end) before its arguments, and several threads may call it at once.
// Code for other devices is given by the C interface: weir_cuda_..., with get().
template <class F = void> class kernel {
public:
  kernel(const context &where, const std::string &name, F function)
      : own_(make(where, name)), function_(std::make_shared<const F>(std::move(function))) {
    static_assert(std::is_nothrow_destructible<F>::value, "its destructor must not throw");
    check(weir_kernel_set_cpu(get(), detail::body::run));
  }
  weir_kernel *get() const {
    return own_.get();
  }

private:
  friend class context;
  friend class graph;
  template <class G> friend class kernel;
  using owner = detail::owner<weir_kernel, weir_kernel_release>;

  static owner make(const context &where, const std::string &name) {
    weir_kernel *handle = nullptr;
    check(weir_kernel_create(where.get(), name.c_str(), &handle));
    return owner(where.shared(), handle);
  }
  template <class... A> detail::body *make_body(const A &...arguments) const {
    using shared = detail::shared_function<F>;
    return new detail::body_of<shared, A...>(&own_.all(), shared{function_}, arguments...);
  }

  owner own_;
  std::shared_ptr<const F> function_;
};

// A kernel without a function in C++.
template <> class kernel<void> {
public:
  kernel(const context &where, const std::string &name) : own_(kernel<int>::make(where, name)) {}
  weir_kernel *get() const {
    return own_.get();
  }

private:
  detail::owner<weir_kernel, weir_kernel_release> own_;
};

kernel(const context &, const char *)->kernel<void>;
kernel(const context &, const std::string &)->kernel<void>;
template <class F> kernel(const context &, const char *, F) -> kernel<F>;
template <class F> kernel(const context &, const std::string &, F) -> kernel<F>;

// `size()` elements that tasks read and write.
template <class T> class buffer {
  static_assert(std::is_trivially_copyable<T>::value && !std::is_const<T>::value,
                "elements of buffers are copied as bytes");

public:
  using value_type = T;

  buffer() noexcept = default;

  // Makes a buffer with undefined contents, or one on the caller's memory (weir_buffer_wrap).
  buffer(const context &where, std::size_t count) : size_(count) {
    if (count > SIZE_MAX / sizeof(T)) throw error(WEIR_ERROR_INVALID_ARGUMENT, "buffer: too many elements");
    weir_buffer *handle = nullptr;
    check(weir_buffer_create(where.get(), count * sizeof(T), &handle));
    own_ = owner(where.shared(), handle);
  }
  buffer(const context &where, span<T> memory) : size_(memory.size()) {
    weir_buffer *handle = nullptr;
    check(weir_buffer_wrap(where.get(), memory.data(), memory.size_bytes(), &handle));
    own_ = owner(where.shared(), handle);
  }

  std::size_t size() const noexcept {
    return size_;
  }

  // Names the buffer in messages and timelines.
  void label(const std::string &text) {
    check(weir_buffer_set_label(get(), text.c_str()));
  }

  // Copies elements from `first` on to the caller's memory, as soon as they are there, and returns when that is done.
  // Throws what weir_read returns.
  void read(span<T> to, std::size_t first = 0) const {
    weir_buffer *const self = get(); // an error if the buffer was moved from
    if (!to.empty()) check(weir_read(self, offset(first, to.size()), to.size_bytes(), to.data()));
  }
  std::vector<T> read() const {
    std::vector<T> all(size_);
    read(span<T>(all));
    return all;
  }

  // Copies the caller's elements to the buffer from element `first` on, and returns when they are no longer needed.
  void write(span<const T> from, std::size_t first = 0) {
    (void)get(); // an error if the buffer was moved from
    if (!from.empty()) copy_in(from, first).wait();
  }

  // Copies that return at once: the memory must stay valid, and untouched, until the event is done.
  event copy_in(span<const T> from, std::size_t first = 0) {
    weir_event *handle = nullptr;
    check(weir_copy_in(get(), offset(first, from.size()), from.size_bytes(), from.data(), &handle));
    return event(own_.shared(), handle);
  }
  event copy_out(span<T> to, std::size_t first = 0) const {
    weir_event *handle = nullptr;
    check(weir_copy_out(get(), offset(first, to.size()), to.size_bytes(), to.data(), &handle));
    return event(own_.shared(), handle);
  }

  explicit operator bool() const noexcept {
    return own_.holds();
  }
  weir_buffer *get() const {
    return own_.get();
  }

  // Bytes before element `first`, of a range of `count` elements.
  std::uint64_t offset(std::size_t first, std::size_t count) const {
    if (first > size_ || count > size_ - first) throw error(WEIR_ERROR_OUT_OF_RANGE, "buffer: elements past its end");
    return static_cast<std::uint64_t>(first) * sizeof(T);
  }

private:
  using owner = detail::owner<weir_buffer, weir_buffer_release>;
  owner own_;
  std::size_t size_ = 0;
};

template <class T, std::size_t N> buffer(const context &, T (&)[N]) -> buffer<T>;
template <class C> buffer(const context &, C &) -> buffer<std::remove_pointer_t<decltype(std::declval<C &>().data())>>;

namespace detail {
template <class E, class T>
access<E> make_access(weir_mode mode, const buffer<T> &of, std::size_t first, std::size_t count) {
  weir_arg arg = {};
  arg.mode = mode;
  arg.buffer = of.get();
  arg.offset = of.offset(first, count);
  arg.bytes = static_cast<std::uint64_t>(count) * sizeof(T);
  return access<E>{arg, count};
}
} // namespace detail

// Arguments: the task reads, overwrites or updates a buffer, or `count` of its elements from element `first` on.
template <class T> access<const T> reads(const buffer<T> &of) {
  return detail::make_access<const T>(WEIR_READ, of, 0, of.size());
}
template <class T> access<const T> reads(const buffer<T> &of, std::size_t first, std::size_t count) {
  return detail::make_access<const T>(WEIR_READ, of, first, count);
}
template <class T> access<T> writes(const buffer<T> &of) {
  return detail::make_access<T>(WEIR_WRITE, of, 0, of.size());
}
template <class T> access<T> writes(const buffer<T> &of, std::size_t first, std::size_t count) {
  return detail::make_access<T>(WEIR_WRITE, of, first, count);
}
template <class T> access<T> updates(const buffer<T> &of) {
  return detail::make_access<T>(WEIR_READ_WRITE, of, 0, of.size());
}
template <class T> access<T> updates(const buffer<T> &of, std::size_t first, std::size_t count) {
  return detail::make_access<T>(WEIR_READ_WRITE, of, first, count);
}

// Tasks that are recorded once and launched many times (weir/graph.h). It keeps the functions of its tasks; launches in
// flight keep them, too.
class graph {
public:
  explicit graph(const context &where, const weir_graph_options &options = weir_graph_options())
      : bodies_(std::make_shared<bodies>()) {
    weir_graph *handle = nullptr;
    check(weir_graph_create(where.get(), &options, &handle));
    own_ = owner(where.shared(), handle);
  }

  // Records a task; its arguments are as for context::submit. The function may be called by several launches at once.
  // Returns the number of the task in the graph.
  template <class F, class... A> std::uint32_t add(const task_options &options, F &&function, A &&...arguments) {
    return add_task(options, function, std::forward<F>(function), arguments...);
  }
  template <class F, class... A, class = std::enable_if_t<!std::is_same<std::decay_t<F>, task_options>::value>>
  std::uint32_t add(F &&function, A &&...arguments) {
    return add_task(task_options(), function, std::forward<F>(function), arguments...);
  }

  // Removes all tasks.
  void clear() {
    auto fresh = std::make_shared<bodies>();
    check(weir_graph_clear(get()));
    bodies_ = std::move(fresh);
  }

  // Submits the whole graph as one task. event::wait and context::finish throw what its first task that failed threw.
  event launch() {
    weir_graph *const self = get(); // an error if the graph was moved from, which has no functions
    auto kept = bodies_->empty() ? nullptr : std::make_unique<std::shared_ptr<bodies>>(bodies_);
    weir_event *handle = nullptr;
    check(weir_graph_launch(self, &handle));
    event launched(own_.shared(), handle);
    // Without memory for the callback the functions stay for good.
    if (kept != nullptr) (void)weir_event_on_done(handle, drop, kept.release());
    return launched;
  }

  // Waits until the launches that are in flight are done. Throws weir::error if one failed (weir_graph_wait).
  void wait() {
    check(weir_graph_wait(get(), WEIR_FOREVER));
  }

  weir_graph *get() const {
    return own_.get();
  }

private:
  using owner = detail::owner<weir_graph, weir_graph_release>;
  using bodies = std::vector<std::unique_ptr<detail::body>>;

  static void drop(void *user, weir_status) noexcept {
    delete static_cast<std::shared_ptr<bodies> *>(user);
  }

  template <class K, class F, class... A>
  std::uint32_t add_task(const task_options &options, const kernel<K> &, F &&function, const A &...arguments) {
    const kernel<K> &code = function;
    detail::task_parts<A...> parts(options, arguments...);
    parts.task.kernel = code.get();
    if constexpr (std::is_same<K, void>::value)
      return add_parts(parts.task, nullptr);
    else
      return add_parts(parts.task, std::unique_ptr<detail::body>(code.make_body(arguments...)));
  }
  template <class G, class F, class... A>
  std::uint32_t add_task(const task_options &options, const G &, F &&function, const A &...arguments) {
    static_assert(std::is_nothrow_destructible<std::decay_t<F>>::value, "its destructor must not throw");
    detail::task_parts<A...> parts(options, arguments...);
    parts.task.host = detail::body::run;
    (void)get();
    using body_type = detail::body_of<std::decay_t<F>, A...>;
    return add_parts(parts.task, std::make_unique<body_type>(&own_.all(), std::forward<F>(function), arguments...));
  }

  std::uint32_t add_parts(weir_task &task, std::unique_ptr<detail::body> body) {
    weir_graph *const self = get();
    task.user = body.get();
    if (bodies_->size() == bodies_->capacity()) bodies_->reserve(2 * bodies_->size() + 1);
    std::uint32_t node = 0;
    check(weir_graph_add(self, &task, &node));
    if (body == nullptr) return node;
    body->node = node;
    body->in_graph = true;
    bodies_->push_back(std::move(body));
    return node;
  }

  owner own_;
  std::shared_ptr<bodies> bodies_;
};

} // namespace weir

#endif // WEIR_WEIR_HPP
