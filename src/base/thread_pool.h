// ThreadPool: pinned workers that spin briefly, then park; parallel_for over a fixed number of
// tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace headroom::base {

/// parallel_for is called by one thread at a time (the engine thread); that thread works too.
/// Which worker runs which task varies from run to run, so a task's result must not depend on its
/// worker, and reductions across tasks happen after the call, in task order.
class ThreadPool {
 public:
  /// `threads` counts the caller; 0 = all cores this process may use. `pin` binds worker i to core
  /// i.
  explicit ThreadPool(int threads = 0, bool pin = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls fn(task, worker) for task in [0, tasks), worker in [0, size()); returns when all are
  /// done. fn must not throw.
  template <typename Fn>
  void parallel_for(int64_t tasks, Fn&& fn) {
    if (tasks <= 0) return;
    if (tasks == 1 || workers_.empty()) {
      for (int64_t t = 0; t < tasks; ++t) fn(t, 0);
      return;
    }
    using Plain = std::remove_reference_t<Fn>;
    run(
        tasks, [](void* f, int64_t task, int worker) { (*static_cast<Plain*>(f))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using Call = void (*)(void* fn, int64_t task, int worker);
  void run(int64_t tasks, Call call, void* fn);
  void work(int worker);
  void worker_loop(int worker, bool pin);

  std::vector<std::thread> workers_;
  Call call_ = nullptr;
  void* fn_ = nullptr;
  int64_t tasks_ = 0;
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};   // bumped once a job; workers wait on it
  alignas(64) std::atomic<int32_t> running_{0};  // workers still in the current job
  std::atomic<bool> stop_{false};
};

}  // namespace headroom::base
