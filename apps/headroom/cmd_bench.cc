// headroom bench: measures any OpenAI-compatible server at a list of concurrencies.
#include <csignal>
#include <cstdio>

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

struct Options {
  load::BenchOptions bench;
  std::string endpoint = "completions", api_key, token_range, salt, db;
  std::vector<std::string> recipe;
  bool no_salt = false, json = false;
};

base::Result<> finish_options(Options& o) {
  if (o.bench.concurrency.empty() && o.bench.rates.empty()) o.bench.concurrency = {1};
  HEADROOM_TRY(o.bench.workload.endpoint, load::parse_endpoint(o.endpoint));
  for (const std::string& header : o.bench.headers)
    if (header.find(':') == std::string::npos || header.find_first_of("\r\n") != std::string::npos)
      return base::fail(base::ErrorCode::kInvalidArgument, "--header {}: not \"Name: value\"",
                        header);
  if (!o.api_key.empty()) o.bench.headers.push_back("Authorization: Bearer " + o.api_key);
  o.bench.workload.salt = o.no_salt ? "" : o.salt.empty() ? load::fresh_salt() : o.salt;
  for (const std::string& entry : o.recipe) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::fail(base::ErrorCode::kInvalidArgument, "--recipe {}: not key=value", entry);
    o.bench.recipe[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  if (!o.token_range.empty()) {
    load::WorkloadOptions& w = o.bench.workload;
    char rest = 0;
    if (std::sscanf(o.token_range.c_str(), "%ld:%ld%c", &w.token_low, &w.token_high, &rest) != 2)
      return base::fail(base::ErrorCode::kInvalidArgument, "--token-range {}: not LOW:HIGH",
                        o.token_range);
    o.bench.token_range_given = true;
  }
  return {};
}

void print_json(const Options& o, const load::BenchOutcome& outcome) {
  base::JsonWriter json;
  json.begin_object().field("run", outcome.run).field("label", o.bench.label);
  json.field("url", o.bench.url).field("model", o.bench.workload.model).field("db", o.db);
  json.key("points").begin_array();
  for (const load::BenchPoint& point : outcome.points)
    load::write_point(json, point.record, point.id);
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
  for (const load::BenchPoint& point : outcome.points) {
    load::add_point_row(table, point.record);
    doubts += load::doubt_lines(point.record);
  }
  load::drop_absent_columns(table);
  fmt::print("\n{}", table.terminal());
  if (!doubts.empty()) fmt::print("\nTo bear in mind:\n{}", doubts);
  if (!o.db.empty())
    fmt::print("\n{} point{} stored in {} (run {})\n", outcome.stored,
               outcome.stored == 1 ? "" : "s", o.db, outcome.run);
}

CommandResult run_command(Options& o) {
  HEADROOM_TRY_VOID(finish_options(o));
  std::optional<results::Store> store;
  if (!o.db.empty()) {
    HEADROOM_TRY(store, results::Store::open(o.db));
  }
  struct sigaction action{};
  action.sa_handler = on_interrupt;  // without SA_RESTART: the wait for events ends at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
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
  const size_t done = o.db.empty() ? outcome.points.size() : outcome.stored;
  if (error.code == base::ErrorCode::kCancelled)
    error.message = "interrupted: the running point was dropped";
  if (done > 0 || error.code == base::ErrorCode::kCancelled)
    error.message += fmt::format("; {} complete point{} {}", done, done == 1 ? "" : "s",
                                 o.db.empty() ? "shown" : "kept in " + o.db);
  return tl::unexpected<base::Error>(std::move(error));
}

void add_workload_options(CLI::App& sub, Options& o) {
  load::WorkloadOptions& w = o.bench.workload;
  sub.add_option("--input", w.input_tokens, "prompt tokens")->capture_default_str();
  sub.add_option("--output", w.output_tokens, "tokens to generate")->capture_default_str();
  sub.add_option("--dataset", w.dataset,
                 "random (token ids of exact length), text (random words) or a file: a prompt a "
                 "line, or .jsonl with \"prompt\"")
      ->capture_default_str();
  sub.add_option("--endpoint", o.endpoint, "completions or chat")->capture_default_str();
  sub.add_option("--temperature", w.temperature, "0 is greedy")->capture_default_str();
  sub.add_option("--seed", w.seed, "seed of the prompts")->capture_default_str();
  sub.add_option("--salt", o.salt, "goes into every prompt; a fresh one by default");
  sub.add_flag("--no-salt", o.no_salt, "the same prompts as every run with this seed");
  sub.add_option("--token-range", o.token_range, "LOW:HIGH of random token ids");
}

}  // namespace

void add_bench(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* sub = app.add_subcommand("bench", "measure an OpenAI-compatible server");
  sub->add_option("--url", o.bench.url, "http(s)://host:port, with or without /v1")->required();
  sub->add_option("--model", o.bench.workload.model, "the model's name at the server")->required();
  sub->add_option("--concurrency", o.bench.concurrency, "streams at once, a point each: 1,4,16 [1]")
      ->delimiter(',');
  sub->add_option("--rate", o.bench.rates, "requests a second at constant intervals, a point each")
      ->delimiter(',');
  add_workload_options(*sub, o);
  auto* requests = sub->add_option("--requests", o.bench.requests,
                                   "measured requests a point [max(3 x concurrency, 12)]");
  sub->add_option("--duration", o.bench.duration_s, "seconds a point, instead of --requests")
      ->excludes(requests);
  sub->add_option("--warmup", o.bench.warmup, "unmeasured requests first [one per stream]");
  sub->add_option("--timeout", o.bench.timeout_s, "seconds without content that fail a stream")
      ->capture_default_str();
  sub->add_option("--api-key", o.api_key, "sent as a bearer token");
  sub->add_option("--header", o.bench.headers, "\"Name: value\", may be repeated");
  sub->add_option("--label", o.bench.label, "short name of this run");
  sub->add_option("--repeat", o.bench.repeat, "number of this repetition");
  sub->add_option("--recipe", o.recipe,
                  "what the server does not tell: framework=vllm,version=1.0,tp=8,...")
      ->delimiter(',');
  sub->add_option("--hardware", o.bench.hardware, "hardware that serves, e.g. h200");
  sub->add_option("--devices", o.bench.devices, "how many of it: tok/s/GPU needs it");
  sub->add_option("--db", o.db, "store the points in this SQLite file");
  sub->add_flag("--json", o.json, "print one JSON object");
  sub->add_flag("--quiet", o.bench.quiet, "no progress on stderr");
  sub->footer(
      "Example:\n  headroom bench --url http://127.0.0.1:8000 --model tiny-mla --concurrency 1,4,16"
      " --input 512 --output 64 --db results.db");
  sub->callback([options, &run] { run = [options] { return run_command(*options); }; });
}

}  // namespace headroom::apps
