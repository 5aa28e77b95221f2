// Comparing two runs of one recipe, configuration by configuration.
#include "sweep/movement.h"

#include <cmath>
#include <map>

#include "base/table.h"
#include "sweep/estimate.h"

namespace headroom::sweep {
namespace {

using results::StoredRecord;
using ByLabel = std::map<std::string, std::vector<StoredRecord>>;

ByLabel by_label(std::span<const StoredRecord> records) {
  ByLabel result;
  for (const StoredRecord& stored : records) {
    const auto& settings = stored.record.measures.client.settings;
    const auto at = settings.find(kConfigurationSetting);
    if (at != settings.end()) result[at->second].push_back(stored);
  }
  return result;
}

}  // namespace

size_t Movement::moved() const {
  return static_cast<size_t>(
      std::count_if(points.begin(), points.end(), [](const PointMovement& p) { return p.moved; }));
}

std::optional<double> Movement::direction() const {
  double sum = 0;
  for (const PointMovement& p : points)
    if (p.moved) sum += std::log(p.gain);
  if (moved() == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(moved()));
}

std::string Movement::text() const {
  using Align = base::Table::Align;
  base::Table table;
  table.columns = {{"server", Align::kLeft}, {"streams"}, {"before"}, {"after"}, {"gain"}, {"95 %"},
                   {"verdict", Align::kLeft}};
  for (const PointMovement& p : points)
    table.rows.push_back(
        {p.configuration, analysis::in_flight_text(p.concurrency), analysis::figure_text(p.before),
         analysis::figure_text(p.after), fmt::format("{:.2f}×", p.gain),
         p.interval ? fmt::format("{:.2f}–{:.2f}", p.interval->low, p.interval->high) : "-",
         p.moved ? (p.gain > 1 ? "moved: faster" : "moved: slower") : "not moved"});
  std::string out = "tok/s/user\n" + table.terminal();
  out += fmt::format("{} of {} points moved", moved(), points.size());
  if (const auto mean = direction()) out += fmt::format(", by {:.2f}× in the mean", *mean);
  out += "\n";
  for (const analysis::Difference& d : differences)
    out +=
        fmt::format("  {}: {} → {}\n", d.field, d.a.empty() ? "-" : d.a, d.b.empty() ? "-" : d.b);
  return out;
}

base::Result<Movement> movement(std::span<const StoredRecord> before,
                                std::span<const StoredRecord> after, double threshold) {
  Movement result;
  const ByLabel old_points = by_label(before), new_points = by_label(after);
  for (const auto& [label, records] : new_points) {
    const auto old = old_points.find(label);
    if (old == old_points.end()) continue;
    analysis::CompareOptions options;
    options.span = analysis::Span::kWhole;
    const auto compared =
        analysis::compare({"before", old->second}, {"after", records}, {}, options);
    if (!compared) continue;
    for (const analysis::SameConcurrencyRow& row : compared->same_concurrency) {
      if (!row.gain || row.a.state != analysis::State::kMeasured ||
          row.b.state != analysis::State::kMeasured)
        continue;
      PointMovement point{label,     row.concurrency, *row.a.value, *row.b.value,
                          *row.gain, row.interval,    false};
      const double change = std::abs(std::log(point.gain));
      const double least = std::log1p(threshold * (point.interval ? 1 : kWithoutRepeats));
      point.moved = change > least && (!point.interval || point.interval->significant());
      result.points.push_back(std::move(point));
    }
  }
  if (result.points.empty())
    return base::fail(base::ErrorCode::kNotFound, "the two runs share no measured point");
  // Readings that move by themselves, and the digest of what the other lines say, tell nothing.
  for (analysis::Difference& d : analysis::recipe_differences(before, after))
    if (d.field != "fingerprint" && !d.field.ends_with("now") &&
        d.field.find("_now_") == std::string::npos)
      result.differences.push_back(std::move(d));
  return result;
}

}  // namespace headroom::sweep
