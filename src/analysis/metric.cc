// Reading metrics from records.
#include "analysis/metric.h"

#include <algorithm>
#include <cmath>

namespace headroom::analysis {
namespace {

using base::ErrorCode;
using base::fail;
using results::Printed;
using results::Record;
using results::Window;

constexpr MetricInfo kMetrics[] = {
    {Metric::kInteractivity, "interactivity", "tok/s/user", true},
    {Metric::kTpotMs, "tpot_ms", "TPOT ms", false},
    {Metric::kTtftMs, "ttft_ms", "TTFT ms", false},
    {Metric::kItlMs, "itl_ms", "ITL ms", false},
    {Metric::kE2eMs, "e2e_ms", "E2E ms", false},
    {Metric::kTokSGpu, "tok_s_gpu", "tok/s/GPU", true},
    {Metric::kOutputTokSGpu, "output_tok_s_gpu", "output tok/s/GPU", true},
    {Metric::kInputTokSGpu, "input_tok_s_gpu", "input tok/s/GPU", true},
    {Metric::kTokS, "tok_s", "tok/s", true},
    {Metric::kOutputTokS, "output_tok_s", "output tok/s", true},
    {Metric::kConcurrency, "concurrency", "concurrency", true},
    {Metric::kHeadroom, "headroom", "TPOT ÷ limit", false},
};

const Window& window(const Record& record, Span span) {
  const auto& measures = record.measures;
  return span == Span::kSteady && measures.steady ? *measures.steady : measures.whole;
}

std::optional<Figure> published(const std::optional<Printed>& printed) {
  if (!printed) return std::nullopt;
  return Figure{printed->value, "published"};
}

// A published column is the median or whatever its source says; it answers no other percentile.
bool published_answers(const Record& record, double percentile) {
  const std::string& statistic = record.published.statistic;
  if (statistic.empty() || statistic == "median" || statistic == "mean") return percentile == 50;
  return statistic == fmt::format("p{}", percentile);
}

/// The source's figure at the percentile: its plain column, else a statistic such as "p99_ttft_ms".
std::optional<Printed> printed_at(const Record& record, const std::optional<Printed>& plain,
                                  const char* name, double percentile) {
  if (plain && published_answers(record, percentile)) return plain;
  const auto& statistics = record.published.statistics;
  const auto at = statistics.find(
      fmt::format("{}_{}", percentile == 50 ? "median" : fmt::format("p{}", percentile), name));
  return at == statistics.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Figure> latency(const Record& record, const std::optional<base::Histogram>& measured,
                              const std::optional<Printed>& plain, const char* name,
                              const ReadOptions& options) {
  if (measured && !measured->empty())
    return Figure{static_cast<double>(measured->percentile(options.percentile)) / 1e6, "measured"};
  return published(printed_at(record, plain, name, options.percentile));
}

std::optional<Printed> printed_interactivity(const Record& record, const ReadOptions& options) {
  return printed_at(record, record.published.interactivity, "interactivity", options.percentile);
}

// True when the TPOT column pins the value down better than the interactivity column.
bool tpot_is_more_precise(const Printed& tpot, const Printed& interactivity) {
  const int a = tpot.significant_digits(), b = interactivity.significant_digits();
  if (a != b) return a > b;
  return tpot.half_unit() / tpot.value <= interactivity.half_unit() / interactivity.value;
}

// TPOT in ms, with the column it was read from.
std::optional<Figure> tpot_of(const Record& record, const ReadOptions& options) {
  const auto& measured = window(record, options.span).tpot;
  if (measured && !measured->empty()) {
    const auto ns = measured->percentile(options.percentile);
    if (ns <= 0) return std::nullopt;
    return Figure{static_cast<double>(ns) / 1e6, "measured"};
  }
  auto tpot = printed_at(record, record.published.tpot_ms, "tpot_ms", options.percentile);
  auto interactivity = printed_interactivity(record, options);
  if (tpot && tpot->value <= 0) tpot.reset();
  if (interactivity && interactivity->value <= 0) interactivity.reset();
  if (!tpot && !interactivity) return std::nullopt;
  bool by_tpot = tpot.has_value();
  if (tpot && interactivity) {
    by_tpot = options.basis == Basis::kTpot ||
              (options.basis == Basis::kPrecise && tpot_is_more_precise(*tpot, *interactivity));
  }
  if (by_tpot) return Figure{tpot->value, "tpot"};
  return Figure{1000 / interactivity->value, "interactivity"};
}

std::optional<Figure> interactivity_of(const Record& record, const ReadOptions& options) {
  const auto tpot = tpot_of(record, options);
  if (!tpot) return std::nullopt;
  // Not 1000 ÷ (1000 ÷ printed): the printed digits must come through unharmed.
  if (tpot->source == "interactivity")
    return Figure{printed_interactivity(record, options)->value, tpot->source};
  return Figure{1000 / tpot->value, tpot->source};
}

enum class Tokens { kAll, kInput, kOutput };

std::optional<Figure> rate_of(const Record& record, Tokens tokens, Span span) {
  const Window& w = window(record, span);
  if (!w.duration_s || *w.duration_s <= 0) return std::nullopt;
  const bool needs_input = tokens != Tokens::kOutput, needs_output = tokens != Tokens::kInput;
  if ((needs_input && !w.input_tokens) || (needs_output && !w.output_tokens)) return std::nullopt;
  const double sum = static_cast<double>((needs_input ? *w.input_tokens : 0) +
                                         (needs_output ? *w.output_tokens : 0));
  return Figure{sum / *w.duration_s, "measured"};
}

std::optional<Figure> rate_per_device(const Record& record, Tokens tokens,
                                      const std::optional<Printed>& printed, Span span) {
  auto rate = rate_of(record, tokens, span);
  if (!rate) return published(printed);
  if (!record.hardware.devices || *record.hardware.devices <= 0) return std::nullopt;
  rate->value /= static_cast<double>(*record.hardware.devices);
  return rate;
}

std::optional<Figure> rate_in_all(const Record& record, Tokens tokens,
                                  const std::optional<Printed>& per_device, Span span) {
  if (auto rate = rate_of(record, tokens, span)) return rate;
  if (!per_device || !record.hardware.devices) return std::nullopt;
  return Figure{per_device->value * static_cast<double>(*record.hardware.devices), "published"};
}

}  // namespace

const MetricInfo& info(Metric metric) {
  return kMetrics[static_cast<size_t>(metric)];
}

base::Result<Metric> parse_metric(std::string_view name) {
  std::string names;
  for (const MetricInfo& candidate : kMetrics) {
    if (name == candidate.name) return candidate.metric;
    names += (names.empty() ? "" : ", ") + std::string(candidate.name);
  }
  return fail(ErrorCode::kInvalidArgument, "no metric '{}'; there are {}", name, names);
}

std::string_view basis_name(Basis basis) {
  return basis == Basis::kPrecise ? "precise" : basis == Basis::kPrinted ? "printed" : "tpot";
}

base::Result<Basis> parse_basis(std::string_view name) {
  for (const Basis basis : {Basis::kPrecise, Basis::kPrinted, Basis::kTpot})
    if (name == basis_name(basis)) return basis;
  return fail(ErrorCode::kInvalidArgument, "no basis '{}'; there are precise, printed, tpot", name);
}

std::string_view span_name(Span span) {
  return span == Span::kSteady ? "steady" : "whole";
}

std::optional<Figure> read(const Record& record, Metric metric, const ReadOptions& options) {
  const Window& w = window(record, options.span);
  const auto& p = record.published;
  switch (metric) {
    case Metric::kInteractivity:
      return interactivity_of(record, options);
    case Metric::kTpotMs:
      return tpot_of(record, options);
    case Metric::kTtftMs:
      return latency(record, w.ttft, p.ttft_ms, "ttft_ms", options);
    case Metric::kItlMs:
      return latency(record, w.itl, p.itl_ms, "itl_ms", options);
    case Metric::kE2eMs:
      return latency(record, w.e2e, p.e2e_ms, "e2e_ms", options);
    case Metric::kTokSGpu:
      return rate_per_device(record, Tokens::kAll, p.tok_s_gpu, options.span);
    case Metric::kOutputTokSGpu:
      return rate_per_device(record, Tokens::kOutput, p.output_tok_s_gpu, options.span);
    case Metric::kInputTokSGpu:
      return rate_per_device(record, Tokens::kInput, p.input_tok_s_gpu, options.span);
    case Metric::kTokS:
      return rate_in_all(record, Tokens::kAll, p.tok_s_gpu, options.span);
    case Metric::kOutputTokS:
      return rate_in_all(record, Tokens::kOutput, p.output_tok_s_gpu, options.span);
    case Metric::kConcurrency:
      if (!record.workload.concurrency) return std::nullopt;
      return Figure{static_cast<double>(*record.workload.concurrency), "measured"};
    case Metric::kHeadroom: {
      const auto tpot = tpot_of(record, options);
      if (!tpot || !record.limit || !record.limit->tpot_ms || *record.limit->tpot_ms <= 0)
        return std::nullopt;
      return Figure{tpot->value / *record.limit->tpot_ms, tpot->source};
    }
  }
  return std::nullopt;
}

std::string metric_title(Metric metric, double percentile) {
  const std::string title = info(metric).title;
  const bool latency = metric == Metric::kInteractivity || metric == Metric::kTpotMs ||
                       metric == Metric::kTtftMs || metric == Metric::kItlMs ||
                       metric == Metric::kE2eMs || metric == Metric::kHeadroom;
  if (!latency || percentile == 50) return title;
  return percentile > 50 ? fmt::format("{} (slowest {:.3g} %)", title, 100 - percentile)
                         : fmt::format("{} (fastest {:.3g} %)", title, percentile);
}

std::string figure_text(double value, int decimals) {
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 1 || size == 0) return fmt::format("{:.{}f}", value, decimals);
  return fmt::format("{:.3g}", value);
}

}  // namespace headroom::analysis
