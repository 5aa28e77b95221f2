// Draws the bar from a thread of its own, since the measuring thread is busy measuring.
#include "sweep/sweep_view.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/clock.h"
#include "base/table.h"

namespace headroom::sweep {
namespace {

double since_s(int64_t start) {
  return static_cast<double>(base::now_ns() - start) * 1e-9;
}

}  // namespace

SweepView::SweepView(double expected_s, bool quiet)
    : quiet_(quiet),
      terminal_(base::stderr_is_terminal()),
      expected_s_(expected_s),
      started_ns_(base::now_ns()) {
  if (!quiet_ && terminal_)
    ticker_ = std::thread([this] {
      while (!over_) {
        tick();
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
      }
    });
}

SweepView::~SweepView() {
  over_ = true;
  if (ticker_.joinable()) {
    ticker_.join();
    fmt::print(stderr, "\r\x1b[K");
  }
}

void SweepView::tick() {
  const std::lock_guard lock(mutex_);
  const double here = began_ns_ == 0 ? 0 : std::min(since_s(began_ns_), current_s_);
  const double total = std::max(expected_s_, done_s_ + current_s_);
  const double part = total > 0 ? std::min(1.0, (done_s_ + here) / total) : 0;
  constexpr int kWidth = 24;
  const int full = static_cast<int>(part * kWidth);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < full ? "█" : "░";
  fmt::print(stderr, "\r\x1b[K{} {:3.0f} %  {} so far, about {} left  {}", bar, part * 100,
             base::duration_text(since_s(started_ns_)),
             base::duration_text(std::max(0.0, total - done_s_ - here)), what_);
  std::fflush(stderr);
}

void SweepView::line(const std::string& text) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "{}{}\n", terminal_ ? "\r\x1b[K" : "", text);
}

void SweepView::begin(std::string what, double expected_s) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  current_s_ = expected_s;
  began_ns_ = base::now_ns();
}

void SweepView::end() {
  const std::lock_guard lock(mutex_);
  // The rest is corrected by what this one took beyond, or short of, its estimate.
  const double took = since_s(began_ns_);
  expected_s_ += took - current_s_;
  done_s_ += took;
  current_s_ = 0;
  began_ns_ = 0;
}

}  // namespace headroom::sweep
