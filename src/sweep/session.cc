// Starting a configuration's server, warming it up, and measuring its points.
#include "sweep/session.h"

#include <unistd.h>

#include <chrono>

#include "base/clock.h"
#include "environment/environment.h"
#include "eval/eval.h"
#include "load/point_report.h"
#include "sweep/keep_record.h"
#include "sweep/shell_text.h"

namespace headroom::sweep {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

double since_s(int64_t start) {
  return static_cast<double>(base::now_ns() - start) * 1e-9;
}

/// Sets `stop` when the user does or `limit_s` have passed, and remembers which.
class Deadline {
 public:
  Deadline(double limit_s, const std::atomic<bool>* user)
      : thread_([this, limit_s, user, start = base::now_ns()] {
          while (!over_) {
            if (user != nullptr && *user) break;
            if (since_s(start) > limit_s) {
              passed_ = true;
              break;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
          if (!over_) stop_ = true;
        }) {}
  ~Deadline() {
    over_ = true;
    thread_.join();
  }
  const std::atomic<bool>* stop() const { return &stop_; }
  bool passed() const { return passed_; }

 private:
  std::atomic<bool> stop_{false}, over_{false}, passed_{false};
  std::thread thread_;
};

std::string file_name(const std::string& label) {
  std::string name;
  for (const char c : label)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ? c : '_';
  return name.substr(0, 80);
}

/// Of a measured point in which too little worked.
std::string failures_text(const results::Record& record) {
  std::string text;
  for (const auto& [kind, count] : record.measures.requests_failed)
    text += fmt::format("{}{} ×{}", text.empty() ? "" : ", ", kind, count);
  return text.empty() ? "no request was sent" : text;
}

}  // namespace

double SweepState::elapsed_s() const {
  return since_s(started_ns);
}

std::optional<double> SweepState::dollars_after(double seconds,
                                                std::optional<int64_t> devices) const {
  if (!recipe.limits.dollars_per_device_hour || !devices) return std::nullopt;
  const double device_s =
      charged_device_s + (elapsed_s() - charged_until_s + seconds) * static_cast<double>(*devices);
  return device_s / 3600 * *recipe.limits.dollars_per_device_hour;
}

void SweepState::charge(std::optional<int64_t> devices) {
  const double now = elapsed_s();
  charged_device_s += (now - charged_until_s) * static_cast<double>(devices.value_or(0));
  charged_until_s = now;
}

Session::~Session() {
  if (server_) server_->stop();
  state_.charge(configuration_.devices);
}

bool Session::start() {
  const Recipe& recipe = state_.recipe;
  const size_t number = ++state_.sessions;
  std::error_code made;
  const fs::path folder = state_.options.logs / file_name(state_.choice.run);
  fs::create_directories(folder, made);
  if (made) {
    failure_ = fmt::format("{}: {}", folder.string(), made.message());
    return false;
  }
  const fs::path log = folder / fmt::format("{}-{}-{}.log", base::utc_text(base::unix_ns()), number,
                                            file_name(configuration_.label));
  const std::string name =
      fmt::format("headroom-{}-{}-{}", file_name(recipe.name), ::getpid(), number);
  auto launch = launch_of(recipe, configuration_, log, name);
  if (!launch) {
    failure_ = launch.error().message;
    return false;
  }
  const std::string what = fmt::format("{}: starting the server", configuration_.label);
  state_.view->begin(what, estimate_start(configuration_, recipe, state_.stored).seconds);
  auto server = Server::start(*launch, recipe.timeouts.server, state_.options.stop);
  state_.view->end();
  if (!server) {
    if (server.error().code == ErrorCode::kCancelled) state_.stopped = true;
    failure_ = server.error().message;
    return false;
  }
  server_ = std::move(*server);
  if (recipe.server.kind != ServerKind::kUrl)
    state_.view->line(fmt::format("{}: the server is up after {}", configuration_.label,
                                  base::duration_text(server_->start_seconds())));
  warm_up();
  if (failure_.empty() && recipe.eval) evaluate();
  return failure_.empty();
}

/// One request that is not kept: what the first one compiles, loads or captures is no point's time.
void Session::warm_up() {
  load::BenchOptions bench = bench_options(state_.recipe, configuration_, {1, std::nullopt});
  bench.url = server_->url();
  bench.rates = {};
  bench.concurrency = {1};
  bench.requests = 1;
  bench.duration_s.reset();
  bench.warmup = 0;
  bench.max_failures_percent = 100;
  bench.arrival = {};
  bench.workload.turns = 1;
  const Deadline deadline(state_.recipe.timeouts.warmup_s, state_.options.stop);
  state_.view->begin(fmt::format("{}: first request", configuration_.label), 1);
  const load::BenchOutcome outcome = load::run_bench(bench, nullptr, {}, deadline.stop());
  state_.view->end();
  facts_ = outcome.server_facts;
  if (deadline.passed()) {
    failure_ = fmt::format("the first request took more than {} (timeouts.warmup)",
                           base::duration_text(state_.recipe.timeouts.warmup_s));
  } else if (outcome.error && outcome.error->code == ErrorCode::kCancelled) {
    state_.stopped = true;
    failure_ = "interrupted";
  } else if (outcome.error) {
    failure_ = fmt::format("the first request: {}", outcome.error->message);
  }
  if (!failure_.empty() && !server_->running()) failure_ += "; " + server_->end_text();
}

/// Accuracy of this very process; without a bound on it, an eval that fails costs no point.
void Session::evaluate() {
  const EvalSpec& spec = *state_.recipe.eval;
  eval::EvalOptions options;
  options.url = server_->url();
  options.model = state_.recipe.model;
  options.headers = state_.recipe.bench.headers;
  if (!state_.recipe.bench.api_key.empty())
    options.headers.push_back("Authorization: Bearer " + state_.recipe.bench.api_key);
  options.file = spec.task;
  options.limit = spec.questions;
  options.concurrency = static_cast<int32_t>(spec.concurrency);
  options.shots = static_cast<int32_t>(spec.shots);
  options.max_tokens = static_cast<int32_t>(spec.max_tokens);
  options.chat = spec.chat;
  options.tokenizer = spec.tokenizer;
  const Deadline deadline(spec.timeout_s, state_.options.stop);
  state_.view->begin(fmt::format("{}: eval {}", configuration_.label, spec.task), 60);
  const auto outcome = eval::run_eval(options, {}, deadline.stop());
  state_.view->end();
  std::string wrong;
  if (deadline.passed()) {
    wrong = fmt::format("took more than {} (eval.timeout)", base::duration_text(spec.timeout_s));
  } else if (state_.options.stop != nullptr && *state_.options.stop) {
    state_.stopped = true;
    failure_ = "interrupted";
    return;
  } else if (!outcome) {
    wrong = outcome.error().message;
  } else if (outcome->evals.empty() || !outcome->evals.front().score) {
    wrong = "gave no score";
  } else {
    eval_ = outcome->evals.front();
    if (outcome->failed > 0)
      state_.outcome.notes.push_back(
          fmt::format("{}: eval: failed: {}", configuration_.label, eval::failures_text(*outcome)));
    state_.view->line(fmt::format("{}: eval {}: {} {:.4g}", configuration_.label, eval_->task,
                                  eval_->metric, *eval_->score));
    if (spec.least && *eval_->score < *spec.least)
      wrong = fmt::format("{} {:.4g} is below eval.least {:.4g}", eval_->metric, *eval_->score,
                          *spec.least);
    if (spec.most && *eval_->score > *spec.most)
      wrong = fmt::format("{} {:.4g} is above eval.most {:.4g}", eval_->metric, *eval_->score,
                          *spec.most);
  }
  if (wrong.empty()) return;
  wrong = "eval: " + wrong;
  if (spec.least || spec.most)
    failure_ = wrong;
  else
    state_.outcome.notes.push_back(fmt::format("{}: {}", configuration_.label, wrong));
}

bool Session::within_limits(const Load& load, double expected_s) {
  const Limits& limits = state_.recipe.limits;
  std::string text;
  if (limits.seconds && state_.elapsed_s() + expected_s > *limits.seconds)
    text =
        fmt::format("limits.time {}: {} have passed and {} would take about {}",
                    base::duration_text(*limits.seconds), base::duration_text(state_.elapsed_s()),
                    load_text(load), base::duration_text(expected_s));
  const auto dollars = state_.dollars_after(expected_s, configuration_.devices);
  if (limits.dollars && dollars && *dollars > *limits.dollars)
    text = fmt::format("limits.dollars {:.2f}: with {} it would be about {:.2f}", *limits.dollars,
                       load_text(load), *dollars);
  if (text.empty()) return true;
  state_.outcome.notes.push_back("stopped by " + text);
  state_.stopped = true;
  return false;
}

PointResult Session::failed(PointResult result, std::string reason) const {
  result.state = PointState::kFailed;
  result.reason = std::move(reason);
  state_.view->line(fmt::format("[{}/{}] {}, {}: failed: {}", state_.number, state_.total,
                                configuration_.label, load_text(result.load), result.reason));
  return result;
}

std::optional<PointResult> Session::measure(const Load& load, int64_t repeat) {
  PointResult result;
  result.configuration = configuration_.label;
  result.load = load;
  result.repeat = repeat;
  if (state_.stopped) return std::nullopt;
  if (state_.options.stop != nullptr && *state_.options.stop) {
    state_.stopped = true;
    return std::nullopt;
  }
  const double expected =
      estimate_point(state_.recipe, configuration_, load, state_.stored).seconds;
  const double starting =
      server_ ? 0 : estimate_start(configuration_, state_.recipe, state_.stored).seconds;
  if (!failure_.empty()) {
    ++state_.number;
    return failed(std::move(result), failure_);
  }
  if (!within_limits(load, expected + starting)) return std::nullopt;
  if (!server_ && !start()) {
    if (state_.stopped) return std::nullopt;
    ++state_.number;
    return failed(std::move(result), failure_);
  }
  ++state_.number;
  load::BenchOptions bench = bench_options(state_.recipe, configuration_, load);
  bench.url = server_->url();
  bench.run = state_.choice.run;
  bench.point = point_digest(configuration_, load);
  bench.repeat = repeat;
  bench.eval = eval_;
  bench.point_timeout_s = state_.recipe.timeouts.point_s;
  bench.server_facts = facts_;
  const int64_t start = base::now_ns();
  state_.view->begin(
      fmt::format("[{}/{}] {}, {}{}", state_.number, state_.total, configuration_.label,
                  load_text(load),
                  state_.recipe.repeats > 1 ? fmt::format(", repeat {}", repeat) : ""),
      expected);
  // A point that does not end by itself when its time is over is dropped a little later.
  const double grace = 5 + 0.1 * state_.recipe.timeouts.point_s;
  const Deadline deadline(state_.recipe.timeouts.point_s + grace, state_.options.stop);
  load::BenchOutcome outcome = load::run_bench(bench, nullptr, {}, deadline.stop());
  const double seconds = since_s(start);
  state_.view->end();
  if (deadline.passed())
    return failed(std::move(result),
                  fmt::format("took more than {} (timeouts.point)",
                              base::duration_text(state_.recipe.timeouts.point_s)));
  if (outcome.error && outcome.error->code == ErrorCode::kCancelled) {
    state_.stopped = true;
    return std::nullopt;
  }
  if (!server_->running()) {
    failure_ = server_->end_text();
    return failed(std::move(result), failure_);
  }
  return keep(std::move(result), std::move(outcome), seconds);
}

PointResult Session::keep(PointResult result, load::BenchOutcome outcome, double seconds) {
  if (outcome.points.empty())
    return failed(std::move(result), outcome.error ? outcome.error->message : "nothing measured");
  results::Record record = std::move(outcome.points.back().record);
  if (record.measures.requests_ok.value_or(0) == 0)
    return failed(std::move(result),
                  fmt::format("no request succeeded: {}", failures_text(record)));
  record.run = state_.choice.run;
  record.point = point_digest(configuration_, result.load);
  record.repeat = result.repeat;
  record.server.recipe_fingerprint = configuration_.fingerprint;
  for (const auto& [name, value] : recorded_environment(configuration_))
    record.server.environment[name] = value;
  if (state_.recipe.server.kind != ServerKind::kUrl &&
      state_.recipe.server.launcher.kind == LauncherKind::kLocal) {
    static const environment::Manifest manifest = environment::describe();
    for (const auto& [name, value] : manifest)
      if (!name.starts_with("env.")) record.server.environment.emplace(name, value);
  }
  if (eval_) record.measures.eval = eval_;
  auto& settings = record.measures.client.settings;
  if (server_->start_seconds() > 0)
    settings[kStartSetting] = fmt::format("{:.1f}", server_->start_seconds());
  settings[kConfigurationSetting] = configuration_.label;
  settings[kPointSetting] = fmt::format("{:.2f}", seconds);
  if (state_.recipe.server.kind != ServerKind::kUrl) {  // else the bench's own line does
    std::vector<std::string> words = {"headroom", "sweep", state_.recipe.file};
    for (const auto& [name, value] : state_.options.variables)
      words.insert(words.end(), {"--set", name + "=" + value});
    words.insert(words.end(), {"--again", "--point", record.point.substr(0, kShortDigest)});
    record.replay = shell_text(words);
  }
  if (const auto cut = record.measures.doubts.find("interrupted");
      cut != record.measures.doubts.end())
    result.reason = "partial: " + cut->second;
  const auto say = [&](const std::string& line) { state_.view->line(line); };
  if (const auto added =
          keep_record(state_.store, record, state_.options.logs / file_name(state_.choice.run),
                      state_.options.stop, say);
      !added) {
    state_.outcome.error = added.error();
    state_.stopped = true;
    return failed(std::move(result), added.error().message);
  }
  results::StoredRecord stored;
  stored.id = results::record_id(record);
  stored.record = std::move(record);
  state_.view->line(fmt::format("[{}/{}] {}{}: {}", state_.number, state_.total,
                                configuration_.label,
                                state_.recipe.repeats > 1 ? fmt::format(" #{}", result.repeat) : "",
                                load::point_line(stored.record)));
  if (outcome.error) result.reason = outcome.error->message;
  state_.stored.push_back(stored);
  result.record = std::move(stored);
  result.state = PointState::kMeasured;
  return result;
}

}  // namespace headroom::sweep
