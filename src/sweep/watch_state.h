// WatchState: what `watch` knows of a recipe between its passes, kept in a file beside the store.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"

namespace headroom::sweep {

struct WatchState {
  using Values = std::map<std::string, std::string>;  // of the triggers, and "recipe"
  Values values;                                      // behind the last finished run
  std::string run;                                    // that run; empty: none yet
  double time_s = 0;                                  // its end, Unix time
  // A run that was begun: written before its first point, so that a kill neither loses nor doubles
  // it.
  std::string pending_run;
  Values pending_values;
  // A bisection that was begun: between two values of its variable.
  std::string bisect_base_run, bisect_from, bisect_to;
};

/// A missing file is a fresh state; kDataLoss for one that is not a state.
base::Result<WatchState> read_state(const std::filesystem::path& file);
base::Result<> write_state(const std::filesystem::path& file, const WatchState& state);

}  // namespace headroom::sweep
