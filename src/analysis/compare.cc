// Computing a comparison: series, curves, levels, rows.
#include "analysis/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/compare_parts.h"

namespace headroom::analysis {
namespace {

using results::StoredRecord;

bool has_steady(const StoredRecord& stored) {
  const auto& steady = stored.record.measures.steady;
  return steady && steady->duration_s && steady->tpot && !steady->tpot->empty();
}

// tok/s/GPU unless more records can say tok/s, as those of a machine whose devices nobody counted.
Metric level_metric(const CompareInput& a, const CompareInput& b, const CompareOptions& options) {
  const auto fewest = [&](Metric metric) {
    const auto count = [&](const CompareInput& side) {
      return build_series(side.records, metric, Metric::kInteractivity, read_options(options))
          .points()
          .size();
    };
    return std::min(count(a), count(b));
  };
  return fewest(Metric::kTokS) > fewest(Metric::kTokSGpu) ? Metric::kTokS : Metric::kTokSGpu;
}

std::vector<std::string> plan_lines(std::span<const StoredRecord> records) {
  std::map<std::string, std::set<std::string>> chosen;
  for (const StoredRecord& stored : records)
    for (const results::PlanLine& line : stored.record.plan) chosen[line.op].insert(line.chosen);
  std::vector<std::string> lines;
  for (const auto& [op, kernels] : chosen)
    lines.push_back(fmt::format("{}: {}", op, fmt::join(kernels, ", ")));
  return lines;
}

Side side_of(const CompareInput& input, const SeriesSet& set, Axis x, Axis y) {
  Side side;
  side.name = input.name;
  side.records = input.records.size();
  side.left_out = set.left_out;
  side.series = set.series;
  const std::vector<Point> points = set.points();
  side.frontier = frontier(points, x, y);
  const auto [low_x, high_x] = std::ranges::minmax_element(points, {}, &Point::x);
  const auto [low_y, high_y] = std::ranges::minmax_element(points, {}, &Point::y);
  side.level = Range{low_x->x, high_x->x};
  side.value = Range{low_y->y, high_y->y};
  side.peak = *high_x;
  side.plan = plan_lines(input.records);
  std::set<std::string> servers;
  for (const StoredRecord& stored : input.records) {
    const auto& server = stored.record.server;
    if (!server.framework.empty())
      servers.insert(server.framework +
                     (server.framework_version.empty() ? "" : " " + server.framework_version));
  }
  side.server = fmt::format("{}", fmt::join(servers, ", "));
  return side;
}

std::optional<Range> overlap(const Range& a, const Range& b) {
  const Range both{std::max(a.low, b.low), std::min(a.high, b.high)};
  if (both.low > both.high) return std::nullopt;
  return both;
}

// Three significant digits, when that stays inside the range.
double rounded_inside(double value, const Range& range) {
  if (value <= 0) return value;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  for (const double candidate : {std::round(value / unit) * unit, std::ceil(value / unit) * unit,
                                 std::floor(value / unit) * unit})
    if (candidate >= range.low && candidate <= range.high) return candidate;
  return value;
}

std::vector<double> spread(const Range& range) {
  const double middle = range.low + (range.high - range.low) / 2;
  std::vector<double> levels;
  for (const double value : {range.low, middle, range.high}) {
    const double level = rounded_inside(value, range);
    if (levels.empty() || level > levels.back()) levels.push_back(level);
  }
  return levels;
}

void choose_levels(Comparison& c) {
  const Range& a = *c.a.level;
  const Range& b = *c.b.level;
  auto& levels = c.options.levels;
  if (c.level_overlap) {
    levels = spread(*c.level_overlap);
    c.levels_note = "levels chosen: both ends and the middle of what both sides measured";
  } else {
    c.levels_note = "levels chosen: the ends of both measured ranges, which do not overlap";
    levels = {a.low, a.high, b.low, b.high};
  }
  // Beyond: a tenth past the side that ends first, and the other side's peak.
  const Range& shorter = a.high < b.high ? a : b;
  const double peak = std::max(a.high, b.high);
  const double past = shorter.high + kExtrapolationLimit * (shorter.high - shorter.low);
  if (c.level_overlap && peak > shorter.high) {
    const double within = shorter.high + 0.9 * (past - shorter.high);  // --extrapolate reaches it
    if (within < peak) levels.push_back(rounded_inside(within, {shorter.high, past}));
    levels.push_back(peak);
    c.levels_note += ", then beyond it up to the higher peak";
  }
  std::ranges::sort(levels);
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
}

Reading measured(const Point& point) {
  Reading reading;
  reading.state = State::kMeasured;
  reading.value = point.y;
  reading.concurrency = point.concurrency;
  reading.recipe = point.recipe;
  reading.source = point.source;
  reading.evidence = point.evidence;
  return reading;
}

// The best point at each concurrency.
std::map<double, Point> by_concurrency(const SeriesSet& set, Axis y) {
  std::map<double, Point> best;
  for (const Point& point : set.points()) {
    if (!point.concurrency) continue;
    const auto [at, fresh] = best.try_emplace(*point.concurrency, point);
    if (!fresh && (y.higher_is_better ? point.y > at->second.y : point.y < at->second.y))
      at->second = point;
  }
  return best;
}

void add_same_concurrency(Comparison& c, const SeriesSet& a, const SeriesSet& b, Axis y) {
  const auto of_b = by_concurrency(b, y);
  for (const auto& [concurrency, point] : by_concurrency(a, y)) {
    const auto other = of_b.find(concurrency);
    if (other == of_b.end()) continue;
    SameConcurrencyRow row;
    row.concurrency = concurrency;
    row.a = measured(point);
    row.b = measured(other->second);
    row.gain = gain_of(row.a, row.b, y.higher_is_better);
    row.a_level = point.x;
    row.b_level = other->second.x;
    row.a_headroom = point.headroom;
    row.b_headroom = other->second.headroom;
    c.same_concurrency.push_back(std::move(row));
  }
}

}  // namespace

ReadOptions read_options(const CompareOptions& options) {
  return {options.basis, options.span.value_or(Span::kWhole), options.percentile};
}

std::optional<double> gain_of(const Reading& a, const Reading& b, bool higher_is_better) {
  if (!a.value || !b.value) return std::nullopt;
  const double from = higher_is_better ? *a.value : *b.value;
  const double to = higher_is_better ? *b.value : *a.value;
  if (from <= 0) return std::nullopt;
  return to / from;
}

std::vector<Curve> curves_of(const SeriesSet& set, const CompareOptions& options, Axis x, Axis y) {
  std::vector<Curve> curves;
  if (options.method == Method::kSteffen) {
    curves.push_back(Curve::steffen(set.points(), x, y));
  } else {
    for (const RecipeSeries& series : set.series)
      curves.push_back(Curve::linear(series.points, x, y));
  }
  return curves;
}

void add_rows(Comparison& c, const SeriesSet& a, const SeriesSet& b) {
  const Axis x = axis(c.level), y = axis(c.value);
  const bool extrapolate = c.options.extrapolate;
  add_same_concurrency(c, a, b, y);
  const auto curves_a = curves_of(a, c.options, x, y);
  const auto curves_b = curves_of(b, c.options, x, y);
  const auto add_iso = [&](const auto& levels, const auto& read, Axis of, auto& rows) {
    for (const double level : levels) {
      IsoRow row;
      row.level = level;
      row.a = read(curves_a, level, extrapolate, of);
      row.b = read(curves_b, level, extrapolate, of);
      row.gain = gain_of(row.a, row.b, of.higher_is_better);
      rows.push_back(std::move(row));
    }
  };
  add_iso(c.options.levels, best_at, y, c.iso_throughput);
  add_iso(c.options.interactivity_levels, best_inverse, x, c.iso_interactivity);
  const auto peak = [](const SeriesSet& set) {
    double best = 0;
    for (const RecipeSeries& series : set.series)
      for (const Point& point : series.points) best = std::max(best, point.x);
    return best;
  };
  if (peak(a) > 0) c.peak_gain = peak(b) / peak(a);
}

base::Result<Comparison> compute(const CompareInput& a, const CompareInput& b,
                                 const CompareOptions& options) {
  Comparison c;
  c.options = options;
  c.level = *options.level;
  const Axis x = axis(c.level), y = axis(c.value);
  const SeriesSet set_a = build_series(a.records, c.level, c.value, read_options(options));
  const SeriesSet set_b = build_series(b.records, c.level, c.value, read_options(options));
  for (const auto& [input, set] : {std::pair(&a, &set_a), std::pair(&b, &set_b)})
    if (set->series.empty())
      return base::fail(base::ErrorCode::kNotFound,
                        "'{}': none of its {} records has both {} and {}", input->name,
                        input->records.size(), info(c.level).title, info(c.value).title);
  c.a = side_of(a, set_a, x, y);
  c.b = side_of(b, set_b, x, y);
  c.level_overlap = overlap(*c.a.level, *c.b.level);
  c.value_overlap = overlap(*c.a.value, *c.b.value);
  if (c.options.levels.empty()) choose_levels(c);
  if (c.options.interactivity_levels.empty() && c.value_overlap)
    c.options.interactivity_levels = spread(*c.value_overlap);

  add_rows(c, set_a, set_b);
  add_intervals(c, set_a, set_b);
  c.differences = recipe_differences(a.records, b.records);
  return c;
}

base::Result<Comparison> compare(const CompareInput& a, const CompareInput& b,
                                 std::span<const StoredRecord> stored,
                                 const CompareOptions& options) {
  CompareOptions complete = options;
  if (!complete.span)
    complete.span =
        std::ranges::all_of(a.records, has_steady) && std::ranges::all_of(b.records, has_steady)
            ? Span::kSteady
            : Span::kWhole;
  if (!complete.level) complete.level = level_metric(a, b, complete);
  HEADROOM_TRY(Comparison c, compute(a, b, complete));
  c.warnings = warnings_of(c, a, b, stored);
  return c;
}

}  // namespace headroom::analysis
