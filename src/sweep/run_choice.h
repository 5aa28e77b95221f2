// RunChoice: which run a call of `sweep` continues, by what the store holds.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "results/store.h"
#include "sweep/plan.h"

namespace headroom::sweep {

using PointKey = std::pair<std::string, int64_t>;  // record.point, repeat

struct RunChoice {
  enum class State { kFresh, kContinues, kFinished };
  State state = State::kFresh;
  std::string run;                                 // kFresh: a new id
  std::map<PointKey, results::StoredRecord> have;  // of that run
  size_t earlier_runs = 0;                         // of this recipe's name in the store
};

/// The newest run of the recipe's name all of whose records come from configurations of the plan is
/// continued; a run of an older wording of the recipe is not. `again`: a fresh one,
/// also when the newest is unfinished. `wanted`: that run and no other, whatever it holds already.
base::Result<RunChoice> choose_run(const Recipe& recipe, const Plan& plan,
                                   const results::Store& store, bool again,
                                   const std::string& wanted = "");

/// Text for people: what changed between the newest stored run of another wording and this plan:
/// one line each, empty when there is no such run.
std::vector<std::string> changed_lines(const Plan& plan,
                                       std::span<const results::StoredRecord> stored);

}  // namespace headroom::sweep
