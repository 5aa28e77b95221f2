// The order of a sweep: configurations, repeats, levels, and what refinement adds or drops.
#include "sweep/sweep.h"

#include "base/clock.h"
#include "sweep/file_lock.h"
#include "sweep/refine.h"
#include "sweep/session.h"

namespace headroom::sweep {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

/// One sweep of a recipe and store at a time, whatever way leads to the store's file.
Result<FileLock> lock_recipe(const std::string& db, const std::string& recipe) {
  // A database server has no place beside it: then the lock holds on this machine.
  const bool file = db.find("://") == std::string::npos;
  std::error_code ignored;
  const fs::path real = file ? fs::canonical(db, ignored) : fs::path();
  const std::string path =
      file ? fmt::format("{}.{}.lock", real.empty() ? db : real.string(), recipe)
           : (fs::temp_directory_path() /
              fmt::format("headroom-{}.{}.lock", sha256_hex(db).substr(0, 16), recipe))
                 .string();
  return FileLock::take(path, fmt::format("another sweep of {} into {} is running", recipe, db));
}

std::optional<Level> level_of(const Load& load, std::span<const results::StoredRecord* const> all) {
  using analysis::Metric;
  if (!load.concurrency || all.empty()) return std::nullopt;
  Level level;
  level.concurrency = *load.concurrency;
  double met = 0, attempted = 0;
  for (const results::StoredRecord* stored : all) {
    const results::Record& record = stored->record;
    const auto x = analysis::read(record, Metric::kInteractivity, {});
    auto y = analysis::read(record, Metric::kTokSGpu, {});
    if (!y) y = analysis::read(record, Metric::kTokS, {});
    if (!x || !y) return std::nullopt;
    level.x += x->value / static_cast<double>(all.size());
    level.y += y->value / static_cast<double>(all.size());
    if (record.measures.slo && record.measures.slo->met && record.measures.requests_sent) {
      met += static_cast<double>(*record.measures.slo->met);
      attempted += static_cast<double>(*record.measures.requests_sent);
    }
  }
  if (attempted > 0) level.meets_slo = met >= kSloShare * attempted;
  return level;
}

class Runner {
 public:
  Runner(SweepState& state, const Plan& plan) : state_(state), plan_(plan) {}

  void run() {
    if (state_.recipe.restart_between_repeats) {
      for (int64_t repeat = 1; repeat <= state_.recipe.repeats; ++repeat)
        for (size_t c = 0; c < plan_.configurations.size(); ++c)
          run_configuration(c, repeat, repeat);
    } else {
      for (size_t c = 0; c < plan_.configurations.size(); ++c)
        run_configuration(c, 1, state_.recipe.repeats);
    }
  }

 private:
  /// Repeats are spread over the levels, so that drift does not pass for an effect of the load.
  void run_configuration(size_t c, int64_t first, int64_t last) {
    const Configuration& configuration = plan_.configurations[c];
    Session session(state_, configuration);
    std::vector<Load> loads;
    for (const PlannedPoint& point : plan_.points)
      if (point.configuration == c) loads.push_back(point.load);
    size_t kept = loads.size();
    for (int64_t repeat = first; repeat <= last; ++repeat)
      for (size_t i = 0; i < kept; ++i) {
        if (dropped_[c] && i >= *dropped_[c]) {
          left(configuration, loads[i], repeat, drop_reason_[c]);
          continue;
        }
        point(session, configuration, loads[i], repeat, false);
        if (repeat == 1 && state_.recipe.refine && i + 1 < kept && !state_.stopped)
          if (auto reason = dominated(levels(c), others(c), *state_.recipe.refine)) {
            state_.outcome.notes.push_back(fmt::format(
                "{}: given up after {}: {}", configuration.label, load_text(loads[i]), *reason));
            dropped_[c] = i + 1;
            drop_reason_[c] = "given up: " + *reason;
          }
      }
    if (state_.recipe.refine && state_.options.point.empty() && last == state_.recipe.repeats &&
        !dropped_[c])
      refine(session, c, first, last);
  }

  void refine(Session& session, size_t c, int64_t first, int64_t last) {
    const Configuration& configuration = plan_.configurations[c];
    for (int64_t added = 0; added < state_.recipe.refine->most_points && !state_.stopped; ++added) {
      const auto next = next_level(levels(c), *state_.recipe.refine);
      if (!next) return;
      const Load load{next->concurrency, std::nullopt};
      state_.outcome.notes.push_back(
          fmt::format("{}: added {}: {}", configuration.label, load_text(load), next->reason));
      state_.view->line(state_.outcome.notes.back());
      state_.total += static_cast<size_t>(last - first + 1);
      bool good = true;
      for (int64_t repeat = first; repeat <= last; ++repeat)
        good = point(session, configuration, load, repeat, true) && good;
      if (!good) return;
    }
  }

  void left(const Configuration& configuration, const Load& load, int64_t repeat,
            std::string reason) {
    PointResult result;
    result.configuration = configuration.label;
    result.load = load;
    result.repeat = repeat;
    result.reason = std::move(reason);
    state_.outcome.points.push_back(std::move(result));
  }

  bool point(Session& session, const Configuration& configuration, const Load& load, int64_t repeat,
             bool added) {
    const auto had = state_.choice.have.find({point_digest(configuration, load), repeat});
    PointResult result;
    if (had != state_.choice.have.end()) {
      result.configuration = configuration.label;
      result.load = load;
      result.repeat = repeat;
      result.state = PointState::kHad;
      result.record = had->second;
    } else {
      auto measured = session.measure(load, repeat);
      if (!measured) {
        left(configuration, load, repeat, "not reached");
        return false;
      }
      result = std::move(*measured);
    }
    result.added = added;
    state_.outcome.points.push_back(std::move(result));
    return state_.outcome.points.back().record.has_value();
  }

  std::vector<Level> levels(size_t c) const {
    std::vector<std::pair<Load, std::vector<const results::StoredRecord*>>> by_load;
    for (const PointResult& result : state_.outcome.points) {
      if (result.configuration != plan_.configurations[c].label || !result.record) continue;
      if (result.record->record.server.recipe_fingerprint != plan_.configurations[c].fingerprint)
        continue;
      auto at = std::find_if(by_load.begin(), by_load.end(),
                             [&](const auto& entry) { return entry.first == result.load; });
      if (at == by_load.end()) at = by_load.insert(at, {result.load, {}});
      at->second.push_back(&*result.record);
    }
    std::vector<Level> result;
    for (const auto& [load, records] : by_load)
      if (const auto level = level_of(load, records)) result.push_back(*level);
    return result;
  }

  std::vector<analysis::Point> others(size_t c) const {
    std::vector<analysis::Point> points;
    for (size_t other = 0; other < plan_.configurations.size(); ++other) {
      if (other == c) continue;
      for (const Level& level : levels(other)) {
        analysis::Point point;
        point.x = level.x;
        point.y = level.y;
        point.recipe = plan_.configurations[other].label;
        points.push_back(std::move(point));
      }
    }
    return points;
  }

  SweepState& state_;
  const Plan& plan_;
  std::map<size_t, std::optional<size_t>> dropped_;  // configuration → first level given up
  std::map<size_t, std::string> drop_reason_;
};

double expected_seconds(const SweepState& state, const Plan& plan, size_t& points) {
  double seconds = 0;
  for (size_t c = 0; c < plan.configurations.size(); ++c) {
    bool any = false;
    for (const PlannedPoint& point : plan.points)
      for (int64_t repeat = 1; point.configuration == c && repeat <= state.recipe.repeats;
           ++repeat) {
        if (state.choice.have.contains({point.digest, repeat})) continue;
        any = true;
        ++points;
        seconds +=
            estimate_point(state.recipe, plan.configurations[c], point.load, state.stored).seconds;
      }
    if (any)
      seconds +=
          estimate_start(plan.configurations[c], state.recipe, state.stored).seconds *
          static_cast<double>(state.recipe.restart_between_repeats ? state.recipe.repeats : 1);
  }
  return seconds;
}

}  // namespace

size_t SweepOutcome::count(PointState state) const {
  return static_cast<size_t>(
      std::count_if(points.begin(), points.end(),
                    [&](const PointResult& point) { return point.state == state; }));
}

SweepOutcome run_sweep(const Recipe& recipe, const SweepOptions& options, results::Store& store) {
  SweepOutcome outcome;
  const auto ended = [&](base::Error error) {
    outcome.error = std::move(error);
    return std::move(outcome);
  };
  // Without its key the server would refuse every request, and the reason would be far away.
  if (!recipe.bench.api_key_env.empty() && recipe.bench.api_key.empty())
    return ended({ErrorCode::kInvalidArgument,
                  fmt::format("{}: workload.api_key_env: the variable {} is not set", recipe.file,
                              recipe.bench.api_key_env)});
  const auto lock = lock_recipe(store.name(), recipe.name);
  if (!lock) return ended(lock.error());
  auto plan = make_plan(recipe, options.variables);
  if (!plan) return ended(plan.error());
  if (const auto kept = keep_points(*plan, options.point); !kept) return ended(kept.error());
  auto choice = choose_run(recipe, *plan, store, options.again, options.run);
  if (!choice) return ended(choice.error());
  results::Selector selector;
  selector.conditions.push_back({"recipe", {recipe.name}});
  auto stored = store.query(selector, true);
  if (!stored) return ended(stored.error());
  SweepState state{recipe, options, store, std::move(*choice), std::move(*stored), {}};
  state.outcome.run = state.choice.run;
  state.outcome.started_as = state.choice.state;
  state.started_ns = base::now_ns();
  const double expected = expected_seconds(state, *plan, state.total);
  {
    SweepView view(expected, options.quiet);
    state.view = &view;
    Runner(state, *plan).run();
  }
  state.view = nullptr;
  state.outcome.seconds = state.elapsed_s();
  std::optional<int64_t> devices;
  for (const Configuration& c : plan->configurations)
    if (c.devices) devices = std::max(devices.value_or(0), *c.devices);
  state.outcome.dollars = state.dollars_after(0, devices);
  if (options.stop != nullptr && *options.stop && !state.outcome.error)
    state.outcome.error =
        base::Error{ErrorCode::kCancelled, "interrupted: the running point was dropped"};
  return std::move(state.outcome);
}

}  // namespace headroom::sweep
