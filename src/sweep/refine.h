// Refine: where a configuration's curve wants another point, and when it is not worth going on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/frontier.h"
#include "sweep/recipe.h"

namespace headroom::sweep {

/// One load level of a closed loop, repeats averaged.
struct Level {
  int64_t concurrency = 0;
  double x = 0, y = 0;            // tok/s/user and tok/s (per device where known)
  std::optional<bool> meets_slo;  // kSloShare of the requests met it; absent: no SLO
};

/// A level meets the service level when so many of its requests do.
inline constexpr double kSloShare = 0.9;

struct Addition {
  int64_t concurrency = 0;
  std::string reason;
};

/// The next level to measure, or nothing: first where the SLO is crossed (bisection between the
/// last level that meets it and the first that does not), then beside the point of the frontier
/// that lies farthest from the chord of its neighbours, in the longer of the two gaps. `levels` in
/// any order.
std::optional<Addition> next_level(std::span<const Level> levels, const RefineSpec& spec);

/// Why the branch is given up: at its last two levels some other point is better on both axes by
/// the margin. `others`: points of other configurations.
std::optional<std::string> dominated(std::span<const Level> levels,
                                     std::span<const analysis::Point> others,
                                     const RefineSpec& spec);

}  // namespace headroom::sweep
