// Translates records into questions for limit/.
#include "dash/limits.h"

#include <algorithm>
#include <cmath>

#include "analysis/series.h"
#include "base/cpu.h"
#include "limit/catalog.h"
#include "limit/machine.h"

namespace headroom::dash {
namespace {

using base::ErrorCode;
using base::fail;
using results::Record;

/// "moonshotai/Kimi-K2.5-MXFP4" → "kimi-k2.5": the longest catalogued name that begins the model's.
std::string catalogued_shape(const std::string& model) {
  std::string name = model;
  while (name.ends_with('/')) name.pop_back();
  if (const size_t slash = name.rfind('/'); slash != std::string::npos) name.erase(0, slash + 1);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.starts_with("deepseek-r1")) name = "deepseek-v3";
  std::string best;
  for (const std::string& known : limit::shape_names())
    if (name.starts_with(known) && known.size() > best.size()) best = known;
  return best;
}

base::Result<limit::Shape> shape_of(const Record& record, const LimitHints& hints) {
  if (!hints.shape.empty()) return limit::find_shape(hints.shape);
  const std::string name = catalogued_shape(record.server.model);
  if (name.empty())
    return fail(ErrorCode::kNotFound, "the shape of model `{}` is not in the catalogue",
                record.server.model);
  return limit::find_shape(name);
}

base::Result<limit::Hardware> hardware_of(const Record& record, const LimitHints& hints) {
  const std::string& name = hints.hardware.empty() ? record.hardware.name : hints.hardware;
  if (name.empty()) return fail(ErrorCode::kNotFound, "the record names no hardware");
  if (name == "this" || name == base::cpu_info().model) return limit::this_machine();
  return limit::find_hardware(name);
}

base::Result<limit::Precision> precision_of(const Record& record) {
  const std::string& name = record.server.precision;
  if (name.empty()) return fail(ErrorCode::kNotFound, "the record names no weight precision");
  return limit::parse_precision(name == "fp4" ? "mxfp4" : name);
}

base::Result<limit::KvRow> kv_of(const Record& record) {
  if (record.server.kv.empty()) return fail(ErrorCode::kNotFound, "the record names no cache type");
  return limit::parse_kv_row(record.server.kv);
}

std::optional<double> mean_tokens(const std::optional<int64_t>& measured,
                                  const std::optional<int64_t>& requests,
                                  const std::optional<int64_t>& nominal) {
  if (measured && requests && *requests > 0 && *measured > 0)
    return static_cast<double>(*measured) / static_cast<double>(*requests);
  if (nominal) return static_cast<double>(*nominal);
  return std::nullopt;
}

}  // namespace

base::Result<LimitQuestion> limit_question(const Record& record, const LimitHints& hints) {
  LimitQuestion asked;
  HEADROOM_TRY(asked.shape, shape_of(record, hints));
  HEADROOM_TRY(asked.hardware, hardware_of(record, hints));
  HEADROOM_TRY(asked.question.precision, precision_of(record));
  HEADROOM_TRY(asked.question.kv, kv_of(record));
  const results::Layout& layout = record.server.layout;
  if (!layout.tp && record.hardware.devices.value_or(0) != 1)
    return fail(ErrorCode::kNotFound, "the record names no parallel layout");
  asked.question.layout.tp = static_cast<int>(layout.tp.value_or(1));
  asked.question.layout.ep = static_cast<int>(layout.ep.value_or(1));
  const bool local = asked.hardware.name == "this";
  asked.question.basis =
      hints.basis.value_or(local ? limit::Basis::kMeasured : limit::Basis::kDatasheet);
  const auto in_flight = analysis::requests_in_flight(record);
  if (!in_flight) return fail(ErrorCode::kNotFound, "the record names no concurrency");
  asked.concurrency = std::max(1.0, *in_flight);  // a step that decodes holds one request at least
  const results::Measures& m = record.measures;
  const auto input =
      mean_tokens(m.client_input_tokens, m.requests_ok, record.workload.input_tokens);
  const auto output =
      mean_tokens(m.client_output_tokens, m.requests_ok, record.workload.output_tokens);
  if (!input || !output) return fail(ErrorCode::kNotFound, "the record names no token counts");
  asked.question.lengths = limit::Lengths{std::max(1.0, *input), std::max(1.0, *output)};
  return asked;
}

base::Result<results::Limit> limit_of(const Record& record, const LimitHints& hints) {
  HEADROOM_TRY(const LimitQuestion asked, limit_question(record, hints));
  HEADROOM_TRY(const limit::Curve curve,
               limit::bound(asked.shape, asked.hardware, asked.question, {asked.concurrency}));
  const limit::Point& p = curve.points.front();
  results::Limit limit;
  limit.tpot_ms = p.decode_ms;
  if (!record.workload.rate) {  // at a rate the client sets the throughput, not the hardware
    limit.tok_s_gpu = p.total_tok_s_gpu;
    limit.output_tok_s_gpu = p.output_tok_s_gpu;
  }
  limit.bound = p.bound;
  limit.basis = limit::basis_name(asked.question.basis);
  limit.hardware = asked.hardware.title;
  limit.bytes = p.bytes.total();
  limit.flops = p.flops.total();
  return limit;
}

base::Result<std::vector<std::pair<double, double>>> limit_curve(const LimitQuestion& asked,
                                                                 int64_t low, int64_t high) {
  std::vector<double> concurrencies;
  constexpr int kSteps = 64;
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  for (int i = 0; i <= kSteps; ++i) {
    const double b = std::round(static_cast<double>(low) * std::pow(ratio, i / double{kSteps}));
    if (concurrencies.empty() || b > concurrencies.back()) concurrencies.push_back(b);
  }
  HEADROOM_TRY(const limit::Curve curve,
               limit::bound(asked.shape, asked.hardware, asked.question, concurrencies));
  std::vector<std::pair<double, double>> points;
  for (const limit::Point& p : curve.points)
    points.emplace_back(p.tok_s_user(), p.total_tok_s_gpu.value_or(p.output_tok_s_gpu));
  return points;
}

}  // namespace headroom::dash
