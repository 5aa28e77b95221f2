// headroom report: one self-contained HTML page about measured runs.
#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "commands.h"
#include "dash/report.h"
#include "sweep/shell_text.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string db, out, title, shape, hardware, basis = "precise", method = "linear", limit_basis,
                                               span;
  std::vector<std::string> runs, names;
  std::vector<double> at;
  double percentile = 50;
  bool extrapolate = false, json = false;
};

std::string command_text(const Options& o) {
  std::vector<std::string> words = {"headroom", "report", "--db", o.db};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  for (const std::string& run : o.runs) add("--run", run);
  for (const std::string& name : o.names) add("--name", name);
  add("--title", o.title);
  add("--shape", o.shape);
  add("--hardware", o.hardware);
  add("--limit-basis", o.limit_basis);
  if (!o.at.empty()) add("--at", fmt::format("{}", fmt::join(o.at, ",")));
  if (o.method != "linear") add("--method", o.method);
  if (o.basis != "precise") add("--basis", o.basis);
  add("--span", o.span);
  if (o.percentile != 50) add("--percentile", fmt::format("{}", o.percentile));
  if (o.extrapolate) words.emplace_back("--extrapolate");
  add("--out", o.out);
  return sweep::shell_text(words);
}

base::Result<std::vector<dash::ReportRun>> read_runs(Options& o) {
  HEADROOM_TRY(const results::Store store, results::Store::open(o.db, results::Store::Mode::kRead));
  o.db = store.name();  // the report shows it: a URL without its password
  if (o.runs.empty()) {
    HEADROOM_TRY(auto records, store.query(results::Selector{}));
    if (records.empty())
      return base::fail(base::ErrorCode::kNotFound, "{}: holds no records", o.db);
    return dash::runs_of(std::move(records));
  }
  std::vector<dash::ReportRun> runs;
  for (const std::string& text : o.runs) {
    HEADROOM_TRY(const results::Selector selector, results::parse_selector(text));
    HEADROOM_TRY(auto records, store.query(selector));
    if (records.empty()) {
      HEADROOM_TRY(const auto all, store.all());
      return tl::unexpected(results::explain_no_match(selector, all));
    }
    runs.push_back({text, std::move(records)});
  }
  return runs;
}

CommandResult run_report(Options o) {
  HEADROOM_TRY(std::vector<dash::ReportRun> runs, read_runs(o));
  if (o.names.size() > runs.size())
    return base::fail(base::ErrorCode::kInvalidArgument, "{} --name for {} runs", o.names.size(),
                      runs.size());
  for (size_t i = 0; i < o.names.size(); ++i) runs[i].name = o.names[i];
  dash::ReportOptions options;
  options.title = o.title;
  options.date = base::utc_text(base::unix_ns());
  options.command = command_text(o);
  options.compare.levels = o.at;
  options.compare.extrapolate = o.extrapolate;
  options.compare.percentile = o.percentile;
  HEADROOM_TRY(options.compare.method, analysis::parse_method(o.method));
  HEADROOM_TRY(options.compare.basis, analysis::parse_basis(o.basis));
  if (!o.span.empty())
    options.compare.span = o.span == "whole" ? analysis::Span::kWhole : analysis::Span::kSteady;
  options.limit.shape = o.shape;
  options.limit.hardware = o.hardware;
  if (!o.limit_basis.empty()) {
    HEADROOM_TRY(options.limit.basis, limit::parse_basis(o.limit_basis));
  }
  const size_t count = runs.size();
  HEADROOM_TRY(const std::string html, dash::report_html(std::move(runs), options));
  HEADROOM_TRY_VOID(base::write_file_atomic(o.out, html));
  if (o.json) {
    base::JsonWriter json;
    json.begin_object().field("path", o.out).field("bytes", static_cast<uint64_t>(html.size()));
    json.field("runs", static_cast<uint64_t>(count)).end_object();
    fmt::print("{}\n", json.text());
  } else {
    fmt::print("{}: {} runs, {} kB, opens without a network\n", o.out, count, html.size() / 1000);
  }
  return 0;
}

}  // namespace

void add_report(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  CLI::App* cmd = app.add_subcommand("report", "One HTML page about measured runs");
  cmd->add_option("--db", options->db, "The store")->required();
  cmd->add_option("--out", options->out, "The HTML file to write")->required();
  cmd->add_option("--run", options->runs,
                  "A selector of records, e.g. date=2026-03-01,tp=8; repeat it, oldest first."
                  " Without it every label or sweep of the store is a run");
  cmd->add_option("--name", options->names, "What to call the runs, in their order");
  cmd->add_option("--title", options->title, "The page's title");
  cmd->add_option("--at", options->at, "Throughput levels to compare at")->delimiter(',');
  cmd->add_option("--method", options->method, "linear or steffen")->capture_default_str();
  cmd->add_option("--basis", options->basis, "Imported columns: precise, printed or tpot")
      ->capture_default_str();
  cmd->add_option("--span", options->span,
                  "steady or whole (default: steady where every record has such a window)")
      ->check(CLI::IsMember({"steady", "whole"}));
  cmd->add_option("--percentile", options->percentile, "Of TPOT")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  cmd->add_flag("--extrapolate", options->extrapolate, "Lines may go 10 % past their last point");
  cmd->add_option("--shape", options->shape, "Model shape for the bound (default: by model name)");
  cmd->add_option("--hardware", options->hardware,
                  "Hardware entry for the bound (default: as recorded)");
  cmd->add_option("--limit-basis", options->limit_basis, "datasheet or measured");
  cmd->add_flag("--json", options->json, "One JSON object on stdout");
  cmd->footer(
      "Example: headroom report --db results.db --run date=2026-03-01,tp=8"
      " --run date=2026-03-26,tp=8 --at 337,380 --extrapolate --out report.html");
  cmd->callback([options, &run] { run = [options] { return run_report(*options); }; });
}

}  // namespace headroom::apps
