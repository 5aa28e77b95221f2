// Histogram: log-linear counts (HDR-style) from which any percentile can be asked later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::base {

/// Non-negative integer values (we record nanoseconds). Below 2^11 every value has its own bucket;
/// above, each power of two is cut into 1024 buckets, so a reported value is at most 0.1 % off.
/// One thread at a time; merge() combines.
class Histogram {
 public:
  /// Negative values count as 0.
  void record(int64_t value, uint64_t count = 1);
  void merge(const Histogram& other);

  uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t min() const { return count_ ? min_ : 0; }
  int64_t max() const { return max_; }
  double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0.0; }

  /// The smallest recorded bucket middle with at least `percent` % of the values at or below it;
  /// 0 gives min, 100 gives max exactly. Caller checks empty() first: an empty histogram has none.
  int64_t percentile(double percent) const;

  /// "v1;count;sum;min;max;index:count,index:count,..." and back; decode rejects what encode cannot
  /// have written.
  std::string encode() const;
  static Result<Histogram> decode(std::string_view text);

 private:
  std::vector<uint64_t> buckets_;  // as long as the largest index used
  uint64_t count_ = 0;
  double sum_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
};

}  // namespace headroom::base
