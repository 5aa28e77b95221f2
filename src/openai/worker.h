// Worker: one thread for what would hold up an I/O thread, such as the tokens of a long prompt.
#pragma once

#include <functional>
#include <thread>

#include "base/queue.h"

namespace headroom::openai {

/// Runs jobs one after another. The destructor lets the one under way end and drops the others.
class Worker {
 public:
  explicit Worker(size_t capacity) : jobs_(capacity) {
    thread_ = std::thread([this] {
      while (!jobs_.closed()) {
        if (const auto job = jobs_.pop_for(std::chrono::seconds(3600)); job && !jobs_.closed())
          (*job)();
      }
    });
  }
  ~Worker() {
    jobs_.close();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Any thread. False when `capacity` jobs wait already.
  bool run(std::function<void()> job) { return jobs_.try_push(std::move(job)); }

 private:
  base::BoundedQueue<std::function<void()>> jobs_;
  std::thread thread_;
};

}  // namespace headroom::openai
