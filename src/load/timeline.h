// Timelines: tokens and gaps over the time of a run, so that a window can be cut out afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "base/histogram.h"

namespace headroom::load {

/// A span of CLOCK_MONOTONIC time, nanoseconds.
struct Span {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end - begin; }
  bool contains(int64_t at) const { return at >= begin && at <= end; }
};

/// Output tokens by the time they arrived, in bins of a millisecond: memory grows with time, not
/// with tokens.
class TokenTimeline {
 public:
  void begin(int64_t origin) { origin_ = origin; }
  void add(int64_t at, double tokens);
  /// Of the same origin.
  void merge(const TokenTimeline& other);
  /// Tokens inside the span; a bin that the span cuts counts by its share.
  double within(Span span) const;

 private:
  int64_t origin_ = 0;
  std::vector<float> bins_;
};

/// A histogram of values by the time they arose, in at most 64 slices of equal length; when the run
/// outgrows them, neighbours merge and the length doubles. So memory is bounded.
class SlicedHistogram {
 public:
  void begin(int64_t origin) { origin_ = origin; }
  void record(int64_t at, int64_t value);
  /// Of the same origin.
  void merge(SlicedHistogram other);
  /// Values of the slices that lie wholly in the span: up to a slice is lost at either end.
  base::Histogram within(Span span) const;
  base::Histogram all() const;

 private:
  void halve();

  static constexpr size_t kSlices = 64;
  int64_t origin_ = 0;
  int64_t length_ = 100'000'000;
  std::vector<base::Histogram> slices_;
};

}  // namespace headroom::load
