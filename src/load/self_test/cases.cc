// The cases of the self-test and what they come to.
#include "load/self_test/self_test.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "base/cpu.h"
#include "http/socket.h"

namespace headroom::load {

namespace {

/// Descriptors of both sides: this process's limit speaks for the mock's too.
int64_t allowed_streams(int64_t wanted, std::vector<std::string>& notes) {
  if (http::reserve_descriptors(static_cast<size_t>(wanted) + 64)) return wanted;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto allowed = std::max<int64_t>(1, static_cast<int64_t>(limit.rlim_max) - 192);
  notes.push_back(
      fmt::format("{} streams instead of {}: a process may have {} open files here (ulimit -Hn)",
                  allowed, wanted, limit.rlim_max));
  return allowed;
}

std::vector<CasePlan> plans_of(const SelfTestOptions& o, std::vector<std::string>& notes) {
  std::vector<CasePlan> plans;
  const double period_s =
      (o.ttft_ms + static_cast<double>(o.output_tokens - 1) * o.interval_ms) * 1e-3;
  CasePlan closed;
  closed.name = "closed loop";
  closed.streams = o.streams;
  closed.output_tokens = o.output_tokens;
  closed.ttft_ms = o.ttft_ms;
  closed.interval_ms = o.interval_ms;
  closed.warmup = o.streams;
  // Half a round over the rounds asked: the drain's end lies outside of the window.
  closed.requests = o.streams * o.rounds + o.streams / 2;
  closed.stagger_s = period_s;
  closed.hold_cost = o.streams >= 1024;  // with few streams the wake-ups are what costs
  closed.hog = o.hog;
  plans.push_back(closed);

  CasePlan start = closed;
  start.name = "synchronised start";
  start.warmup = 0;
  start.stagger_s = 0;
  start.requests = o.streams * std::min<int64_t>(o.rounds, 4);
  start.hold_cost = false;
  plans.push_back(start);

  if (!o.hog) {
    CasePlan hog = closed;
    hog.name = "beside a CPU hog";
    hog.hog = true;
    plans.push_back(hog);
  }

  // As many tokens a second as the closed loop, or the mock would be what is measured.
  CasePlan many = closed;
  many.name = "many streams";
  many.streams = allowed_streams(o.many_streams, notes);
  many.interval_ms = std::max(1.0, std::round(o.interval_ms * static_cast<double>(many.streams) /
                                              static_cast<double>(o.streams)));
  many.ttft_ms = 4 * many.interval_ms;
  many.output_tokens = 16;
  many.warmup = many.streams;
  many.requests = 2 * many.streams;
  many.stagger_s = (many.ttft_ms + 15 * many.interval_ms) * 1e-3;
  many.hold_cost = false;
  plans.push_back(many);

  for (const double rate : o.rates) {
    CasePlan open = closed;
    open.name = fmt::format("open loop, {:g}/s", rate);
    open.output_tokens = 16;
    open.rate = rate;
    open.warmup = 0;
    open.stagger_s = 0;
    open.requests = std::max<int64_t>(2, std::llround(rate * o.rate_seconds));
    // Twice what is in flight on average.
    open.streams = 64 + std::llround(2 * rate * (o.ttft_ms + 15 * o.interval_ms) * 1e-3);
    open.hold_cost = false;
    plans.push_back(open);
  }
  return plans;
}

std::string figure(double value) {
  return fmt::format("{:.4f}", value);
}

void write_errors(base::JsonWriter& json, const CaseResult& r) {
  json.key("errors").begin_object();
  for (const auto& [name, figures] :
       {std::pair("ttft_ms", &r.ttft_ms), {"tpot_ms", &r.tpot_ms}, {"itl_ms", &r.itl_ms}})
    json.key(name)
        .begin_object()
        .field("mean", figures->mean)
        .field("p99", figures->p99)
        .field("samples", figures->samples)
        .end_object();
  json.end_object();
}

void write_missed(base::JsonWriter& json, const std::vector<std::string>& missed) {
  json.key("missed").begin_array();
  for (const std::string& line : missed) json.value(line);
  json.end_array();
}

}  // namespace

SelfTestOptions quick_self_test() {
  SelfTestOptions options;
  options.streams = 256;
  options.ttft_ms = 100;
  options.output_tokens = 32;
  options.rounds = 2;
  options.many_streams = 2000;
  options.rate_seconds = 1;
  return options;
}

bool SelfTestReport::passed() const {
  return std::all_of(cases.begin(), cases.end(),
                     [](const CaseResult& r) { return r.missed.empty(); });
}

base::Result<SelfTestReport> run_self_test(const SelfTestOptions& options, const StartMock& start,
                                           const std::function<void(const std::string&)>& on_case,
                                           const std::atomic<bool>* stop) {
  SelfTestReport report;
  report.options = options;
  for (const CasePlan& plan : plans_of(options, report.notes)) {
    if (plan.name.find(options.only) == std::string::npos) continue;
    if (on_case) on_case(plan.name);
    HEADROOM_TRY(CaseResult result, run_case(options, plan, start, stop));
    report.cases.push_back(std::move(result));
  }
  if (report.cases.empty())
    return base::fail(base::ErrorCode::kInvalidArgument, "no case has \"{}\" in its name",
                      options.only);
  return report;
}

std::string self_test_text(const SelfTestReport& report) {
  using Align = base::Table::Align;
  const SelfTestTargets t;
  base::Table table;
  table.columns = {{"case", Align::kLeft},
                   {"streams"},
                   {"requests"},
                   {"TTFT err ms"},
                   {"p99"},
                   {"TPOT err ms"},
                   {"p99"},
                   {"ITL err ms"},
                   {"p99"},
                   {"delivered"},
                   {"rate err %"},
                   {"tok/CPU-s"},
                   {"cores"},
                   {"MB"},
                   {"client limited", Align::kLeft},
                   {"verdict", Align::kLeft}};
  for (const CaseResult& r : report.cases)
    table.rows.push_back({r.name, fmt::format("{}", r.streams), fmt::format("{}", r.requests),
                          figure(r.ttft_ms.mean), figure(r.ttft_ms.p99), figure(r.tpot_ms.mean),
                          figure(r.tpot_ms.p99), figure(r.itl_ms.mean), figure(r.itl_ms.p99),
                          r.delivered ? fmt::format("{:.2f} %", *r.delivered * 100) : "",
                          r.rate_error ? fmt::format("{:.4f}", *r.rate_error * 100) : "",
                          fmt::format("{:.0f}", r.tokens_per_cpu_second),
                          fmt::format("{:.2f}", r.cpu_cores), fmt::format("{:.0f}", r.rss_mb),
                          r.limited ? "yes" : "no", r.missed.empty() ? "held" : "missed"});
  table.rows.push_back({"target, at most or at least", "", "", figure(t.ttft_mean_ms),
                        figure(t.ttft_p99_ms), figure(t.tpot_mean_ms), figure(t.tpot_p99_ms), "",
                        figure(t.itl_p99_ms), fmt::format("{:.2f} %", t.delivered * 100),
                        fmt::format("{:.4f}", t.rate_error * 100),
                        fmt::format("{:.0f} *", t.tokens_per_cpu_second), "",
                        fmt::format("{:.0f} *", t.rss_mb), "", ""});
  std::string text = table.terminal();
  text += "\nErrors are absolute differences from the mock's own log of what it sent.\n";
  text += "* held in the closed loop, from 1024 streams on.\n";
  for (const std::string& note : report.notes) text += "Note: " + note + "\n";
  for (const CaseResult& r : report.cases)
    if (r.limited) text += fmt::format("Client limited, {}: {}\n", r.name, r.limited_reason);
  for (const CaseResult& r : report.cases)
    for (const std::string& line : r.missed) text += "Missed: " + line + "\n";
  if (report.passed()) text += "All targets held.\n";
  return text;
}

void write_self_test(base::JsonWriter& json, const SelfTestReport& report) {
  json.begin_object();
  json.field("machine", base::cpu_info().model).field("cores", base::cpu_info().cores);
  json.field("streams", report.options.streams).field("interval_ms", report.options.interval_ms);
  if (!report.cases.empty()) {
    const CaseResult& closed = report.cases.front();
    write_errors(json, closed);
    json.field("delivered", closed.delivered);
    json.field("tokens_per_cpu_second", closed.tokens_per_cpu_second);
    json.field("rss_mb", closed.rss_mb);
  }
  json.field("passed", report.passed());
  std::vector<std::string> missed;
  for (const CaseResult& r : report.cases)
    missed.insert(missed.end(), r.missed.begin(), r.missed.end());
  write_missed(json, missed);
  json.key("notes").begin_array();
  for (const std::string& note : report.notes) json.value(note);
  json.end_array().key("cases").begin_array();
  for (const CaseResult& r : report.cases) {
    json.begin_object().field("name", r.name).field("streams", r.streams).field("rate", r.rate);
    json.field("hog", r.hog).field("requests", r.requests).field("failed", r.failed);
    json.field("unmatched", r.unmatched);
    write_errors(json, r);
    json.field("delivered", r.delivered).field("window_s", r.window_s).field("rounds", r.rounds);
    json.field("rate_error", r.rate_error);
    json.field("schedule_lag_p99_ms", r.schedule_lag_p99_ms);
    json.field("tokens_per_cpu_second", r.tokens_per_cpu_second).field("cpu_cores", r.cpu_cores);
    json.field("rss_mb", r.rss_mb).field("coalesced", r.coalesced);
    json.field("read_lag_p99_ms", r.read_lag_p99_ms);
    json.field("client_limited", r.limited ? "yes" : "no");
    json.field("client_limited_reason", r.limited_reason);
    write_missed(json, r.missed);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace headroom::load
