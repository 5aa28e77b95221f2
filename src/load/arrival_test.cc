// Deadlines: rates and dispersion as asked, ramps, files, the same again for the same seed.
#include "load/arrival.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/rng.h"
#include "load/schedule_file.h"

namespace headroom::load {
namespace {

using testing::HasSubstr;

std::vector<double> seconds_of(const ArrivalOptions& options, size_t count) {
  auto schedule = make_schedule(options);
  EXPECT_TRUE(schedule) << schedule.error().message;
  std::vector<double> times;
  while (times.size() < count) {
    const auto at = (*schedule)->next();
    if (!at) break;
    EXPECT_GE(*at, times.empty() ? 0 : static_cast<int64_t>(times.back() * 1e9) - 1);
    times.push_back(static_cast<double>(*at) * 1e-9);
  }
  return times;
}

ArrivalOptions arrival(ArrivalKind kind, double rate, double burstiness = 1, uint64_t seed = 7) {
  ArrivalOptions options;
  options.kind = kind;
  options.rate = rate;
  options.burstiness = burstiness;
  options.seed = seed;
  return options;
}

struct Moments {
  double mean = 0, variation = 0;  // of the gaps: standard deviation ÷ mean
};
Moments gaps_of(const std::vector<double>& times) {
  double sum = 0, squares = 0, last = 0;
  for (const double at : times) {
    sum += at - last;
    squares += (at - last) * (at - last);
    last = at;
  }
  const auto n = static_cast<double>(times.size());
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean) / mean};
}

TEST(Arrival, constant_gaps_are_equal_and_never_drift) {
  const auto times = seconds_of(arrival(ArrivalKind::kConstant, 300), 100'000);
  ASSERT_EQ(times.size(), 100'000u);
  EXPECT_EQ(times[0], 0);
  for (size_t i = 0; i < times.size(); ++i)
    ASSERT_NEAR(times[i], static_cast<double>(i) / 300, 2e-9);
}

TEST(Arrival, poisson_and_gamma_have_their_rate_and_dispersion) {
  // Gaps are Gamma(b, 1 / (rate b)): mean 1 / rate, variation 1 / sqrt(b). 200,000 gaps: the mean's
  // standard error is variation / 447.
  constexpr size_t kCount = 200'000;
  for (const double rate : {0.5, 80.0})
    for (const double burstiness : {0.25, 0.5, 1.0, 2.0, 9.0}) {
      const auto times = seconds_of(arrival(ArrivalKind::kGamma, rate, burstiness), kCount);
      const Moments m = gaps_of(times);
      const double variation = 1 / std::sqrt(burstiness);
      EXPECT_NEAR(m.mean * rate, 1, 4 * variation / 447) << burstiness;
      EXPECT_NEAR(m.variation, variation, 0.03 * variation) << burstiness;
    }
  const Moments poisson = gaps_of(seconds_of(arrival(ArrivalKind::kPoisson, 20), kCount));
  EXPECT_NEAR(poisson.mean * 20, 1, 0.01);
  EXPECT_NEAR(poisson.variation, 1, 0.02);
}

TEST(Arrival, poisson_counts_are_dispersed_like_their_mean) {
  // Index of dispersion of counts per second: 1 for Poisson, 0 for constant.
  const auto dispersion = [](ArrivalKind kind, double burstiness) {
    const auto times = seconds_of(arrival(kind, 10, burstiness), 100'000);
    std::vector<double> counts(static_cast<size_t>(times.back()), 0);
    for (const double at : times)
      if (static_cast<size_t>(at) < counts.size()) ++counts[static_cast<size_t>(at)];
    double sum = 0, squares = 0;
    for (const double c : counts) {
      sum += c;
      squares += c * c;
    }
    const auto n = static_cast<double>(counts.size());
    return (squares / n - sum / n * sum / n) / (sum / n);
  };
  EXPECT_NEAR(dispersion(ArrivalKind::kPoisson, 1), 1, 0.06);
  EXPECT_LT(dispersion(ArrivalKind::kConstant, 1), 0.02);
  EXPECT_GT(dispersion(ArrivalKind::kGamma, 0.25), 2);
  EXPECT_LT(dispersion(ArrivalKind::kGamma, 8), 0.4);
}

TEST(Arrival, the_seed_decides_and_nothing_else) {
  for (const ArrivalKind kind : {ArrivalKind::kPoisson, ArrivalKind::kGamma}) {
    const auto a = seconds_of(arrival(kind, 3, 0.7, 1), 1000);
    EXPECT_EQ(a, seconds_of(arrival(kind, 3, 0.7, 1), 1000));
    EXPECT_NE(a, seconds_of(arrival(kind, 3, 0.7, 2), 1000));
  }
}

TEST(Arrival, ramps_reach_their_rates_in_time) {
  for (const ArrivalKind kind :
       {ArrivalKind::kConstant, ArrivalKind::kPoisson, ArrivalKind::kGamma})
    for (const RampShape shape : {RampShape::kLinear, RampShape::kExponential}) {
      ArrivalOptions o = arrival(kind, 100, 2);
      o.end_rate = 1600;
      o.ramp_s = 40;
      o.ramp_shape = shape;
      const auto times = seconds_of(o, 120'000);
      const auto rate_about = [&](double at) {  // over 2 s
        return static_cast<double>(std::ranges::count_if(
                   times, [&](double t) { return t >= at - 1 && t < at + 1; })) /
               2;
      };
      const auto expected = [&](double at) {
        if (at >= 40) return 1600.0;
        return shape == RampShape::kLinear ? 100 + 1500 * at / 40 : 100 * std::pow(16, at / 40);
      };
      for (const double at : {2.0, 10.0, 20.0, 30.0, 38.0, 45.0, 60.0})
        EXPECT_NEAR(rate_about(at) / expected(at), 1, 0.05 + 4 / std::sqrt(2 * expected(at))) << at;
    }
  ArrivalOptions down = arrival(ArrivalKind::kConstant, 100);
  down.end_rate = 10;
  down.ramp_s = 10;
  EXPECT_NEAR(seconds_of(down, 551).back(), 10, 0.2);  // 550 requests in the ramp
  ArrivalOptions from_nothing = arrival(ArrivalKind::kConstant, 0);
  from_nothing.end_rate = 10;
  from_nothing.ramp_s = 10;
  EXPECT_NEAR(seconds_of(from_nothing, 51).back(), 10, 0.2);
}

TEST(Arrival, an_infinite_rate_is_a_burst) {
  const auto o = arrival(ArrivalKind::kConstant, std::numeric_limits<double>::infinity());
  EXPECT_EQ(seconds_of(o, 3), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(arrival_name(o), "burst");
}

TEST(Arrival, words_for_records) {
  ArrivalOptions o = arrival(ArrivalKind::kGamma, 1, 0.5);
  o.end_rate = 20;
  o.ramp_s = 60;
  EXPECT_EQ(arrival_name(o), "gamma");
  EXPECT_EQ(arrival_detail(o), "burstiness 0.5, rate 1 to 20 in 60 s (linear)");
  EXPECT_EQ(arrival_detail(arrival(ArrivalKind::kPoisson, 1)), "");
}

std::string refused(const ArrivalOptions& options) {
  const auto schedule = make_schedule(options);
  return schedule ? "" : schedule.error().message;
}

TEST(Arrival, what_cannot_be_is_refused_by_name) {
  for (const double rate : {0.0, -1.0, 1e9, std::nan("")})
    EXPECT_THAT(refused(arrival(ArrivalKind::kPoisson, rate)), HasSubstr("rate"));
  for (const double b : {0.0, -1.0, std::nan("")})
    EXPECT_THAT(refused(arrival(ArrivalKind::kGamma, 1, b)), HasSubstr("burstiness"));
  ArrivalOptions o = arrival(ArrivalKind::kConstant, 1);
  o.ramp_s = 3;
  EXPECT_THAT(refused(o), HasSubstr("ramp 3 s: a ramp needs an end rate"));
  o.end_rate = 0;
  EXPECT_THAT(refused(o), HasSubstr("end rate 0"));
  EXPECT_FALSE(parse_arrival_kind("poison"));
}

std::string file_with(const char* name, std::string_view text) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path) << text;
  return path.string();
}

TEST(Arrival, schedules_from_files) {
  ArrivalOptions o;
  o.kind = ArrivalKind::kSchedule;
  o.file = file_with("offsets.txt",
                     "\xEF\xBB\xBF"
                     "2.5\r\n\n  1 \n4e0\n");
  EXPECT_EQ(seconds_of(o, 9), (std::vector<double>{0, 1.5, 3}));
  o.time_scale = 0.5;
  EXPECT_EQ(seconds_of(o, 9), (std::vector<double>{0, 0.75, 1.5}));
  o.time_scale = 1;
  o.file = file_with("offsets.jsonl", "{\"timestamp\": 500}\n{\"offset\": 0.25, \"x\": 1}\n");
  EXPECT_EQ(seconds_of(o, 9), (std::vector<double>{0, 0.25}));
  o.file = file_with("bad.txt", "1\n\nsoon\n");
  EXPECT_THAT(refused(o), HasSubstr("bad.txt:3: soon is not a number of seconds"));
  o.file = file_with("bad.txt", "1\n-1\n");
  EXPECT_THAT(refused(o), HasSubstr("bad.txt:2: -1"));
  o.file = file_with("bad.txt", "\n");
  EXPECT_THAT(refused(o), HasSubstr("bad.txt: has no offset"));
  o.file = "nowhere.txt";
  EXPECT_THAT(refused(o), HasSubstr("nowhere.txt"));
  o.time_scale = 0;
  EXPECT_THAT(refused(o), HasSubstr("time scale 0"));
}

TEST(Arrival, mutated_schedules_are_read_or_refused) {
  const std::string text = "0\n1.5\n{\"timestamp\": 27482}\n{\"offset\": 3.25}\n1e3\n";
  ASSERT_TRUE(parse_schedule("f", text));
  base::Rng rng(5);
  for (int i = 0; i < 5000; ++i) {
    std::string bad = text;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n)
      bad[rng.below(bad.size())] = static_cast<char>(rng.below(256));
    bad.resize(rng.below(bad.size() + 1));
    const auto read = parse_schedule("f", bad);
    if (!read) {
      EXPECT_THAT(read.error().message, HasSubstr("f:"));
      continue;
    }
    for (const double at : *read) EXPECT_TRUE(std::isfinite(at) && at >= 0) << bad;
  }
}

}  // namespace
}  // namespace headroom::load
