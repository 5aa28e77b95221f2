// Drawing repeats again, and what the draws say.
#include "analysis/bootstrap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/compare_parts.h"

namespace headroom::analysis {
namespace {

// The 97.5 % point of Student's t with 1 to 30 degrees of freedom.
constexpr std::array<double, 30> kStudent = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

double student(size_t freedom) {
  if (freedom <= kStudent.size()) return kStudent[freedom - 1];
  return 1.95996 + 2.4 / static_cast<double>(freedom);  // within 0.001 of the true one
}

double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

/// Fewest repeats of the points behind two readings.
class Repeats {
 public:
  Repeats(const SeriesSet& a, const SeriesSet& b) {
    for (const SeriesSet* set : {&a, &b})
      for (const Point& point : set->points())
        for (const std::string& id : point.evidence) of_[id] = point.samples.size();
  }
  size_t fewest(const Reading& a, const Reading& b) const {
    size_t least = SIZE_MAX;
    for (const Reading* reading : {&a, &b})
      for (const std::string& id : reading->evidence)
        if (const auto at = of_.find(id); at != of_.end()) least = std::min(least, at->second);
    return least == SIZE_MAX ? 0 : least;
  }
  bool any() const {
    return std::ranges::any_of(of_, [](const auto& entry) { return entry.second > 1; });
  }

 private:
  std::map<std::string, size_t> of_;
};

/// The mean of the draws' logarithms and `distance` times their standard deviation around it.
std::optional<Interval> around_mean(const std::vector<double>& draws, double distance,
                                    size_t repeats) {
  const auto count = static_cast<double>(draws.size());
  double mean = 0, variance = 0;
  for (const double draw : draws) {
    if (!(draw > 0)) return std::nullopt;
    mean += std::log(draw) / count;
  }
  for (const double draw : draws) variance += std::pow(std::log(draw) - mean, 2) / count;
  const double reach = distance * std::sqrt(variance);
  return Interval{std::exp(mean - reach), std::exp(mean + reach), repeats};
}

}  // namespace

SeriesSet resample(const SeriesSet& set, base::Rng& rng) {
  SeriesSet drawn = set;
  for (RecipeSeries& series : drawn.series)
    for (Point& point : series.points) {
      const size_t n = point.samples.size();
      if (n < 2) continue;
      double x = 0, y = 0;
      for (size_t i = 0; i < n; ++i) {
        const auto& [sample_x, sample_y] = point.samples[rng.below(n)];
        x += sample_x;
        y += sample_y;
      }
      point.x = x / static_cast<double>(n);
      point.y = y / static_cast<double>(n);
    }
  return drawn;
}

std::optional<Interval> confidence_interval(std::vector<double> draws, size_t repeats) {
  if (repeats < 2 || draws.empty()) return std::nullopt;
  const auto n = static_cast<double>(repeats);
  const double distance = std::sqrt(n / (n - 1)) * student(repeats - 1);  // in spreads of the draws
  if (repeats < kFewestForPercentiles) return around_mean(draws, distance, repeats);
  const double tail = 0.5 * std::erfc(distance / std::sqrt(2.0));  // of the normal distribution
  std::ranges::sort(draws);
  return Interval{quantile(draws, tail), quantile(draws, 1 - tail), repeats};
}

void add_intervals(Comparison& c, const SeriesSet& a, const SeriesSet& b) {
  const Repeats repeats(a, b);
  if (!repeats.any()) return;
  Comparison blank;
  blank.options = c.options;
  blank.level = c.level;
  blank.value = c.value;
  const size_t at_levels = c.iso_throughput.size(), at_values = c.iso_interactivity.size();
  std::map<double, std::vector<double>> same;
  std::vector<std::vector<double>> levels(at_levels), values(at_values);
  std::vector<double> peaks;
  base::Rng rng(20260326);  // fixed: the same records give the same intervals
  for (size_t draw = 0; draw < kBootstrapDraws; ++draw) {
    Comparison drawn = blank;
    const SeriesSet again_a = resample(a, rng);
    const SeriesSet again_b = resample(b, rng);
    add_rows(drawn, again_a, again_b);
    for (const auto& row : drawn.same_concurrency)
      if (row.gain) same[row.concurrency].push_back(*row.gain);
    for (size_t i = 0; i < at_levels; ++i)
      if (const auto gain = drawn.iso_throughput[i].gain) levels[i].push_back(*gain);
    for (size_t i = 0; i < at_values; ++i)
      if (const auto gain = drawn.iso_interactivity[i].gain) values[i].push_back(*gain);
    if (drawn.peak_gain) peaks.push_back(*drawn.peak_gain);
  }
  // A level that some draws do not reach has no honest interval.
  const auto interval = [&](const auto& row, std::vector<double>& draws) {
    if (!row.gain || draws.size() < kBootstrapDraws) return std::optional<Interval>();
    return confidence_interval(std::move(draws), repeats.fewest(row.a, row.b));
  };
  for (auto& row : c.same_concurrency) row.interval = interval(row, same[row.concurrency]);
  for (size_t i = 0; i < at_levels; ++i)
    c.iso_throughput[i].interval = interval(c.iso_throughput[i], levels[i]);
  for (size_t i = 0; i < at_values; ++i)
    c.iso_interactivity[i].interval = interval(c.iso_interactivity[i], values[i]);
  if (c.a.peak && c.b.peak)
    c.peak_interval = confidence_interval(
        std::move(peaks), std::min(c.a.peak->samples.size(), c.b.peak->samples.size()));
}

}  // namespace headroom::analysis
