// Lines of a running point.
#include "load/live_view.h"

#include <sys/resource.h>

#include "base/clock.h"

namespace headroom::load {

namespace {

double process_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string percentiles(const base::Histogram& histogram, int decimals) {
  if (histogram.empty()) return "–";
  return fmt::format("{:.{}f} p50, {:.{}f} p99 ms",
                     static_cast<double>(histogram.percentile(50)) * 1e-6, decimals,
                     static_cast<double>(histogram.percentile(99)) * 1e-6, decimals);
}

}  // namespace

LiveView::LiveView(std::string label, const PointOptions& point, bool quiet)
    : label_(std::move(label)),
      duration_ns_(point.duration_ns),
      wanted_(point.warmup + point.requests.value_or(0)),
      quiet_(quiet),
      terminal_(base::stderr_is_terminal()),
      started_(base::now_ns()),
      rated_at_(started_),
      cpu_started_(process_cpu_s()) {
  if (!terminal_)
    plain_.emplace(label_, duration_ns_ ? *duration_ns_ / 1'000'000 : wanted_,
                   duration_ns_ ? "ms" : "requests", quiet_);
}

void LiveView::ended(const RequestRecord& record) {
  if (!record.ok()) ++failures_[failure_name(record.failure, record.http_status)];
  if (!record.ok() || record.warmup) return;
  if (const auto ttft = record.ttft()) ttft_.record(*ttft);
  if (const auto tpot = record.tpot()) tpot_.record(std::llround(*tpot));
}

double LiveView::fraction(const PointProgress& progress) const {
  if (duration_ns_)
    return static_cast<double>(base::now_ns() - started_) / static_cast<double>(*duration_ns_);
  return wanted_ > 0 ? static_cast<double>(progress.ended) / static_cast<double>(wanted_) : 0;
}

std::vector<std::string> LiveView::lines(const PointProgress& progress) const {
  const double elapsed = static_cast<double>(base::now_ns() - started_) * 1e-9;
  const double part = std::min(fraction(progress), 1.0);
  std::string time = base::duration_text(elapsed);
  if (part > 0.01 && part < 1)
    time += fmt::format(", {} left", base::duration_text(elapsed / part * (1 - part)));
  std::vector<std::string> result;
  result.push_back(fmt::format(
      "{} {} {} requests  {}", label_, base::bar_text(part),
      duration_ns_ ? std::to_string(progress.ended) : fmt::format("{}/{}", progress.ended, wanted_),
      time));
  const double mean = elapsed > 0 ? 1 / elapsed : 0;
  result.push_back(
      fmt::format("  now {:8.1f} tok/s {:8.2f} req/s   mean {:8.1f} tok/s {:8.2f} req/s",
                  tokens_now_, requests_now_, static_cast<double>(progress.tokens) * mean,
                  static_cast<double>(progress.ended) * mean));
  result.push_back(
      fmt::format("  TTFT {}   TPOT {}", percentiles(ttft_, 1), percentiles(tpot_, 2)));
  std::string failed = fmt::format("{} failed", progress.failed);
  for (const auto& [kind, count] : failures_)
    failed += fmt::format("{}{} {}", kind == failures_.begin()->first ? " (" : ", ", count, kind);
  if (!failures_.empty()) failed += ')';
  result.push_back(fmt::format("  {} in flight   {}   client CPU {:.0f} % of a core",
                               progress.in_flight, failed,
                               elapsed > 0 ? (process_cpu_s() - cpu_started_) / elapsed * 100 : 0));
  return result;
}

void LiveView::update(const PointProgress& progress) {
  const int64_t now = base::now_ns();
  if (now - rated_at_ > 500'000'000) {
    const double seconds = static_cast<double>(now - rated_at_) * 1e-9;
    tokens_now_ = static_cast<double>(progress.tokens - rated_tokens_) / seconds;
    requests_now_ = static_cast<double>(progress.ended - rated_ended_) / seconds;
    rated_at_ = now;
    rated_tokens_ = progress.tokens;
    rated_ended_ = progress.ended;
  }
  if (quiet_) return;
  if (terminal_) {
    if (block_.due()) block_.draw(lines(progress));
    return;
  }
  std::string note;
  if (progress.failed > 0) note = fmt::format("{} failed, ", progress.failed);
  note += fmt::format("{:.0f} tok/s now", tokens_now_);
  plain_->note(std::move(note));
  plain_->update(duration_ns_ ? (now - started_) / 1'000'000 : progress.ended);
}

void LiveView::finish() {
  if (terminal_)
    block_.clear();  // the point's own line follows
  else
    plain_->finish();
}

}  // namespace headroom::load
