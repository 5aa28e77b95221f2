// headroom bench: measures any OpenAI-compatible server at a list of loads.
#include <algorithm>
#include <csignal>
#include <cstdio>

#include "bench_options.h"
#include "bench_self_test.h"
#include "commands.h"
#include "load/bench.h"
#include "load/point_report.h"

namespace headroom::apps {
namespace {

std::atomic<bool> g_stop{false};

extern "C" void on_interrupt(int) {
  g_stop = true;
  std::signal(SIGINT, SIG_DFL);  // a second Ctrl-C ends the program at once
}

struct Options : BenchArguments {
  SelfTestFlags self_test;
};

void print_json(const Options& o, const load::BenchOutcome& outcome) {
  base::JsonWriter json;
  json.begin_object().field("run", outcome.run).field("label", o.bench.label);
  json.field("url", o.bench.url).field("model", o.bench.workload.model).field("db", o.db);
  json.key("points").begin_array();
  for (const load::BenchPoint& point : outcome.points)
    load::write_point(json, point.record, point.id, {o.bench.force_percentiles});
  json.end_array();
  json.key("error");
  if (outcome.error)
    json.value(outcome.error->message);
  else
    json.null();
  json.end_object();
  fmt::print("{}\n", json.text());
}

void print_summary(const Options& o, const load::BenchOutcome& outcome) {
  if (outcome.points.empty()) return;
  base::Table table = load::point_table();
  std::string doubts;
  std::vector<const results::Record*> records;
  for (const load::BenchPoint& point : outcome.points) {
    load::add_point_row(table, point.record, {o.bench.force_percentiles});
    doubts += load::doubt_lines(point.record);
    records.push_back(&point.record);
  }
  load::drop_absent_columns(table);
  fmt::print("\n{}", table.terminal());
  if (const std::string verdict = load::verdict_lines(records); !verdict.empty())
    fmt::print("\nThe client:\n{}", verdict);
  if (!doubts.empty()) fmt::print("\nTo bear in mind:\n{}", doubts);
  if (!o.db.empty())
    fmt::print("\n{} point{} stored in {} (run {})\n", outcome.stored,
               outcome.stored == 1 ? "" : "s", o.db, outcome.run);
}

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;  // without SA_RESTART: the wait for events ends at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// How many of the first `count` points are what they were to be.
size_t complete_of(const load::BenchOutcome& outcome, size_t count) {
  const auto first = outcome.points.begin();
  return static_cast<size_t>(
      std::count_if(first, first + static_cast<ptrdiff_t>(count), [](const auto& point) {
        const auto& doubts = point.record.measures.doubts;
        return !doubts.contains("interrupted") && !doubts.contains("server_failed");
      }));
}

/// The run that could not even begin, as --json prints it.
load::BenchOutcome not_begun(const base::Error& error) {
  load::BenchOutcome outcome;
  outcome.error = error;
  return outcome;
}

base::Result<std::optional<results::Store>> prepare(Options& o) {
  for (const auto& [name, value] :
       {std::pair("--url", &o.bench.url), {"--model", &o.bench.workload.model}})
    if (value->empty())
      return base::fail(base::ErrorCode::kInvalidArgument, "{} is required", name);
  HEADROOM_TRY_VOID(finish_bench_arguments(o));
  std::optional<results::Store> store;
  if (!o.db.empty()) {
    HEADROOM_TRY(store, results::Store::open(o.db));
    o.db = store->name();  // from here on it is shown only: a URL without its password
  }
  o.bench.keep_failed = true;
  return store;
}

CommandResult run_command(Options& o) {
  if (o.self_test.wanted) {
    catch_interrupts();
    CommandResult result = run_self_test(o.self_test, o.json, g_stop);
    if (!result && o.json) {
      base::JsonWriter json;
      json.begin_object().field("error", result.error().message).end_object();
      fmt::print("{}\n", json.text());
    }
    return result;
  }
  auto prepared = prepare(o);
  if (!prepared) {
    if (o.json) print_json(o, not_begun(prepared.error()));
    return tl::unexpected<base::Error>(prepared.error());
  }
  std::optional<results::Store>& store = *prepared;
  catch_interrupts();
  const auto on_point = [&](const load::BenchPoint& point) {
    if (o.json) return;
    fmt::print("{}\n", load::point_line(point.record));
    std::fflush(stdout);
  };
  load::BenchOutcome outcome =
      load::run_bench(o.bench, store ? &*store : nullptr, on_point, &g_stop);
  if (o.json)
    print_json(o, outcome);
  else
    print_summary(o, outcome);
  if (!outcome.error) return 0;
  base::Error error = *outcome.error;
  const size_t kept = o.db.empty() ? outcome.points.size() : outcome.stored;
  const size_t complete = complete_of(outcome, kept);
  const bool partial = complete < kept;
  const std::string where = o.db.empty() ? "shown" : "kept in " + o.db;
  const std::string tail =
      fmt::format("{} complete point{} {}", complete, complete == 1 ? "" : "s", where);
  if (error.code == base::ErrorCode::kCancelled)
    error.message = fmt::format(
        "interrupted: {}; {}",
        partial ? "the running point is kept as far as it came" : "the running point was dropped",
        tail);
  else if (partial)
    error.message += fmt::format("; the point is kept, flagged; {}", tail);
  else if (kept > 0)
    error.message += "; " + tail;
  return tl::unexpected<base::Error>(std::move(error));
}

}  // namespace

void add_bench(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* sub = app.add_subcommand("bench", "measure an OpenAI-compatible server");
  define_bench_options(*sub, o);
  add_self_test_options(*sub, o.self_test);
  sub->footer(
      "Example:\n  headroom bench --url http://127.0.0.1:8000 --model tiny-mla --concurrency 1,4,16"
      " --input 512 --output 64 --db results.db");
  sub->callback([options, &run] { run = [options] { return run_command(*options); }; });
}

}  // namespace headroom::apps
