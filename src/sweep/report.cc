// What a sweep would do and what it did, as tables and JSON.
#include <set>

#include "analysis/metric.h"
#include "base/json_writer.h"
#include "base/progress.h"
#include "load/point_report.h"
#include "sweep/estimate.h"
#include "sweep/sweep.h"

namespace headroom::sweep {
namespace {

using base::Result;

struct DryPoint {
  const Configuration* configuration;
  Load load;
  int64_t have = 0, repeats = 1;
  Estimate estimate;
};

struct DryRun {
  Plan plan;
  RunChoice choice;
  std::vector<results::StoredRecord> stored;
  std::vector<DryPoint> points;
  double seconds = 0;
  std::optional<double> dollars;
  bool guessed = false;
  std::vector<std::string> changed;
};

Result<DryRun> dry_run(const Recipe& recipe, const SweepOptions& options,
                       const results::Store* store) {
  DryRun dry;
  HEADROOM_TRY(dry.plan, make_plan(recipe, options.variables));
  HEADROOM_TRY_VOID(keep_points(dry.plan, options.point));
  if (store != nullptr) {
    HEADROOM_TRY(dry.choice, choose_run(recipe, dry.plan, *store, options.again));
    results::Selector selector;
    selector.conditions.push_back({"recipe", {recipe.name}});
    HEADROOM_TRY(dry.stored, store->query(selector, true));
    if (dry.choice.state == RunChoice::State::kFresh && dry.choice.earlier_runs > 0 &&
        !options.again)
      dry.changed = changed_lines(dry.plan, dry.stored);
  }
  std::set<const Configuration*> starts;
  for (const PlannedPoint& point : dry.plan.points) {
    const Configuration& configuration = dry.plan.configurations[point.configuration];
    DryPoint row{&configuration, point.load, 0, recipe.repeats, {}};
    for (int64_t repeat = 1; repeat <= recipe.repeats; ++repeat)
      row.have += dry.choice.have.contains({point.digest, repeat});
    row.estimate = estimate_point(recipe, configuration, point.load, dry.stored);
    const auto missing = static_cast<double>(row.repeats - row.have);
    double seconds = missing * row.estimate.seconds;
    if (missing > 0) {
      dry.guessed = dry.guessed || row.estimate.source == Estimate::Source::kGuess;
      if (starts.insert(&configuration).second) {
        const Estimate start = estimate_start(configuration, recipe, dry.stored);
        seconds += start.seconds *
                   static_cast<double>(recipe.restart_between_repeats ? recipe.repeats : 1);
        dry.guessed = dry.guessed || start.source == Estimate::Source::kGuess;
      }
    }
    dry.seconds += seconds;
    if (recipe.limits.dollars_per_device_hour && configuration.devices)
      dry.dollars = dry.dollars.value_or(0) + seconds / 3600 *
                                                  static_cast<double>(*configuration.devices) *
                                                  *recipe.limits.dollars_per_device_hour;
    dry.points.push_back(std::move(row));
  }
  return dry;
}

std::string state_text(const DryPoint& point) {
  if (point.have == 0) return "new";
  if (point.have == point.repeats) return "have";
  return fmt::format("have {} of {}", point.have, point.repeats);
}

std::string state_name(PointState state) {
  switch (state) {
    case PointState::kMeasured:
      return "measured";
    case PointState::kHad:
      return "had";
    case PointState::kFailed:
      return "failed";
    case PointState::kLeft:
      return "left";
  }
  return "?";
}

}  // namespace

Result<std::string> dry_run_text(const Recipe& recipe, const SweepOptions& options,
                                 const results::Store* store) {
  HEADROOM_TRY(const DryRun dry, dry_run(recipe, options, store));
  base::Table table;
  using Align = base::Table::Align;
  table.columns = {{"server", Align::kLeft}, {"load", Align::kLeft}, {"repeats"},
                   {"store", Align::kLeft},  {"each about"},         {"known", Align::kLeft}};
  const Configuration* last = nullptr;
  int64_t missing = 0;
  for (const DryPoint& point : dry.points) {
    missing += point.repeats - point.have;
    table.rows.push_back({point.configuration == last ? "" : point.configuration->label,
                          load_text(point.load), std::to_string(point.repeats), state_text(point),
                          base::duration_text(point.estimate.seconds),
                          source_text(point.estimate.source)});
    last = point.configuration;
  }
  std::string text = fmt::format("{}: {} server configuration{}, {} points × {} repeat{}\n\n{}",
                                 recipe.name, dry.plan.configurations.size(),
                                 dry.plan.configurations.size() == 1 ? "" : "s", dry.points.size(),
                                 recipe.repeats, recipe.repeats == 1 ? "" : "s", table.terminal());
  text += fmt::format("\nTo measure: {} of {}; about {} with server starts{}", missing,
                      static_cast<int64_t>(dry.points.size()) * recipe.repeats,
                      base::duration_text(dry.seconds),
                      dry.guessed ? " (partly guessed: nothing like it is stored)" : "");
  if (dry.dollars) text += fmt::format(", about ${:.2f}", *dry.dollars);
  text += "\n";
  if (recipe.refine)
    text += fmt::format("Refinement may add up to {} levels to each configuration.\n",
                        recipe.refine->most_points);
  if (dry.choice.state == RunChoice::State::kContinues)
    text += fmt::format("Run {} is unfinished and would be continued.\n", dry.choice.run);
  if (dry.choice.state == RunChoice::State::kFinished)
    text += fmt::format("Run {} has them all; --again measures them anew.\n", dry.choice.run);
  if (!dry.changed.empty()) {
    text += "Against the newest stored run of this recipe:\n";
    for (const std::string& line : dry.changed) text += "  " + line + "\n";
  }
  return text;
}

Result<std::string> dry_run_json(const Recipe& recipe, const SweepOptions& options,
                                 const results::Store* store) {
  HEADROOM_TRY(const DryRun dry, dry_run(recipe, options, store));
  base::JsonWriter json;
  json.begin_object().field("recipe", recipe.name).field("repeats", recipe.repeats);
  json.field("seconds", dry.seconds).field("dollars", dry.dollars);
  json.field("guessed", dry.guessed).key("points").begin_array();
  for (const DryPoint& point : dry.points) {
    json.begin_object().field("server", point.configuration->label);
    json.field("fingerprint", point.configuration->fingerprint);
    json.field("concurrency", point.load.concurrency).field("rate", point.load.rate);
    json.field("repeats", point.repeats).field("have", point.have);
    json.field("seconds", point.estimate.seconds);
    json.field("seconds_from", source_text(point.estimate.source)).end_object();
  }
  json.end_array().key("changed").begin_array();
  for (const std::string& line : dry.changed) json.value(line);
  json.end_array().end_object();
  return json.take();
}

base::Table outcome_table(const SweepOutcome& outcome) {
  using analysis::Metric;
  using Align = base::Table::Align;
  base::Table table;
  table.columns = {{"server", Align::kLeft},
                   {"load", Align::kLeft},
                   {"repeat"},
                   {"state", Align::kLeft},
                   {"ok"},
                   {"TTFT ms"},
                   {"TPOT ms"},
                   {"tok/s/user"},
                   {"tok/s"},
                   {"tok/s/GPU"}};
  bool per_device = false;
  for (const PointResult& point : outcome.points) {
    std::vector<std::string> row = {point.configuration, load_text(point.load),
                                    std::to_string(point.repeat),
                                    state_name(point.state) + (point.added ? " (added)" : "")};
    if (point.record) {
      const results::Record& record = point.record->record;
      row.push_back(fmt::format("{}/{}", record.measures.requests_ok.value_or(0),
                                record.measures.requests_sent.value_or(0)));
      for (const auto& [metric, digits] :
           {std::pair(Metric::kTtftMs, 1), std::pair(Metric::kTpotMs, 2),
            std::pair(Metric::kInteractivity, 1), std::pair(Metric::kTokS, 1),
            std::pair(Metric::kTokSGpu, 1)}) {
        const auto figure = analysis::read(record, metric, {});
        per_device = per_device || (figure && metric == Metric::kTokSGpu);
        row.push_back(figure ? analysis::figure_text(figure->value, digits) : "-");
      }
    } else {
      row.resize(table.columns.size(), "-");
    }
    table.rows.push_back(std::move(row));
  }
  if (!per_device) {
    table.columns.pop_back();
    for (auto& row : table.rows) row.pop_back();
  }
  return table;
}

std::string outcome_json(const Recipe& recipe, const SweepOutcome& outcome) {
  base::JsonWriter json;
  json.begin_object().field("recipe", recipe.name).field("run", outcome.run);
  json.field("seconds", outcome.seconds).field("dollars", outcome.dollars);
  for (const PointState state :
       {PointState::kMeasured, PointState::kHad, PointState::kFailed, PointState::kLeft})
    json.field(state_name(state), static_cast<int64_t>(outcome.count(state)));
  json.key("points").begin_array();
  for (const PointResult& point : outcome.points) {
    json.begin_object().field("server", point.configuration);
    json.field("concurrency", point.load.concurrency).field("rate", point.load.rate);
    json.field("repeat", point.repeat).field("state", state_name(point.state));
    json.field("added", point.added).field("reason", point.reason).key("figures");
    if (point.record)
      load::write_point(json, point.record->record, point.record->id);
    else
      json.null();
    json.end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const std::string& note : outcome.notes) json.value(note);
  json.end_array().key("error");
  if (outcome.error)
    json.value(outcome.error->message);
  else
    json.null();
  json.end_object();
  return json.take();
}

}  // namespace headroom::sweep
