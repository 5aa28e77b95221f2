// Movement: which points of a recipe moved between two runs, by a rule that repeats feed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare.h"
#include "results/store.h"

namespace headroom::sweep {

/// A point moved when its speed for each user changed by more than the threshold and, with repeats
/// on both sides, the 95 % interval of the change leaves 1 out; without repeats the change must be
/// three times the threshold, since nothing tells what noise is.
inline constexpr double kWithoutRepeats = 3;

struct PointMovement {
  std::string configuration;
  double concurrency = 0;
  double before = 0, after = 0, gain = 1;  // tok/s/user
  std::optional<analysis::Interval> interval;
  bool moved = false;
};

struct Movement {
  std::vector<PointMovement> points;
  std::vector<analysis::Difference> differences;  // of the two runs' recipes
  size_t moved() const;
  /// Geometric mean of the moved points' gains: its side of 1 is the direction. Absent: none moved.
  std::optional<double> direction() const;
  std::string text() const;  // table and verdict
};

/// Points of the same configuration label and load. kNotFound when the runs share none.
base::Result<Movement> movement(std::span<const results::StoredRecord> before,
                                std::span<const results::StoredRecord> after, double threshold);

}  // namespace headroom::sweep
