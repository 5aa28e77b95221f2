// headroom compare: two selections of points side by side.
#include "analysis/compare.h"
#include "base/file.h"
#include "commands.h"
#include "store_options.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string a, b, db = kDefaultStore, method = "linear", basis = "precise", span, level;
  std::string markdown, csv;
  std::vector<double> at, at_interactivity;
  double percentile = 50;
  int decimals = 1;
  bool extrapolate = false, json = false;
};

base::Result<analysis::CompareOptions> compare_options(const Options& options) {
  analysis::CompareOptions out;
  HEADROOM_TRY(out.method, analysis::parse_method(options.method));
  HEADROOM_TRY(out.basis, analysis::parse_basis(options.basis));
  if (!options.span.empty())
    out.span = options.span == "steady" ? analysis::Span::kSteady : analysis::Span::kWhole;
  if (!options.level.empty()) {
    HEADROOM_TRY(out.level, analysis::parse_metric(options.level));
  }
  for (const auto& [name, levels] :
       {std::pair("--at", &options.at), std::pair("--at-interactivity", &options.at_interactivity)})
    for (const double level : *levels)
      if (!std::isfinite(level) || level <= 0)
        return base::fail(base::ErrorCode::kInvalidArgument, "{} {}: give positive numbers", name,
                          level);
  out.levels = options.at;
  out.interactivity_levels = options.at_interactivity;
  out.percentile = options.percentile;
  out.extrapolate = options.extrapolate;
  out.decimals = options.decimals;
  return out;
}

CommandResult compare_points(const Options& options) {
  HEADROOM_TRY(const auto compare_with, compare_options(options));
  HEADROOM_TRY(const auto store, results::Store::open(options.db, results::Store::Mode::kRead));
  analysis::CompareInput a{options.a, {}}, b{options.b, {}};
  HEADROOM_TRY(a.records, select_records(store, options.a));
  HEADROOM_TRY(b.records, select_records(store, options.b));
  add_limits(a.records);
  add_limits(b.records);
  HEADROOM_TRY(const auto stored, store.query({}));
  HEADROOM_TRY(const auto comparison, analysis::compare(a, b, stored, compare_with));
  if (!options.markdown.empty())
    HEADROOM_TRY_VOID(
        base::write_file_atomic(options.markdown, analysis::markdown_text(comparison)));
  if (!options.csv.empty())
    HEADROOM_TRY_VOID(base::write_file_atomic(options.csv, analysis::csv_text(comparison)));
  fmt::print("{}", options.json ? analysis::json_text(comparison) + "\n"
                                : analysis::terminal_text(comparison));
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, std::function<CommandResult()>& run) {
  auto* command = app.add_subcommand("compare", "Compare two selections of points");
  auto options = std::make_shared<Options>();
  command->add_option("A", options->a, "field=value[,field=value...], or a run or its label")
      ->required();
  command->add_option("B", options->b, "The same for the other side")->required();
  command->add_option("--db", options->db, "The store")->capture_default_str();
  command->add_option("--at", options->at, "Throughputs to compare at; chosen when left out")
      ->delimiter(',');
  command
      ->add_option("--at-interactivity", options->at_interactivity,
                   "Interactivities to compare throughput at")
      ->delimiter(',');
  command->add_option("--method", options->method, "How points are joined")
      ->check(CLI::IsMember({"linear", "steffen"}))
      ->capture_default_str();
  command->add_option("--basis", options->basis, "Which published column counts")
      ->check(CLI::IsMember({"precise", "printed", "tpot"}))
      ->capture_default_str();
  command->add_option("--span", options->span, "Part of each run; steady where all have it")
      ->check(CLI::IsMember({"steady", "whole"}));
  command->add_option("--level", options->level, "Throughput that is held equal")
      ->check(CLI::IsMember(
          {"tok_s_gpu", "output_tok_s_gpu", "input_tok_s_gpu", "tok_s", "output_tok_s"}));
  command->add_option("--percentile", options->percentile, "Of TPOT; 99 is the slowest 1 %")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--decimals", options->decimals, "Of the tables")
      ->check(CLI::Range(0, 6))
      ->capture_default_str();
  command->add_flag("--extrapolate", options->extrapolate,
                    "Let linear go past the data, by a tenth of the range at most");
  command->add_option("--markdown", options->markdown, "Write a Markdown file too");
  command->add_option("--csv", options->csv, "Write a CSV file too, a line per cell");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer(
      "Example:\n  headroom compare 'date=2026-03-01,tp=8' 'date=2026-03-26,tp=8' --at 337,380 "
      "--extrapolate --db points.db");
  command->callback([options, &run] { run = [options] { return compare_points(*options); }; });
}

}  // namespace headroom::apps
