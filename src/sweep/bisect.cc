// Bisection: the versions between two runs that differ, halved until one commit is left.
#include "base/progress.h"
#include "sweep/trigger.h"
#include "sweep/watch.h"

namespace headroom::sweep {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

Result<std::vector<std::string>> commits_between(const std::string& repository,
                                                 const std::string& from, const std::string& to) {
  HEADROOM_TRY(const std::string lines,
               command_output({"git", "-C", repository, "rev-list", "--reverse", "--first-parent",
                               "--end-of-options", from + ".." + to}));
  std::vector<std::string> commits;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    if (end > at) commits.push_back(lines.substr(at, end - at));
    at = end + 1;
  }
  return commits;
}

namespace {

/// A local clone is brought up to date and used as it is; an address is cloned beside the logs.
Result<std::string> local_repository(const std::string& repository, const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(repository, ignored)) {
    (void)command_output({"git", "-C", repository, "fetch", "--quiet", "--all"}, 600);
    return repository;
  }
  const std::string clone = (folder / ("bisect-" + sha256_hex(repository).substr(0, 12))).string();
  if (fs::exists(clone, ignored)) {
    HEADROOM_TRY_VOID(
        command_output({"git", "-C", clone, "fetch", "--quiet", "origin", "+refs/*:refs/*"}, 1800)
            .map([](const std::string&) {}));
    return clone;
  }
  fs::create_directories(folder, ignored);
  HEADROOM_TRY_VOID(command_output({"git", "clone", "--quiet", "--bare", "--filter=blob:none", "--",
                                    repository, clone},
                                   3600)
                        .map([](const std::string&) {}));
  return clone;
}

}  // namespace

Result<> Watcher::bisect(const Recipe& recipe, const fs::path& file, WatchState& state) {
  const auto finish = [&]() -> Result<> {
    state.bisect_base_run.clear();
    state.bisect_from.clear();
    state.bisect_to.clear();
    return write_state(file, state);
  };
  if (!recipe.watch.bisect) return finish();
  const BisectSpec& spec = *recipe.watch.bisect;
  const auto repository = local_repository(spec.repository, options_.sweep.logs);
  if (!repository) {
    say_(fmt::format("{}: no bisection: {}", recipe.name, repository.error().message));
    return finish();
  }
  const auto commits = commits_between(*repository, state.bisect_from, state.bisect_to);
  if (!commits || commits->empty()) {
    say_(fmt::format("{}: no bisection: {}", recipe.name,
                     commits ? "no commits between the two" : commits.error().message));
    return finish();
  }
  HEADROOM_TRY(const auto before, records_of(state.bisect_base_run));
  HEADROOM_TRY(const auto after, records_of(state.run));
  const auto whole = movement(before, after, recipe.watch.threshold);
  if (!whole || !whole->direction()) return finish();
  const bool faster = *whole->direction() > 1;
  say_(fmt::format("{}: bisecting {} commits", recipe.name, commits->size()));
  // good: the last index known not to have moved (-1: bisect_from); bad: the first known to have.
  int64_t good = -1, bad = static_cast<int64_t>(commits->size()) - 1, runs = 0;
  std::string doubt;
  while (bad - good > 1) {
    if (runs++ == spec.most_runs) {
      doubt = fmt::format(" (stopped after {} runs, watch.bisect.most_runs)", spec.most_runs);
      break;
    }
    const int64_t middle = (good + bad) / 2;
    const std::string& commit = (*commits)[static_cast<size_t>(middle)];
    SweepOptions options = options_.sweep;
    options.again = false;
    // Named by what it measures, so that a kill repeats none of it.
    options.run = fmt::format("bisect-{}-{}", state.bisect_base_run, commit.substr(0, 12));
    for (const TriggerSpec& trigger : recipe.watch.triggers)
      if (!trigger.as.empty())
        if (const auto value = state.values.find(trigger.name); value != state.values.end())
          options.variables[trigger.as] = value->second;
    options.variables[spec.variable] = commit;
    const SweepOutcome outcome = run_sweep(recipe, options, store_);
    if (outcome.error) return tl::unexpected(*outcome.error);
    HEADROOM_TRY(const auto here, records_of(options.run));
    const auto moved = movement(before, here, recipe.watch.threshold);
    const auto direction = moved ? moved->direction() : std::nullopt;
    if (!moved) {
      say_(fmt::format("{}: {} gives no point; its neighbour is tried", recipe.name,
                       commit.substr(0, 12)));
      doubt = fmt::format(" (or one before it: {} could not be measured)", commit.substr(0, 12));
      good = middle;
      continue;
    }
    const bool there = direction && (*direction > 1) == faster;
    say_(fmt::format("{}: {}: {}", recipe.name, commit.substr(0, 12),
                     there ? "moved" : "not moved"));
    (there ? bad : good) = middle;
  }
  const std::string& found = (*commits)[static_cast<size_t>(bad)];
  const auto subject = command_output(
      {"git", "-C", *repository, "log", "-1", "--format=%h %ad %s", "--date=short", found});
  say_(fmt::format("{}: the first that is {}: {}{}", recipe.name, faster ? "faster" : "slower",
                   subject ? *subject : found, doubt));
  return finish();
}

}  // namespace headroom::sweep
