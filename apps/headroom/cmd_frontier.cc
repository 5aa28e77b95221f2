// headroom frontier: the points that no other point beats on a pair of axes.
#include "analysis/frontier.h"
#include "base/json_writer.h"
#include "base/table.h"
#include "commands.h"
#include "store_options.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string selector, db = kDefaultStore, x = "interactivity", y = "tok_s_gpu";
  std::string x_better, y_better, basis = "precise", span = "whole";
  double percentile = 50;
  bool json = false;
};

analysis::Axis axis_of(analysis::Metric metric, const std::string& better) {
  analysis::Axis axis = analysis::axis(metric);
  if (!better.empty()) axis.higher_is_better = better == "higher";
  return axis;
}

void print_table(const std::vector<analysis::Point>& points, const analysis::SeriesSet& set,
                 size_t all, analysis::Axis x, analysis::Axis y, double percentile) {
  base::Table table;
  table.columns = {{analysis::metric_title(x.metric, percentile)},
                   {analysis::metric_title(y.metric, percentile)},
                   {"concurrency"},
                   {"TPOT ÷ limit"},
                   {"recipe", base::Table::Align::kLeft}};
  for (const analysis::Point& point : points)
    table.rows.push_back({analysis::figure_text(point.x), analysis::figure_text(point.y),
                          point.concurrency ? analysis::in_flight_text(*point.concurrency) : "—",
                          point.headroom ? analysis::figure_text(*point.headroom) : "—",
                          point.recipe});
  fmt::print("{}\n{} of {} points are on the frontier ({} {} and {} {} are better)\n",
             table.terminal(), points.size(), all, x.higher_is_better ? "higher" : "lower",
             analysis::info(x.metric).title, y.higher_is_better ? "higher" : "lower",
             analysis::info(y.metric).title);
  if (set.left_out > 0) fmt::print("{} records lack one of the two\n", set.left_out);
}

void print_json(const std::vector<analysis::Point>& points, const analysis::SeriesSet& set,
                size_t all, const Options& options) {
  base::JsonWriter json;
  json.begin_object().field("x", options.x).field("y", options.y);
  json.field("points", static_cast<uint64_t>(all));
  json.field("left_out", static_cast<uint64_t>(set.left_out));
  json.key("frontier").begin_array();
  for (const analysis::Point& point : points) {
    json.begin_object().field("x", point.x).field("y", point.y);
    json.field("concurrency", point.concurrency)
        .field("headroom", point.headroom)
        .field("recipe", point.recipe);
    json.key("evidence").begin_array();
    for (const std::string& id : point.evidence) json.value(id);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  fmt::print("{}\n", json.take());
}

CommandResult show_frontier(const Options& options) {
  HEADROOM_TRY(const auto x_metric, analysis::parse_metric(options.x));
  HEADROOM_TRY(const auto y_metric, analysis::parse_metric(options.y));
  if (x_metric == y_metric)
    return base::fail(base::ErrorCode::kInvalidArgument, "--x and --y are both {}", options.x);
  analysis::ReadOptions read;
  HEADROOM_TRY(read.basis, analysis::parse_basis(options.basis));
  read.span = options.span == "steady" ? analysis::Span::kSteady : analysis::Span::kWhole;
  read.percentile = options.percentile;
  HEADROOM_TRY(const auto store, results::Store::open(options.db, results::Store::Mode::kRead));
  HEADROOM_TRY(auto records, select_records(store, options.selector));
  add_limits(records);
  const auto set = analysis::build_series(records, x_metric, y_metric, read);
  const auto points = set.points();
  if (points.empty())
    return base::fail(base::ErrorCode::kNotFound, "'{}': none of its {} records has both {} and {}",
                      options.selector, records.size(), options.x, options.y);
  const auto x = axis_of(x_metric, options.x_better), y = axis_of(y_metric, options.y_better);
  const auto kept = analysis::frontier(points, x, y);
  if (options.json) {
    print_json(kept, set, points.size(), options);
  } else {
    print_table(kept, set, points.size(), x, y, options.percentile);
  }
  return 0;
}

}  // namespace

void add_frontier(CLI::App& app, std::function<CommandResult()>& run) {
  auto* command = app.add_subcommand("frontier", "Show the points that no other point beats");
  auto options = std::make_shared<Options>();
  command->add_option("SELECTOR", options->selector, "field=value list, or a run or its label")
      ->required();
  command->add_option("--db", options->db, "The store")->capture_default_str();
  command->add_option("--x", options->x, "Metric of the first axis")->capture_default_str();
  command->add_option("--y", options->y, "Metric of the second axis")->capture_default_str();
  command->add_option("--x-better", options->x_better, "Which direction is better on x")
      ->check(CLI::IsMember({"higher", "lower"}));
  command->add_option("--y-better", options->y_better, "Which direction is better on y")
      ->check(CLI::IsMember({"higher", "lower"}));
  command->add_option("--basis", options->basis, "Which published column counts")
      ->check(CLI::IsMember({"precise", "printed", "tpot"}))
      ->capture_default_str();
  command->add_option("--span", options->span, "Part of each run")
      ->check(CLI::IsMember({"steady", "whole"}))
      ->capture_default_str();
  command->add_option("--percentile", options->percentile, "Of latencies")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer(
      "Example:\n  headroom frontier date=2026-03-26 --x interactivity --y tok_s_gpu --db "
      "points.db");
  command->callback([options, &run] { run = [options] { return show_frontier(*options); }; });
}

}  // namespace headroom::apps
