// One pass over a recipe: triggers, the state, the run, and the report.
#include "sweep/watch.h"

#include "base/clock.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "sweep/file_lock.h"
#include "sweep/trigger.h"

namespace headroom::sweep {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr const char* kRecipe = "recipe";

std::string short_value(const std::string& value) {
  const bool digest =
      value.size() >= 40 && value.find_first_not_of("0123456789abcdef") == std::string::npos;
  return digest ? value.substr(0, 12) : value.empty() ? "-" : value;
}

/// As the state file keeps it: short text stays, anything else is known by its digest.
std::string kept_value(const std::string& value) {
  constexpr size_t kMost = 256;
  bool plain = value.size() <= kMost;
  for (size_t at = 0; plain && at < value.size();) {
    const size_t length = base::utf8_length(std::string_view(value).substr(at));
    plain = length > 1 || (length == 1 && value[at] >= ' ' && value[at] != '\x7f');
    at += std::max<size_t>(length, 1);
  }
  return plain ? value : "sha256:" + sha256_hex(value);
}

double now_s() {
  return static_cast<double>(base::unix_ns()) * 1e-9;
}

}  // namespace

WatchState::Values Watcher::current(const Recipe& recipe, const WatchState& state) {
  WatchState::Values values;
  values[kRecipe] = sha256_hex(recipe.text);
  for (const TriggerSpec& spec : recipe.watch.triggers) {
    const auto value = make_trigger(spec)->value();
    if (value) {
      values[spec.name] = kept_value(*value);
      continue;
    }
    say_(fmt::format("{}: {} cannot be told: {}", recipe.name, spec.name, value.error().message));
    const auto known = state.values.find(spec.name);
    if (known != state.values.end()) values[spec.name] = known->second;
  }
  return values;
}

Result<std::vector<results::StoredRecord>> Watcher::records_of(const std::string& run) const {
  results::Selector selector;
  selector.conditions.push_back({"run", {run}});
  return store_.query(selector);
}

Result<SweepOutcome> Watcher::sweep(const Recipe& recipe, const WatchState::Values& values,
                                    const std::string& run) {
  SweepOptions options = options_.sweep;
  options.run = run;
  options.again = false;
  for (const TriggerSpec& spec : recipe.watch.triggers)
    if (!spec.as.empty())
      if (const auto value = values.find(spec.name); value != values.end())
        options.variables[spec.as] = value->second;
  SweepOutcome outcome = run_sweep(recipe, options, store_);
  if (outcome.error) return tl::unexpected(*outcome.error);
  return outcome;
}

Result<Movement> Watcher::report(const Recipe& recipe, const WatchState& state,
                                 const std::string& before, const std::string& after) {
  HEADROOM_TRY(const auto old_records, records_of(before));
  HEADROOM_TRY(const auto new_records, records_of(after));
  HEADROOM_TRY(Movement moved, movement(old_records, new_records, recipe.watch.threshold));
  std::string text;
  for (const auto& [name, value] : state.pending_values) {
    const auto old = state.values.find(name);
    if (old != state.values.end() && old->second != value)
      text += fmt::format("  {}: {} → {}\n", name, short_value(old->second), short_value(value));
  }
  say_(fmt::format("{}: run {} against run {}\n{}{}", recipe.name, after, before,
                   text.empty() ? "  nothing outside changed: a run on schedule\n" : text,
                   moved.text()));
  return moved;
}

Result<> Watcher::run_pending(const Recipe& recipe, const fs::path& file, WatchState& state) {
  HEADROOM_TRY(const SweepOutcome outcome, sweep(recipe, state.pending_values, state.pending_run));
  const size_t good = outcome.count(PointState::kMeasured) + outcome.count(PointState::kHad);
  say_(fmt::format("{}: {} points measured, {} failed, in {} (run {})", recipe.name, good,
                   outcome.count(PointState::kFailed), base::duration_text(outcome.seconds),
                   state.pending_run));
  std::string reason;
  for (const PointResult& point : outcome.points)
    if (point.state == PointState::kFailed && point.reason != reason) {
      reason = point.reason;
      say_(fmt::format("{}: {}, {}: {}", recipe.name, point.configuration, load_text(point.load),
                       reason));
    }
  std::optional<double> direction;
  if (!state.run.empty() && good > 0) {
    const auto moved = report(recipe, state, state.run, state.pending_run);
    if (moved)
      direction = moved->direction();
    else
      say_(fmt::format("{}: {}", recipe.name, moved.error().message));
  }
  if (direction && options_.bisect && recipe.watch.bisect)
    for (const TriggerSpec& spec : recipe.watch.triggers) {
      if (spec.as != recipe.watch.bisect->variable) continue;
      const std::string from = state.values[spec.name], to = state.pending_values[spec.name];
      if (from.empty() || from == to) continue;
      state.bisect_base_run = state.run;
      state.bisect_from = from;
      state.bisect_to = to;
    }
  // A run without a single point is no base for the next comparison.
  if (good > 0) state.run = state.pending_run;
  state.values = state.pending_values;
  state.time_s = now_s();
  state.pending_run.clear();
  state.pending_values.clear();
  return write_state(file, state);
}

Result<bool> Watcher::check(const fs::path& path) {
  HEADROOM_TRY(const Recipe recipe, read_recipe(path));
  std::error_code ignored;
  const fs::path real = fs::weakly_canonical(path, ignored);
  if (const auto [at, fresh] = seen_.emplace(recipe.name, real); !fresh && at->second != real)
    return fail(ErrorCode::kInvalidArgument,
                "{}: is called {} as {} is; each recipe needs a name of its own", path.string(),
                recipe.name, at->second.string());
  const fs::path file = options_.states / (recipe.name + ".watch.json");
  // From reading the state to the run's end: another watch would run the same change again.
  HEADROOM_TRY(const FileLock lock,
               FileLock::take(file.string() + ".lock",
                              fmt::format("another watch of {} is at work", recipe.name)));
  HEADROOM_TRY(WatchState state, read_state(file));
  bool ran = false;
  if (const auto wording = state.pending_values.find(kRecipe);
      !state.pending_run.empty() &&
      (wording == state.pending_values.end() || wording->second != sha256_hex(recipe.text))) {
    say_(fmt::format("{}: run {} was broken off and the recipe changed since: it is left as it is",
                     recipe.name, state.pending_run));
    state.pending_run.clear();
    state.pending_values.clear();
  }
  if (!state.pending_run.empty()) {
    say_(fmt::format("{}: going on with run {}", recipe.name, state.pending_run));
    HEADROOM_TRY_VOID(run_pending(recipe, file, state));
    ran = true;
  }
  if (!state.bisect_to.empty()) HEADROOM_TRY_VOID(bisect(recipe, file, state));
  const WatchState::Values values = current(recipe, state);
  std::string why;
  for (const auto& [name, value] : values) {
    const auto old = state.values.find(name);
    if (old != state.values.end() && old->second == value) continue;
    why +=
        fmt::format("{}{}: {} → {}", why.empty() ? "" : ", ", name,
                    old == state.values.end() ? "-" : short_value(old->second), short_value(value));
  }
  const auto every = recipe.watch.every_s ? recipe.watch.every_s : options_.every_s;
  // A clock that was set back by more than a correction must not put the next run off for that
  // long.
  const double age = now_s() - state.time_s;
  if (why.empty() && every && (age >= *every || age < -600)) why = "on schedule";
  if (why.empty()) return ran;
  say_(fmt::format("{}: {}", recipe.name, state.time_s == 0 ? "first run" : why));
  state.pending_run = fmt::format("{}-{}", base::utc_text(base::unix_ns()), load::fresh_salt());
  state.pending_values = values;
  HEADROOM_TRY_VOID(write_state(file, state));
  HEADROOM_TRY_VOID(run_pending(recipe, file, state));
  if (!state.bisect_to.empty()) HEADROOM_TRY_VOID(bisect(recipe, file, state));
  return true;
}

Result<std::vector<fs::path>> recipe_files(const std::vector<std::string>& arguments) {
  std::vector<fs::path> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!fs::is_directory(argument, error)) {
      if (!fs::exists(argument, error))
        return fail(ErrorCode::kNotFound, "{}: no such recipe or folder", argument);
      files.emplace_back(argument);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argument, error))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    if (error) return fail(ErrorCode::kIo, "{}: {}", argument, error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace headroom::sweep
