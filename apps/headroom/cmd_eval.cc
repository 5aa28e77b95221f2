// headroom eval: perplexity of a text, or exact match on questions, from a server that is up.
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/version.h"
#include "commands.h"
#include "environment/environment.h"
#include "eval/eval.h"
#include "http/url.h"
#include "load/server_facts.h"
#include "model_options.h"
#include "store_options.h"

namespace headroom::apps {
namespace {

struct Options : eval::EvalOptions {
  std::string db, output, api_key;
  bool json = false, quiet = false;
};

std::atomic<bool> stopped{false};

/// The first Ctrl-C ends the run with what was scored; the second ends the program.
void on_signal(int number) {
  stopped.store(true);
  ::signal(number, SIG_DFL);
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

void print_tables(const Options& options, const eval::EvalOutcome& outcome) {
  base::Table table;
  table.columns = {
      {"metric", base::Table::Align::kLeft}, {"score"}, {"± (one standard error)"}, {"over"}};
  for (const results::Eval& score : outcome.evals) {
    const bool share = score.metric.starts_with("exact_match");
    const auto text = [&](double value) {
      return share ? percent(value) : fmt::format("{:.5f}", value);
    };
    table.rows.push_back({score.metric, text(*score.score),
                          score.standard_error ? text(*score.standard_error) : "",
                          fmt::format("{} {}", *score.questions, share ? "questions" : "tokens")});
    if (score.metric == "nll_per_token")
      table.rows.push_back({"perplexity", fmt::format("{:.4f}", std::exp(*score.score)),
                            score.standard_error ? fmt::format("{:.4f}", std::exp(*score.score) *
                                                                             *score.standard_error)
                                                 : "",
                            table.rows.back().back()});
  }
  fmt::print("{}\n", table.terminal());
  if (!outcome.evals.empty()) fmt::print("protocol: {}\n", outcome.evals.front().protocol);
  if (!outcome.form.empty())
    fmt::print("{} of {} windows, {} bytes of text; log-probabilities by {}, tokens by {}\n",
               outcome.attempted - outcome.failed, outcome.total, outcome.bytes, outcome.form,
               outcome.tokens_from);
  if (outcome.failed > 0) fmt::print("failed: {}\n", eval::failures_text(outcome));
  if (outcome.truncated > 0)
    fmt::print("cut by --max-tokens {}: {} answers\n", options.max_tokens, outcome.truncated);
  if (outcome.stopped)
    fmt::print("stopped: {} of {} were asked\n", outcome.attempted, outcome.total);
}

std::string outcome_json(const eval::EvalOutcome& outcome) {
  base::JsonWriter json;
  json.begin_object().field("model", outcome.model).key("scores").begin_array();
  for (const results::Eval& score : outcome.evals) {
    json.begin_object().field("task", score.task).field("metric", score.metric);
    json.field("score", score.score).field("standard_error", score.standard_error);
    json.field("questions", score.questions).field("protocol", score.protocol).end_object();
  }
  json.end_array().field("total", outcome.total).field("attempted", outcome.attempted);
  json.field("failed", outcome.failed).key("failures").begin_object();
  for (const auto& [kind, count] : outcome.failures) json.field(kind, count);
  json.end_object().field("truncated", outcome.truncated).field("stopped", outcome.stopped);
  json.field("seconds", outcome.seconds);
  if (!outcome.form.empty()) {
    json.field("form", outcome.form).field("tokens_from", outcome.tokens_from);
    json.field("tokens", outcome.tokens).field("bytes", outcome.bytes);
    json.field("nll_sum", outcome.nll_sum);
    if (outcome.tokens > 0)
      json.field("perplexity", std::exp(outcome.nll_sum / static_cast<double>(outcome.tokens)));
  }
  json.end_object();
  return json.take();
}

/// A record that holds the score and what is known of the server, and no rates.
base::Result<> store(const Options& options, const eval::EvalOutcome& outcome,
                     results::Store& into) {
  if (outcome.evals.empty()) return {};
  results::Record record;
  HEADROOM_TRY(const http::Url url, http::parse_server_url(options.url));
  HEADROOM_TRY(const load::ServerFacts facts,
               load::ask_server(url, options.headers, outcome.model));
  record.server = facts.server;
  record.hardware = facts.hardware;
  record.plan = facts.plan;
  if (record.server.model.empty()) record.server.model = outcome.model;
  const std::string now = base::utc_text(base::unix_ns());
  record.time = now;
  record.date = now.substr(0, 10);
  record.run = "eval " + now;
  record.client = fmt::format("headroom {}", base::kVersion);
  record.client_protocol = results::kClientProtocol;
  record.workload.dataset = options.file.filename().string();
  record.measures.eval = outcome.evals.front();
  if (outcome.failed > 0) record.measures.doubts["failures"] = eval::failures_text(outcome);
  if (outcome.stopped)
    record.measures.doubts["interrupted"] =
        fmt::format("{} of {} were asked", outcome.attempted, outcome.total);
  record.measures.client.environment = environment::describe();
  HEADROOM_TRY_VOID(into.add(record, "headroom eval").map([](const auto&) {}));
  return {};
}

CommandResult evaluate(Options& options) {
  if (const char* key = std::getenv("HEADROOM_API_KEY"); key != nullptr && options.api_key.empty())
    options.api_key = key;
  for (const std::string& header : options.headers)
    if (header.find(':') == std::string::npos || header.find_first_of("\r\n") != std::string::npos)
      return base::fail(base::ErrorCode::kInvalidArgument, "--header {}: not \"Name: value\"",
                        header);
  if (!options.api_key.empty())
    options.headers.push_back("Authorization: Bearer " + options.api_key);
  std::optional<results::Store> into;  // hours before it is needed: a wrong name is told now
  if (!options.db.empty()) {
    HEADROOM_TRY(into, results::Store::open(options.db));
  }
  std::ofstream items;
  std::error_code unknown;
  for (const std::filesystem::path& read : {options.file, options.examples})
    if (!options.output.empty() && std::filesystem::equivalent(read, options.output, unknown))
      return base::fail(base::ErrorCode::kInvalidArgument,
                        "--output {}: is the file of the questions, which would be lost",
                        options.output);
  if (!options.output.empty()) {
    items.open(options.output, std::ios::binary | std::ios::trunc);
    if (!items)
      return base::fail(base::ErrorCode::kIo, "--output {}: cannot be written", options.output);
    options.on_item = [&](const std::string& json) { items << json << "\n" << std::flush; };
  }
  ::signal(SIGINT, on_signal);
  ::signal(SIGTERM, on_signal);
  const bool questions = options.file.extension() == ".jsonl";
  std::optional<base::Progress> bar;
  const auto progress = [&](int64_t done, int64_t total, const std::string& note) {
    if (!bar) bar.emplace("eval", total, questions ? "questions" : "windows", options.quiet);
    bar->note(note);
    bar->update(done);
  };
  HEADROOM_TRY(const eval::EvalOutcome outcome, eval::run_eval(options, progress, &stopped));
  if (bar) bar->finish();
  if (!options.output.empty() && !items)
    return base::fail(base::ErrorCode::kIo, "--output {}: could not be written whole",
                      options.output);
  // Told before it is stored: a store that refuses the score must not make it vanish.
  if (options.json) {
    fmt::print("{}\n", outcome_json(outcome));
  } else {
    print_tables(options, outcome);
  }
  if (into) HEADROOM_TRY_VOID(store(options, outcome, *into));
  return outcome.stopped ? 1 : 0;
}

}  // namespace

void add_eval(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("eval", "Accuracy of a running server: perplexity or exact match");
  command->footer(
      "Example:\n  headroom eval gsm8k.jsonl --url http://127.0.0.1:8000 --shots 5\n"
      "  headroom eval models/tiny-mla/validation.txt --url http://127.0.0.1:8000\n"
      "A FILE.jsonl holds questions ({\"question\":…,\"answer\":\"… #### 42\"} a line); any other "
      "file is text.\nThe API key may come from HEADROOM_API_KEY. Ctrl-C keeps what was scored.");
  command->add_option("FILE", options->file, "Text, or questions when its name ends in .jsonl")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--url", options->url, "The server")->required();
  command->add_option("--model", options->model, "Default: the only model that the server lists");
  command->add_option("--limit", options->limit, "Questions or windows, from the first on; 0: all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--concurrency", options->concurrency, "Requests at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--shots", options->shots, "Worked examples in front of each question")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command
      ->add_option("--examples", options->examples,
                   "File of the examples (default: FILE's first questions, not asked then)")
      ->check(CLI::ExistingFile);
  command->add_flag("--chat", options->chat, "Ask /v1/chat/completions");
  command->add_option("--max-tokens", options->max_tokens, "Of an answer")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--window", options->window, "Tokens of text that one request scores")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "The model's directory (default: the server's /tokenize)")
      ->check(CLI::ExistingDirectory);
  command->add_option("--timeout", options->timeout_s, "Seconds that an answer may take")
      ->check(number_in(0.001, 1e6))
      ->capture_default_str();
  command->add_option("--header", options->headers, "\"Name: value\"; repeatable")
      ->allow_extra_args(false);
  command->add_option("--api-key", options->api_key, "Sent as a bearer token");
  command->add_option("--output", options->output,
                      "JSON lines, one for each question or window as it is answered");
  command->add_option("--db", options->db, "Store to add a record of the score to");
  command->add_flag("--quiet", options->quiet, "No progress");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, &run] { run = [options] { return evaluate(*options); }; });
}

}  // namespace headroom::apps
