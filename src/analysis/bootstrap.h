// Bootstrap: intervals of gains from repeated measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/series.h"
#include "base/rng.h"

namespace headroom::analysis {

inline constexpr size_t kBootstrapDraws = 1000;
/// Of fewer repeats the draws end too near: see confidence_interval().
inline constexpr size_t kFewestForPercentiles = 4;

/// A gain's bounds at 95 % confidence.
struct Interval {
  double low = 0, high = 0;
  size_t repeats = 0;  // fewest of any point behind the gain
  const char* method() const {
    return repeats < kFewestForPercentiles ? "student t of bootstrap draws"
                                           : "expanded percentile bootstrap";
  }
  /// False when "no change" lies inside.
  bool significant() const { return low > 1 || high < 1; }
};

/// Every point's repeats drawn anew, with replacement; points measured once stay as they are.
SeriesSet resample(const SeriesSet& set, base::Rng& rng);

/// From kFewestForPercentiles repeats on the expanded percentile interval (T. Hesterberg, "What
/// teachers should know about the bootstrap", The American Statistician 69 (2015), 371-386): the
/// percentiles of the draws that lie as far out as Student's t does for so few repeats, since plain
/// ones are too narrow. The draws of two or three repeats end at the repeats themselves, which
/// covers 67 % and 89 % of the cases, not 95 %: there it is Student's t on the draws' logarithms,
/// with their spread widened by the same factor. Absent for fewer than two repeats or without
/// draws. Draws are gains, above 0.
std::optional<Interval> confidence_interval(std::vector<double> draws, size_t repeats);

}  // namespace headroom::analysis
