// Estimate: how long points will take, from stored ones where there are any.
#pragma once

#include <span>
#include <string>

#include "results/store.h"
#include "sweep/plan.h"

namespace headroom::sweep {

struct Estimate {
  enum class Source { kAsked, kStored, kNear, kGuess };
  double seconds = 0;
  Source source = Source::kGuess;
};
std::string source_text(Estimate::Source source);  // "as asked", "as stored", …

/// `stored`: records of the recipe's name. A point of a fixed duration takes that; one with stored
/// repeats takes as long as they did; one whose configuration (or, failing that, recipe) was
/// measured at another load takes its requests times the time of one there; else 25 ms a token are
/// assumed.
Estimate estimate_point(const Recipe& recipe, const Configuration& configuration, const Load& load,
                        std::span<const results::StoredRecord> stored);

/// Of a server's start: as recorded with the configuration's points, else of any, else 20 s.
Estimate estimate_start(const Configuration& configuration, const Recipe& recipe,
                        std::span<const results::StoredRecord> stored);

/// Where a point's record keeps what the estimates want.
inline constexpr const char* kStartSetting = "sweep.server_start_s";
inline constexpr const char* kConfigurationSetting = "sweep.configuration";  // its label
inline constexpr const char* kPointSetting = "sweep.point_s";

}  // namespace headroom::sweep
