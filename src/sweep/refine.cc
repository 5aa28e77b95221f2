// Decisions on further points, as functions of what was measured and nothing else.
#include "sweep/refine.h"

#include <cmath>

namespace headroom::sweep {
namespace {

using analysis::Metric;

/// The integer nearest to the geometric mean that is strictly between, if the gap allows one.
std::optional<int64_t> between(int64_t low, int64_t high, int64_t smallest_gap) {
  if (high - low <= smallest_gap || high - low < 2) return std::nullopt;
  const auto middle = static_cast<int64_t>(
      std::llround(std::sqrt(static_cast<double>(low) * static_cast<double>(high))));
  return std::clamp(middle, low + 1, high - 1);
}

std::vector<Level> sorted(std::span<const Level> levels) {
  std::vector<Level> result(levels.begin(), levels.end());
  std::sort(result.begin(), result.end(),
            [](const Level& a, const Level& b) { return a.concurrency < b.concurrency; });
  return result;
}

/// Levels on the frontier of their own curve, by concurrency.
std::vector<Level> own_frontier(const std::vector<Level>& levels) {
  std::vector<analysis::Point> points;
  for (const Level& level : levels) {
    analysis::Point point;
    point.x = level.x;
    point.y = level.y;
    point.concurrency = static_cast<double>(level.concurrency);
    points.push_back(std::move(point));
  }
  const auto best = analysis::frontier(points, analysis::axis(Metric::kInteractivity),
                                       analysis::axis(Metric::kTokS));
  std::vector<Level> result;
  for (const Level& level : levels)
    for (const analysis::Point& point : best)
      if (point.concurrency == static_cast<double>(level.concurrency)) {
        result.push_back(level);
        break;
      }
  return result;
}

std::optional<Addition> slo_crossing(const std::vector<Level>& levels, const RefineSpec& spec) {
  for (size_t i = 1; i < levels.size(); ++i) {
    if (!levels[i - 1].meets_slo || !levels[i].meets_slo) continue;
    if (!*levels[i - 1].meets_slo || *levels[i].meets_slo) continue;
    if (const auto middle =
            between(levels[i - 1].concurrency, levels[i].concurrency, spec.smallest_gap))
      return Addition{*middle, fmt::format("the service level is met at {} and not at {}",
                                           levels[i - 1].concurrency, levels[i].concurrency)};
  }
  return std::nullopt;
}

std::optional<Addition> bend(const std::vector<Level>& all, const RefineSpec& spec) {
  const std::vector<Level> levels = own_frontier(all);
  if (levels.size() < 3) return std::nullopt;
  double x_low = levels[0].x, x_high = x_low, y_low = levels[0].y, y_high = y_low;
  for (const Level& level : levels) {
    x_low = std::min(x_low, level.x);
    x_high = std::max(x_high, level.x);
    y_low = std::min(y_low, level.y);
    y_high = std::max(y_high, level.y);
  }
  if (x_high <= x_low || y_high <= y_low) return std::nullopt;
  const double x_span = x_high - x_low, y_span = y_high - y_low;
  const auto gap = [&](const Level& a, const Level& b) {
    return std::hypot((a.x - b.x) / x_span, (a.y - b.y) / y_span);
  };
  // A neighbour measured off the frontier lies between these two: the gap is not empty.
  const auto open = [&](int64_t low, int64_t high) {
    return std::none_of(all.begin(), all.end(), [&](const Level& level) {
      return level.concurrency > low && level.concurrency < high;
    });
  };
  double worst = spec.bend;
  std::optional<Addition> best;
  for (size_t i = 1; i + 1 < levels.size(); ++i) {
    const Level &a = levels[i - 1], &p = levels[i], &b = levels[i + 1];
    const double chord = gap(a, b);
    if (chord <= 0) continue;
    const double cross = std::abs((b.x - a.x) / x_span * (p.y - a.y) / y_span -
                                  (b.y - a.y) / y_span * (p.x - a.x) / x_span);
    const double deviation = cross / chord / chord;  // distance from the chord ÷ its length
    if (deviation <= worst) continue;
    const bool left_first = gap(a, p) >= gap(p, b);
    for (const bool left : {left_first, !left_first}) {
      const int64_t low = left ? a.concurrency : p.concurrency;
      const int64_t high = left ? p.concurrency : b.concurrency;
      const auto middle = between(low, high, spec.smallest_gap);
      if (!middle || !open(low, high)) continue;
      worst = deviation;
      best = Addition{*middle,
                      fmt::format("the frontier bends at {}: {:.0f} % of the chord from {} "
                                  "to {}",
                                  p.concurrency, deviation * 100, a.concurrency, b.concurrency)};
      break;
    }
  }
  return best;
}

}  // namespace

std::optional<Addition> next_level(std::span<const Level> levels, const RefineSpec& spec) {
  const std::vector<Level> ordered = sorted(levels);
  if (auto crossing = slo_crossing(ordered, spec)) return crossing;
  return bend(ordered, spec);
}

std::optional<std::string> dominated(std::span<const Level> levels,
                                     std::span<const analysis::Point> others,
                                     const RefineSpec& spec) {
  const std::vector<Level> ordered = sorted(levels);
  if (ordered.size() < 2) return std::nullopt;
  const auto best = analysis::frontier(others, analysis::axis(Metric::kInteractivity),
                                       analysis::axis(Metric::kTokS));
  std::string by;
  for (size_t i = ordered.size() - 2; i < ordered.size(); ++i) {
    const Level& mine = ordered[i];
    const auto beats = [&](const analysis::Point& point) {
      return point.x >= mine.x * (1 + spec.margin) && point.y >= mine.y * (1 + spec.margin);
    };
    const auto at = std::find_if(best.begin(), best.end(), beats);
    if (at == best.end()) return std::nullopt;
    by = at->recipe;
  }
  return fmt::format("worse than {} by more than {:.0f} % on both axes at {} and {} streams",
                     by.empty() ? "another configuration" : by, spec.margin * 100,
                     ordered[ordered.size() - 2].concurrency, ordered.back().concurrency);
}

}  // namespace headroom::sweep
