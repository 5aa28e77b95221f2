// Times of points and starts, by what is stored.
#include "sweep/estimate.h"

#include <cmath>
#include <cstdlib>

namespace headroom::sweep {
namespace {

using results::Record;

constexpr double kGuessedTpot = 0.025, kGuessedStart = 20;

std::optional<double> setting(const Record& record, const char* name) {
  const auto at = record.measures.client.settings.find(name);
  if (at == record.measures.client.settings.end()) return std::nullopt;
  const double value = std::strtod(at->second.c_str(), nullptr);
  return value > 0 ? std::optional(value) : std::nullopt;
}

/// Seconds a request of the record took at its mean, from its histogram.
std::optional<double> request_seconds(const Record& record) {
  if (!record.measures.whole.e2e || record.measures.whole.e2e->count() == 0) return std::nullopt;
  return record.measures.whole.e2e->mean() * 1e-9;
}

/// Rounds of requests that the point's streams make, warm-up included.
double rounds(const Recipe& recipe, const Configuration& configuration, const Load& load) {
  const load::BenchOptions bench = bench_options(recipe, configuration, load);
  const double streams = static_cast<double>(load.concurrency.value_or(1));
  const double requests = static_cast<double>(
      bench.requests.value_or(std::max<int64_t>(3 * load.concurrency.value_or(1), 12)));
  const double warmup = static_cast<double>(bench.warmup.value_or(load.concurrency.value_or(1)));
  return std::ceil(requests / streams) + std::ceil(warmup / streams);
}

}  // namespace

std::string source_text(Estimate::Source source) {
  switch (source) {
    case Estimate::Source::kAsked:
      return "as asked";
    case Estimate::Source::kStored:
      return "as stored";
    case Estimate::Source::kNear:
      return "from stored neighbours";
    case Estimate::Source::kGuess:
      return "a guess";
  }
  return "?";
}

Estimate estimate_point(const Recipe& recipe, const Configuration& configuration, const Load& load,
                        std::span<const results::StoredRecord> stored) {
  const std::string digest = point_digest(configuration, load);
  double sum = 0;
  int count = 0;
  for (const results::StoredRecord& s : stored)
    if (s.record.point == digest)
      if (const auto seconds = setting(s.record, kPointSetting)) {
        sum += *seconds;
        ++count;
      }
  if (count > 0) return {sum / count, Estimate::Source::kStored};
  if (recipe.bench.duration_s) return {*recipe.bench.duration_s, Estimate::Source::kAsked};
  // The nearest load of the same configuration, else of the recipe.
  const Record* near = nullptr;
  double nearest_gap = 1e300;
  for (const results::StoredRecord& s : stored) {
    if (!s.record.workload.concurrency || !load.concurrency || !request_seconds(s.record)) continue;
    double gap = std::abs(std::log(static_cast<double>(*s.record.workload.concurrency) /
                                   static_cast<double>(*load.concurrency)));
    if (s.record.server.recipe_fingerprint != configuration.fingerprint) gap += 100;
    if (gap < nearest_gap) {
      nearest_gap = gap;
      near = &s.record;
    }
  }
  if (load.rate) {
    const double requests = static_cast<double>(recipe.bench.requests.value_or(12));
    return {requests / *load.rate, near ? Estimate::Source::kNear : Estimate::Source::kGuess};
  }
  const double turns = rounds(recipe, configuration, load);
  if (near != nullptr) return {turns * *request_seconds(*near), Estimate::Source::kNear};
  const auto tokens = static_cast<double>(recipe.bench.workload.output_tokens);
  return {turns * (0.5 + tokens * kGuessedTpot), Estimate::Source::kGuess};
}

Estimate estimate_start(const Configuration& configuration, const Recipe& recipe,
                        std::span<const results::StoredRecord> stored) {
  if (recipe.server.kind == ServerKind::kUrl) return {0, Estimate::Source::kAsked};
  std::optional<double> any;
  for (const results::StoredRecord& s : stored)
    if (const auto seconds = setting(s.record, kStartSetting)) {
      if (s.record.server.recipe_fingerprint == configuration.fingerprint)
        return {*seconds, Estimate::Source::kStored};
      any = seconds;
    }
  if (any) return {*any, Estimate::Source::kNear};
  return {kGuessedStart, Estimate::Source::kGuess};
}

}  // namespace headroom::sweep
