// Watcher: runs recipes again when something they depend on changes, and says what moved.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sweep/movement.h"
#include "sweep/sweep.h"
#include "sweep/watch_state.h"

namespace headroom::sweep {

struct WatchOptions {
  SweepOptions sweep;             // `again`, `run` and `variables` are the watcher's own
  std::optional<double> every_s;  // for recipes without watch.every
  bool bisect = false;            // for recipes with watch.bisect
  std::filesystem::path states;   // folder of the state files
};

class Watcher {
 public:
  /// `say` gets the lines and tables for people.
  Watcher(WatchOptions options, results::Store& store, std::function<void(const std::string&)> say)
      : options_(std::move(options)), store_(store), say_(std::move(say)) {}

  /// Before each round over the recipes: two recipes of one name in a round are an error.
  void new_round() { seen_.clear(); }

  /// Looks at one recipe once: finishes what a kill broke off, then runs it when something changed
  /// or its time has come. True: a run was made. A trigger that cannot be told is said and counts
  /// as unchanged. Errors: the recipe, its state file, the store, kCancelled.
  base::Result<bool> check(const std::filesystem::path& recipe);

 private:
  WatchState::Values current(const Recipe& recipe, const WatchState& state);
  base::Result<> run_pending(const Recipe& recipe, const std::filesystem::path& file,
                             WatchState& state);
  base::Result<Movement> report(const Recipe& recipe, const WatchState& state,
                                const std::string& before, const std::string& after);
  base::Result<> bisect(const Recipe& recipe, const std::filesystem::path& file, WatchState& state);
  base::Result<SweepOutcome> sweep(const Recipe& recipe, const WatchState::Values& values,
                                   const std::string& run);
  base::Result<std::vector<results::StoredRecord>> records_of(const std::string& run) const;

  std::map<std::string, std::filesystem::path> seen_;  // recipe names of this round
  WatchOptions options_;
  results::Store& store_;
  std::function<void(const std::string&)> say_;
};

/// The recipes behind arguments that name files or folders of them (*.yaml), sorted.
base::Result<std::vector<std::filesystem::path>> recipe_files(
    const std::vector<std::string>& arguments);

/// Commits after `from` up to `to`, oldest first, along first parents.
base::Result<std::vector<std::string>> commits_between(const std::string& repository,
                                                       const std::string& from,
                                                       const std::string& to);

}  // namespace headroom::sweep
