// SweepView: the sweep's live line on stderr, moving while a point is measured.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "base/progress.h"

namespace headroom::sweep {

class SweepView {
 public:
  /// `expected_s`: of the whole sweep; corrected as it goes.
  SweepView(double expected_s, bool quiet);
  ~SweepView();
  /// A line above the bar.
  void line(const std::string& text);
  /// What is being done, and how long it should take.
  void begin(std::string what, double expected_s);
  /// What was begun is done, whatever it took.
  void end();

 private:
  void tick();

  bool quiet_, terminal_;
  std::mutex mutex_;
  std::string what_;
  double expected_s_, done_s_ = 0, current_s_ = 0;
  int64_t began_ns_ = 0, started_ns_;
  std::atomic<bool> over_{false};
  std::thread ticker_;
};

}  // namespace headroom::sweep
