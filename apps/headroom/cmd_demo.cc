// headroom demo: three real servers, one real load, two comparisons and a report, in two minutes.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/progress.h"
#include "base/table.h"
#include "commands.h"
#include "dash/report.h"
#include "demo_server.h"
#include "limit/machine.h"
#include "load/bench.h"
#include "results/store.h"
#include "sweep/shell_text.h"

namespace headroom::apps {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;

std::atomic<bool> g_stop{false};

extern "C" void on_demo_interrupt(int) {
  g_stop = true;
}

struct Options {
  std::string model, out = "headroom-demo";
  int64_t input = 2048, output = 32;
  bool quick = false, json = false;
};

struct Setting {
  const char* label;
  std::vector<std::string> arguments;
  double budget_s;  // of measuring; requests are chosen to fit
  bool at_rate;     // also at the throughput of the first setting
};

std::vector<Setting> settings(bool quick) {
  const double scale = quick ? 0.35 : 1;
  return {{"reference: clear, unoptimised",
           {"--attention", "reference", "--allow-reference", "--kv", "bf16"},
           40 * scale,
           false},
          {"fast path, BF16 cache", {"--kv", "bf16"}, 16 * scale, true},
          {"fast path, FP8 cache", {"--kv", "fp8"}, 16 * scale, true}};
}

base::Result<fs::path> find_model(const std::string& asked) {
  if (!asked.empty()) {
    if (fs::exists(fs::path(asked) / "config.json")) return fs::path(asked);
    return fail(ErrorCode::kNotFound, "{}: holds no config.json", asked);
  }
  HEADROOM_TRY(const fs::path program, sweep::own_program());
  std::vector<fs::path> places = {"models/tiny-mla"};
  for (fs::path up = program.parent_path(); up.has_relative_path(); up = up.parent_path()) {
    places.push_back(up / "models/tiny-mla");
    places.push_back(up / "share/headroom/models/tiny-mla");
  }
  if (const char* data = std::getenv("HEADROOM_DATA"); data && *data)
    places.insert(places.begin(), fs::path(data) / "models/tiny-mla");
  for (const fs::path& place : places)
    if (fs::exists(place / "config.json")) return place;
  return fail(ErrorCode::kNotFound,
              "models/tiny-mla is neither here nor near {}; name it by --model", program.string());
}

void say(std::string_view text) {
  fmt::print(stderr, "{}\n", text);
}

load::BenchOptions bench_options(const Options& o, const fs::path& model, const std::string& url,
                                 const Setting& setting) {
  load::BenchOptions bench;
  bench.url = url;
  bench.workload.model = fs::absolute(model).lexically_normal().filename().string();
  bench.workload.input_tokens = o.input;
  bench.workload.output_tokens = o.output;
  bench.workload.salt = load::fresh_salt();
  bench.label = setting.label;
  bench.recipe = {{"precision", "bf16"}};
  return bench;
}

struct Shape {
  std::vector<int64_t> concurrency;
  int64_t waves = 1;  // requests of each user at each point
};

/// What fits the budget, when a request takes `seconds` and requests hardly overlap: the prompt's
/// arithmetic, the most of it, is shared by all cores whatever the concurrency.
Shape fit(double budget, double seconds, bool quick) {
  Shape shape{quick ? std::vector<int64_t>{1, 2, 4} : std::vector<int64_t>{1, 2, 4, 8}, 1};
  const auto cost = [&] {
    int64_t requests = 0;
    for (const int64_t c : shape.concurrency) requests += c * shape.waves;
    return static_cast<double>(requests) * seconds;
  };
  while (shape.concurrency.size() > 2 && cost() > budget) shape.concurrency.pop_back();
  while (shape.waves < 4) {
    ++shape.waves;
    if (cost() <= budget) continue;
    --shape.waves;
    break;
  }
  return shape;
}

/// Requests a second that amount to the lowest throughput of `run`: a load that the faster settings
/// can be compared at, since closed loops of one user already give more than the slow one's most.
std::optional<double> comparable_rate(const dash::ReportRun& run) {
  std::optional<double> rate;
  for (const results::StoredRecord& stored : run.records) {
    const results::Window& w = stored.record.measures.whole;
    if (!w.requests || !w.duration_s || *w.duration_s <= 0) continue;
    const double here = static_cast<double>(*w.requests) / *w.duration_s;
    rate = std::min(rate.value_or(here), here);
  }
  return rate;
}

base::Result<dash::ReportRun> measure(const Options& o, const Setting& setting, size_t number,
                                      const fs::path& model, const fs::path& directory,
                                      std::optional<double> rate, results::Store& store) {
  say(fmt::format("\n[{}/3] {}", number, setting.label));
  HEADROOM_TRY(const DemoServer server,
               DemoServer::start(model, setting.arguments,
                                 directory / fmt::format("serve-{}.log", number), g_stop));
  load::BenchOptions first = bench_options(o, model, server.url(), setting);
  first.concurrency = {1};
  first.requests = 1;
  first.warmup = 0;
  first.quiet = true;
  const int64_t start = base::now_ns();
  const load::BenchOutcome trial = load::run_bench(first, nullptr, {}, &g_stop);
  if (trial.error) return base::fail_in(setting.label, *trial.error);
  const double seconds = static_cast<double>(base::now_ns() - start) * 1e-9;
  const Shape shape = fit(setting.budget_s, seconds, o.quick);
  int64_t requests = 0;
  for (const int64_t c : shape.concurrency) requests += c * shape.waves;
  say(fmt::format("a request takes {:.2f} s: {} requests at {} in flight, about {}", seconds,
                  requests, fmt::join(shape.concurrency, ", "),
                  base::duration_text(static_cast<double>(requests) * seconds)));
  dash::ReportRun run{setting.label, {}};
  load::BenchOptions bench = bench_options(o, model, server.url(), setting);
  bench.quiet = false;
  std::string name;  // one run for all points
  bench.warmup = 0;  // the trial request has warmed the server
  for (size_t i = 0; i < shape.concurrency.size() + (rate ? 1 : 0); ++i) {
    if (i < shape.concurrency.size()) {
      bench.concurrency = {shape.concurrency[i]};
      bench.requests = shape.concurrency[i] * shape.waves;
    } else {
      bench.concurrency = {};
      bench.rates = {*rate};
      bench.requests = o.quick ? 2 : 3;
    }
    load::BenchOutcome outcome = load::run_bench(bench, nullptr, {}, &g_stop);
    if (outcome.error) return base::fail_in(setting.label, *outcome.error);
    for (load::BenchPoint& point : outcome.points) {
      results::Record& record = point.record;
      if (name.empty()) name = record.run;
      record.run = name;
      auto limit = dash::limit_of(record, {fs::absolute(model).string(), "this", {}});
      if (!limit) return tl::unexpected(limit.error());
      record.limit = std::move(*limit);
      HEADROOM_TRY_VOID(store.add(record, "headroom demo").map([](bool) {}));
      results::StoredRecord stored;
      stored.id = results::record_id(record);
      stored.record = std::move(record);
      run.records.push_back(std::move(stored));
    }
  }
  return run;
}

base::Table headroom_table(const std::vector<dash::ReportRun>& runs) {
  using analysis::Metric;
  base::Table table;
  table.columns = {{"run", base::Table::Align::kLeft},
                   {"requests"},
                   {"tok/s/user"},
                   {"TPOT ms"},
                   {"bound ms"},
                   {"TPOT ÷ bound"},
                   {"tok/s"},
                   {"bound tok/s"},
                   {"bound ÷ tok/s"},
                   {"what binds", base::Table::Align::kLeft}};
  for (const dash::ReportRun& run : runs)
    for (const results::StoredRecord& stored : run.records) {
      const results::Record& r = stored.record;
      const auto text = [&](Metric metric, int decimals = 1) {
        const auto figure = analysis::read(r, metric, {});
        return figure ? analysis::figure_text(figure->value, decimals) : std::string("-");
      };
      const auto throughput = analysis::read(r, Metric::kTokSGpu, {});
      const auto in_flight = analysis::requests_in_flight(r);
      table.rows.push_back({run.name, in_flight ? analysis::in_flight_text(*in_flight) : "-",
                            text(Metric::kInteractivity), text(Metric::kTpotMs, 2),
                            analysis::figure_text(r.limit->tpot_ms.value_or(0), 2),
                            text(Metric::kHeadroom), text(Metric::kTokSGpu),
                            r.limit->tok_s_gpu ? analysis::figure_text(*r.limit->tok_s_gpu) : "-",
                            throughput && r.limit->tok_s_gpu
                                ? analysis::figure_text(*r.limit->tok_s_gpu / throughput->value)
                                : "-",
                            r.limit->bound});
    }
  return table;
}

/// The runs are short: their steady windows would hold too few requests to be read.
analysis::CompareOptions compare_options() {
  analysis::CompareOptions options;
  options.span = analysis::Span::kWhole;
  return options;
}

base::Result<std::vector<analysis::Comparison>> compare_runs(
    const std::vector<dash::ReportRun>& runs) {
  std::vector<analysis::Comparison> comparisons;
  for (size_t i = 1; i < runs.size(); ++i) {
    std::vector<results::StoredRecord> pair = runs[i - 1].records;
    pair.insert(pair.end(), runs[i].records.begin(), runs[i].records.end());
    HEADROOM_TRY(analysis::Comparison c,
                 analysis::compare({runs[i - 1].name, runs[i - 1].records},
                                   {runs[i].name, runs[i].records}, pair, compare_options()));
    comparisons.push_back(std::move(c));
  }
  return comparisons;
}

void print_tables(const std::vector<dash::ReportRun>& runs,
                  const std::vector<analysis::Comparison>& comparisons) {
  for (const analysis::Comparison& c : comparisons) {
    fmt::print("\nA: {}    B: {}\n", c.a.name, c.b.name);
    fmt::print("\nAt the same concurrency\n{}", analysis::same_concurrency_table(c).terminal());
    fmt::print("\nAt the same throughput\n{}", analysis::iso_throughput_table(c).terminal());
    if (!c.iso_interactivity.empty())
      fmt::print("\nAt the same speed for each user\n{}",
                 analysis::iso_interactivity_table(c).terminal());
    fmt::print("{}\n", analysis::marks_legend(c));
    for (const analysis::Warning& warning : c.warnings)
      if (warning.code == "own_point_better") fmt::print("{}.\n", warning.text);
    if (!c.level_overlap && c.a.level && c.b.level)
      fmt::print(
          "No throughput is within reach of both: A was measured from {} to {} {}, B from {} to "
          "{}.\n",
          analysis::figure_text(c.a.level->low), analysis::figure_text(c.a.level->high),
          analysis::info(c.level).title, analysis::figure_text(c.b.level->low),
          analysis::figure_text(c.b.level->high));
  }
  fmt::print("\nDistance to this machine's limit (1 is at it)\n{}",
             headroom_table(runs).terminal());
}

CommandResult run_demo(const Options& o) {
  const int64_t started = base::now_ns();
  struct sigaction action{};
  action.sa_handler = on_demo_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  HEADROOM_TRY(const fs::path model, find_model(o.model));
  const fs::path directory = o.out;
  std::error_code made;
  fs::create_directories(directory, made);
  if (made) return fail(ErrorCode::kIo, "{}: {}", directory.string(), made.message());
  const fs::path db = directory / "results.db", page = directory / "report.html";
  HEADROOM_TRY(results::Store store, results::Store::open(db));

  const std::vector<Setting> plan = settings(o.quick);
  double budget = 15 + 2 * 12;  // servers, first requests and the probe; two points at a rate
  for (const Setting& setting : plan) budget += setting.budget_s;
  say(fmt::format("{} served three times, {} tokens in and {} out; about {} in all", model.string(),
                  o.input, o.output, base::duration_text(budget)));
  say("measuring what this machine can read and multiply");
  HEADROOM_TRY_VOID(limit::this_machine(true).map([](const auto&) {}));
  std::vector<dash::ReportRun> runs;
  for (const Setting& setting : plan) {
    const auto rate =
        setting.at_rate && !runs.empty() ? comparable_rate(runs.front()) : std::nullopt;
    HEADROOM_TRY(dash::ReportRun run,
                 measure(o, setting, runs.size() + 1, model, directory, rate, store));
    runs.push_back(std::move(run));
  }
  HEADROOM_TRY(const auto comparisons, compare_runs(runs));

  dash::ReportOptions report;
  report.title = "One model, three settings: what the attention kernel and the cache are worth";
  report.date = base::utc_text(base::unix_ns());
  std::vector<std::string> again = {"headroom", "report", "--db", db.string()};
  for (const dash::ReportRun& run : runs)
    again.insert(again.end(),
                 {"--run", "run=" + run.records.front().record.run, "--name", run.name});
  again.insert(again.end(), {"--span", "whole", "--out", page.string()});
  report.command = sweep::shell_text(again);
  report.compare = compare_options();
  report.limit.shape = fs::absolute(model).string();
  report.limit.hardware = "this";
  HEADROOM_TRY(const std::string html, dash::report_html(runs, report));
  HEADROOM_TRY_VOID(base::write_file_atomic(page, html));

  const double took = static_cast<double>(base::now_ns() - started) * 1e-9;
  if (o.json) {
    base::JsonWriter json;
    json.begin_object().field("report", fs::absolute(page).string());
    json.field("db", fs::absolute(db).string()).field("seconds", took);
    json.key("comparisons").begin_array();
    for (const analysis::Comparison& c : comparisons) json.raw(analysis::json_text(c));
    json.end_array().end_object();
    fmt::print("{}\n", json.text());
    return 0;
  }
  print_tables(runs, comparisons);
  fmt::print("\nResults: {}\nReport:  {}   ({} in all)\n", fs::absolute(db).string(),
             fs::absolute(page).string(), base::duration_text(took));
  return 0;
}

}  // namespace

void add_demo(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  CLI::App* cmd = app.add_subcommand(
      "demo", "Serve, measure and compare a small model three ways, in two minutes");
  cmd->add_option("--model", options->model, "Model directory (default: models/tiny-mla)");
  cmd->add_option("--out", options->out, "Where results, logs and the report go")
      ->capture_default_str();
  cmd->add_option("--input", options->input, "Prompt tokens")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd->add_option("--output", options->output, "Generated tokens")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  cmd->add_flag("--quick", options->quick, "A third of the requests");
  cmd->add_flag("--json", options->json, "One JSON object on stdout");
  cmd->footer("Example: headroom demo --out /tmp/demo");
  cmd->callback([options, &run] { run = [options] { return run_demo(*options); }; });
}

}  // namespace headroom::apps
