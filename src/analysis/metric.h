// Metrics: what can be put on an axis, and how it is read from a record.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/record.h"

namespace headroom::analysis {

enum class Metric {
  kInteractivity,  // tok/s/user: 1000 ÷ TPOT(ms)
  kTpotMs,
  kTtftMs,
  kItlMs,
  kE2eMs,
  kTokSGpu,  // (input + output) tokens ÷ time ÷ devices
  kOutputTokSGpu,
  kInputTokSGpu,
  kTokS,  // the same without the division by devices
  kOutputTokS,
  kConcurrency,
  kHeadroom,  // measured TPOT ÷ limit TPOT, 1 at the limit
};

struct MetricInfo {
  Metric metric;
  const char* name;   // "tok_s_gpu", on command lines and in JSON
  const char* title;  // "tok/s/GPU", in headings
  bool higher_is_better;
};
const MetricInfo& info(Metric metric);
/// kInvalidArgument lists the names there are.
base::Result<Metric> parse_metric(std::string_view name);

/// Which published column an imported figure is read from. kPrecise: per figure the one with more
/// significant digits. Where the asked column is missing the other serves; Figure::source says so.
enum class Basis { kPrecise, kPrinted, kTpot };
std::string_view basis_name(Basis basis);
base::Result<Basis> parse_basis(std::string_view name);

/// The part of a measurement that counts; published figures are of the whole run.
enum class Span { kSteady, kWhole };
std::string_view span_name(Span span);

struct ReadOptions {
  Basis basis = Basis::kPrecise;
  Span span = Span::kWhole;
  double percentile = 50;  // of the latencies; interactivity inverts this percentile of TPOT
};

struct Figure {
  double value = 0;
  std::string source;  // "tpot" | "interactivity" | "published" | "measured"
};

/// Absent when the record does not hold what the metric needs; never 0 instead.
std::optional<Figure> read(const results::Record& record, Metric metric,
                           const ReadOptions& options);

/// "tok/s/user", or "tok/s/user (slowest 1 %)" for percentile 99.
std::string metric_title(Metric metric, double percentile);

/// A number for people: no decimals from 1000, `decimals` from 1, three significant digits below.
std::string figure_text(double value, int decimals = 1);

}  // namespace headroom::analysis
