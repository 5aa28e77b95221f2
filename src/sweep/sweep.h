// Sweep: measuring every point of a recipe that the store does not have yet.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/table.h"
#include "results/store.h"
#include "sweep/run_choice.h"

namespace headroom::sweep {

struct SweepOptions {
  std::map<std::string, std::string> variables;  // of the recipe, with other values
  std::filesystem::path logs;                    // folder of the servers' logs; made when missing
  bool again = false;                            // a fresh run, whatever the last one has
  std::string run;                               // that run, fresh or continued; empty: chosen
  std::string point;                             // the digest's start; empty: all points
  bool quiet = false;                            // no progress on stderr
  const std::atomic<bool>* stop = nullptr;
};

enum class PointState { kMeasured, kHad, kFailed, kLeft };

struct PointResult {
  std::string configuration;  // label
  Load load;
  int64_t repeat = 1;
  PointState state = PointState::kLeft;
  std::string reason;                           // of kFailed and kLeft
  std::optional<results::StoredRecord> record;  // of kMeasured and kHad
  bool added = false;                           // by refinement
};

struct SweepOutcome {
  std::string run;
  RunChoice::State started_as = RunChoice::State::kFresh;
  std::vector<PointResult> points;  // in the order of the plan
  std::vector<std::string> notes;   // refinement's decisions, limits
  double seconds = 0;
  std::optional<double> dollars;
  std::optional<base::Error> error;  // the store or the recipe failed, or kCancelled
  size_t count(PointState state) const;
};

/// Every finished point is stored before the next begins. One sweep of a recipe's name at a time
/// and store: a second one is kUnavailable.
SweepOutcome run_sweep(const Recipe& recipe, const SweepOptions& options, results::Store& store);

/// What run_sweep would do, as text.
base::Result<std::string> dry_run_text(const Recipe& recipe, const SweepOptions& options,
                                       const results::Store* store);
base::Result<std::string> dry_run_json(const Recipe& recipe, const SweepOptions& options,
                                       const results::Store* store);

base::Table outcome_table(const SweepOutcome& outcome);
std::string outcome_json(const Recipe& recipe, const SweepOutcome& outcome);

}  // namespace headroom::sweep
