// The pool: an epoch counter starts a job, an atomic counter hands out tasks.
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include "base/cpu.h"

namespace headroom::base {
namespace {

// About 20 µs of PAUSE: longer than the gap between two ops of a step, far shorter than a time
// slice.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void pin_to_core(int index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

}  // namespace

ThreadPool::ThreadPool(int threads, bool pin) {
  if (threads <= 0) threads = cpu_info().cores;
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i, pin] { worker_loop(i, pin); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t tasks, Call call, void* fn) {
  call_ = call;
  fn_ = fn;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  running_.store(static_cast<int32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  work(0);
  for (int spins = 0; running_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      const int32_t left = running_.load(std::memory_order_acquire);
      if (left != 0) running_.wait(left, std::memory_order_acquire);
    }
  }
}

void ThreadPool::work(int worker) {
  for (;;) {
    const int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    call_(fn_, task, worker);
  }
}

void ThreadPool::worker_loop(int worker, bool pin) {
  if (pin) pin_to_core(worker);
  uint32_t seen = 0;
  for (;;) {
    for (int spins = 0; epoch_.load(std::memory_order_acquire) == seen; ++spins) {
      if (spins < kSpins) {
        pause();
      } else {
        epoch_.wait(seen, std::memory_order_acquire);
      }
    }
    // Every job waits for every worker, so a worker is never more than one epoch behind.
    ++seen;
    if (stop_.load()) return;
    work(worker);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

}  // namespace headroom::base
