// Running a list of points.
#include "load/bench.h"

#include <mutex>

#include "base/clock.h"
#include "environment/environment.h"
#include "load/bench_prepare.h"
#include "load/live_view.h"
#include "load/replay.h"
#include "load/request_log.h"

namespace headroom::load {

using base::ErrorCode;
using base::Result;

namespace {

/// The options that measure this point alone, once more.
BenchOptions options_of_point(const BenchOptions& options, const Load& load,
                              const PointOptions& point) {
  BenchOptions one = options;
  one.concurrency.clear();
  one.rates.clear();
  if (load.arrival) {
    one.arrival = *load.arrival;
    if (one.arrival.kind != ArrivalKind::kSchedule && one.arrival.kind != ArrivalKind::kTrace)
      one.rates = {load.arrival->rate};
  } else {
    one.concurrency = {load.streams};
  }
  one.requests_per_stream.reset();
  one.warmup_per_stream.reset();
  if (!one.duration_s) one.requests = point.requests;
  one.warmup = point.warmup;
  one.first_index = point.first_index;
  return one;
}

void judge_failures(const BenchOptions& options, results::Measures& m, std::string_view label,
                    std::optional<base::Error>& error) {
  const int64_t sent = m.requests_sent.value_or(0), failed = sent - m.requests_ok.value_or(0);
  const double percent =
      sent > 0 ? 100 * static_cast<double>(failed) / static_cast<double>(sent) : 0;
  if (failed == 0 || percent <= options.max_failures_percent) return;
  const std::string text = fmt::format("{} of {} requests failed ({:.1f} %), more than {:.4g} %",
                                       failed, sent, percent, options.max_failures_percent);
  m.doubts["too_many_failures"] = text;
  if (!error) error = base::Error{ErrorCode::kUnavailable, fmt::format("{}: {}", label, text)};
}

/// The first index of the next point: a trace begins anew at its first row.
uint64_t after(const PointRun& run, const Prepared& prepared) {
  const uint64_t rows = prepared.facts.shares_prefixes ? prepared.facts.distinct_prompts : 0;
  return rows == 0 ? run.next_index : (run.next_index + rows - 1) / rows * rows;
}

/// What no log and no message may show: the key, and the values of headers that carry one.
std::vector<std::string> secrets_of(const BenchOptions& options) {
  std::vector<std::string> secrets;
  if (!options.api_key.empty()) secrets.push_back(options.api_key);
  constexpr size_t kShortest = 4;  // "1" is no secret, and stands in every message
  for (const std::string& header : options.headers) {
    const size_t colon = std::min(header.find(':'), header.size());
    if (!environment::is_secret(header.substr(0, colon), "")) continue;
    const size_t word = header.find_last_of(": ") + 1;  // behind "Bearer"
    if (header.size() - word >= kShortest) secrets.push_back(header.substr(word));
  }
  return secrets;
}

class Runner {
 public:
  Runner(const BenchOptions& options, const Prepared& prepared, results::Store* store,
         const std::atomic<bool>* stop, std::optional<RequestLog> log, BenchOutcome& outcome)
      : options_(options),
        prepared_(prepared),
        store_(store),
        stop_(stop),
        log_(std::move(log)),
        outcome_(outcome),
        secrets_(secrets_of(options)),
        next_index_(options.first_index) {}

  /// False when the run is over.
  bool measure(const Load& load, const std::function<void(const BenchPoint&)>& on_point);
  const std::optional<base::Error>& failures() const { return failures_; }

 private:
  Result<PointRun> run(const Load& load, const PointOptions& point);
  /// Some servers repeat the key that they refuse.
  std::string without_key(std::string text) const {
    for (const std::string& secret : secrets_)
      for (size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += 3)
        text.replace(at, secret.size(), "***");
    return text;
  }

  const BenchOptions& options_;
  const Prepared& prepared_;
  results::Store* store_;
  const std::atomic<bool>* stop_;
  std::optional<RequestLog> log_;
  BenchOutcome& outcome_;
  std::vector<std::string> secrets_;
  uint64_t next_index_;
  size_t number_ = 0;
  std::optional<base::Error> failures_;  // the first point with too many; the log
};

Result<PointRun> Runner::run(const Load& load, const PointOptions& point) {
  const std::string label = load_label(load);
  LiveView view(label, point, options_.quiet);
  std::mutex mutex;  // requests end on the loops' threads
  PointControl control;
  control.stop = stop_;
  control.progress = [&](const PointProgress& progress) {
    const std::lock_guard lock(mutex);
    view.update(progress);
    if (log_) log_->flush();
  };
  control.ended = [&](const RequestRecord& record, const std::string& why, int64_t start_ns) {
    const std::string line =
        log_ ? request_line(record, without_key(why), start_ns, outcome_.run, number_, label)
             : std::string();
    const std::lock_guard lock(mutex);
    view.ended(record);
    if (log_) log_->add(line);
  };
  auto result = run_point(point, *prepared_.workload, control);
  if (log_) log_->flush();
  view.finish();
  return result;
}

bool Runner::measure(const Load& load, const std::function<void(const BenchPoint&)>& on_point) {
  const PointOptions point = point_options(options_, prepared_, load, next_index_);
  auto run_result = run(load, point);
  ++number_;
  if (!run_result) {
    outcome_.error = run_result.error();
    outcome_.error->message = without_key(std::move(outcome_.error->message));
    if (outcome_.error->code == ErrorCode::kCancelled && (stop_ == nullptr || !stop_->load()))
      outcome_.error = base::Error{
          ErrorCode::kUnavailable,
          fmt::format("{}: no request had ended when the point timeout of {:.4g} s came",
                      load_label(load), options_.point_timeout_s)};
    return false;
  }
  PointRun& done = *run_result;
  for (auto& [kind, why] : done.first_failures) why = without_key(std::move(why));
  if (done.gone) done.gone->message = without_key(std::move(done.gone->message));
  next_index_ = after(done, prepared_);
  BenchPoint result;
  result.record = summarize(done, prepared_.facts);
  results::Record& record = result.record;
  record.repeat = options_.repeat;
  record.point = options_.point;
  record.measures.eval = options_.eval;
  record.replay = replay_command(options_of_point(options_, load, point));
  if (done.gone) {
    record.measures.doubts["server_failed"] = done.gone->message;
    outcome_.error = done.gone;
  } else {
    judge_failures(options_, record.measures, load_label(load), failures_);
  }
  if (log_ && !log_->error().empty()) {
    record.measures.doubts["requests_out"] = log_->error();
    if (!failures_) failures_ = base::Error{ErrorCode::kIo, log_->error()};
  }
  const bool stopped = done.interrupted && stop_ != nullptr && stop_->load();
  if (done.interrupted) record.measures.doubts["interrupted"] = done.interrupted_why;
  result.id = results::record_id(record);
  // Measured is measured: a store that refuses the point must not make it vanish.
  if (store_ != nullptr) {
    const auto added = store_->add(record, "headroom bench");
    if (!added && !outcome_.error) outcome_.error = added.error();
    outcome_.stored += added.has_value();
  }
  outcome_.points.push_back(std::move(result));
  if (on_point) on_point(outcome_.points.back());
  if (stopped && !outcome_.error)
    outcome_.error = base::Error{ErrorCode::kCancelled, "interrupted"};
  return !outcome_.error;
}

}  // namespace

BenchOutcome run_bench(const BenchOptions& options, results::Store* store,
                       const std::function<void(const BenchPoint&)>& on_point,
                       const std::atomic<bool>* stop) {
  BenchOutcome outcome;
  auto prepared = prepare_bench(options, stop);
  if (!prepared) {
    outcome.error = prepared.error();
    return outcome;
  }
  outcome.run = prepared->facts.run;
  outcome.server_facts = prepared->server;
  std::optional<RequestLog> log;
  if (!options.requests_out.empty()) {
    auto opened = RequestLog::open(options.requests_out);
    if (!opened) {
      outcome.error = opened.error();
      return outcome;
    }
    log = std::move(*opened);
  }
  Runner runner(options, *prepared, store, stop, std::move(log), outcome);
  for (const Load& load : loads_of(options)) {
    if (stop && stop->load()) {
      outcome.error = base::Error{ErrorCode::kCancelled, "interrupted"};
      return outcome;
    }
    if (!runner.measure(load, on_point)) return outcome;
  }
  outcome.error = runner.failures();
  return outcome;
}

}  // namespace headroom::load
