// Holds the published lower bounds of Kimi K2.5 decode, and the rules a bound must obey.
#include "limit/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "limit/catalog.h"

namespace headroom::limit {
namespace {

constexpr double kTolerance = 0.03;

Curve curve(const std::string& hardware, Question question, std::vector<double> concurrencies,
            const std::string& shape = "kimi-k2.5") {
  auto found = find_shape(shape);
  auto device = find_hardware(hardware);
  EXPECT_TRUE(found && device);
  auto result = bound(*found, *device, question, concurrencies);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Curve{};
}

Question k25(KvRow kv, int tp = 8) {
  Question q;
  q.precision = Precision::kMxfp4;
  q.kv = kv;
  q.layout.tp = tp;
  q.context = 8192;
  return q;
}

struct Row {
  double concurrency, h200_bf16, h200_fp8, mi355x_bf16, mi355x_tensor, experts_gb, total_bf16_gb;
};
// One TP8 rank, 8192 tokens of context, MXFP4 checkpoint.
constexpr Row kDecode[] = {
    {4, 2.44, 2.24, 1.47, 1.32, 5.44, 11.73},      {8, 3.97, 3.55, 2.38, 2.09, 10.44, 19.03},
    {16, 6.76, 5.94, 4.06, 3.48, 19.27, 32.46},    {32, 11.55, 9.90, 6.93, 5.78, 33.03, 55.43},
    {64, 18.89, 15.59, 11.34, 9.03, 49.87, 90.69},
};

TEST(Bound, ReproducesTheDecodeTable) {
  for (const Row& row : kDecode) {
    const auto at = [&](const char* hardware, KvRow kv) {
      return curve(hardware, k25(kv), {row.concurrency}).points.at(0);
    };
    const Point h200 = at("h200", KvRow::kBf16);
    EXPECT_NEAR(h200.tpot_ms / row.h200_bf16, 1, kTolerance) << row.concurrency;
    EXPECT_NEAR(h200.bytes.experts / 1e9 / row.experts_gb, 1, 0.005) << row.concurrency;
    EXPECT_NEAR(h200.bytes.total() / 1e9 / row.total_bf16_gb, 1, 0.005) << row.concurrency;
    EXPECT_STREQ(h200.bound, "memory");
    EXPECT_NEAR(at("h200", KvRow::kFp8).tpot_ms / row.h200_fp8, 1, kTolerance) << row.concurrency;
    EXPECT_NEAR(at("mi355x", KvRow::kBf16).tpot_ms / row.mi355x_bf16, 1, kTolerance);
    EXPECT_NEAR(at("mi355x", KvRow::kFp8Tensor).tpot_ms / row.mi355x_tensor, 1, kTolerance);
  }
  // 1.19 ms of arithmetic at 64, of which 0.56 attend to the cache at 8 heads a rank.
  const Point p = curve("h200", k25(KvRow::kBf16), {64}).points.at(0);
  EXPECT_NEAR(p.compute_ms, 1.20, 0.03);
  EXPECT_NEAR(p.flops.kv / 989e12 * 1e3, 0.56, 0.01);
}

struct PrefillRow {
  double concurrency, prefill_ms, h200_bf16, h200_fp8, mi355x_bf16, mi355x_tensor;
};
// The same with 8192 tokens in and 1024 out; the printed values have two digits.
constexpr PrefillRow kServing[] = {
    {4, 0.35, 2.8, 2.6, 1.6, 1.4},      {8, 0.70, 4.7, 4.3, 2.6, 2.3},
    {16, 1.40, 8.3, 7.4, 4.5, 3.8},     {32, 2.80, 14.6, 12.8, 7.7, 6.5},
    {64, 5.60, 25.0, 21.5, 12.9, 10.5},
};

TEST(Bound, ReproducesTheServingTable) {
  for (const PrefillRow& row : kServing) {
    const auto at = [&](const char* hardware, KvRow kv) {
      Question q = k25(kv);
      q.lengths = Lengths{8192, 1024};
      return curve(hardware, q, {row.concurrency}).points.at(0);
    };
    const Point p = at("h200", KvRow::kBf16);
    EXPECT_EQ(p.context, 8704);
    EXPECT_NEAR(*p.prefill_ms / row.prefill_ms, 1, kTolerance) << row.concurrency;
    EXPECT_NEAR(p.tpot_ms, row.h200_bf16, kTolerance * row.h200_bf16);
    EXPECT_NEAR(at("h200", KvRow::kFp8).tpot_ms, row.h200_fp8, kTolerance * row.h200_fp8);
    // Printed with two digits: half a unit of the last place on top.
    const double rounding = 0.05;
    EXPECT_NEAR(at("mi355x", KvRow::kBf16).tpot_ms, row.mi355x_bf16,
                kTolerance * row.mi355x_bf16 + rounding);
    EXPECT_NEAR(at("mi355x", KvRow::kFp8Tensor).tpot_ms, row.mi355x_tensor,
                kTolerance * row.mi355x_tensor + rounding);
  }
}

TEST(Bound, ReproducesTheVariants) {
  const std::vector<double> at = {4, 8, 16, 32, 64};
  const double int4[] = {2.63, 4.21, 7.12, 12.07, 19.62};
  Question q = k25(KvRow::kBf16);
  q.precision = Precision::kInt4;
  const Curve native = curve("h200", q, at);
  for (size_t i = 0; i < at.size(); ++i)
    EXPECT_NEAR(native.points.at(i).tpot_ms / int4[i], 1, kTolerance) << at[i];
  const Curve tp4 = curve("h200", k25(KvRow::kBf16, 4), {4, 64});
  EXPECT_NEAR(tp4.points.at(0).tpot_ms / 3.95, 1, kTolerance);
  EXPECT_NEAR(tp4.points.at(1).tpot_ms / 29.7, 1, kTolerance);
  // Attention data-parallel over 8, experts over 8.
  const double parallel[] = {4.19, 5.29, 7.25, 10.36, 14.35};
  q = k25(KvRow::kBf16, 1);
  q.layout.ep = 8;
  const Curve dp = curve("h200", q, at);
  for (size_t i = 0; i < at.size(); ++i)
    EXPECT_NEAR(dp.points.at(i).tpot_ms / parallel[i], 1, kTolerance) << at[i];
}

TEST(Bound, ReproducesTheBoundOfDeepSeekR1) {
  const double published[] = {3.17, 5.43, 9.36, 15.36, 23.13};
  const std::vector<double> at = {4, 8, 16, 32, 64};
  Question q = k25(KvRow::kBf16);
  q.precision = Precision::kFp8;
  const Curve r1 = curve("h200", q, at, "deepseek-v3");
  for (size_t i = 0; i < at.size(); ++i)
    EXPECT_NEAR(r1.points.at(i).tpot_ms / published[i], 1, 0.01) << at[i];
}

TEST(Bound, ThroughputAndLatencyAreLimitsOfTheirOwn) {
  Question q = k25(KvRow::kFp8);
  q.lengths = Lengths{8192, 1024};
  const Curve serving = curve("h200", q, {1, 4, 16, 64, 256});
  double last = 0;
  for (const Point& p : serving.points) {
    EXPECT_LE(p.decode_ms, p.tpot_ms);
    EXPECT_LE(p.step_ms, p.tpot_ms);  // perfect overlap is never slower than one after the other
    EXPECT_GE(p.decode_ms, p.memory_ms);
    EXPECT_GE(p.output_tok_s_gpu, last) << "more requests cannot lower the bound";
    last = p.output_tok_s_gpu;
    EXPECT_NEAR(*p.total_tok_s_gpu / p.output_tok_s_gpu, 9, 1e-9);
  }
  EXPECT_STREQ(serving.points.back().bound, "memory");
  q.lengths = Lengths{8192, 64};
  EXPECT_STREQ(curve("h200", q, {64}).points.at(0).bound, "compute");
}

TEST(Bound, LinksCountOnlyBetweenDevices) {
  Question q;
  q.context = 1024;
  EXPECT_FALSE(curve("h200", q, {8}, "moonlight").points.at(0).link_ms);
  q = k25(KvRow::kBf16);
  const Point p = curve("h200", q, {64}).points.at(0);
  // Two all-reduces a layer of 64 BF16 rows of 7168, summed in the switch.
  EXPECT_NEAR(*p.link_ms, 1e3 * 61 * 2 * 64 * 7168 * 2 / 450e9, 1e-9);
  // A full mesh sends 2 (n-1)/n of them instead.
  EXPECT_NEAR(*curve("mi355x", q, {64}).points.at(0).link_ms,
              1e3 * 1.75 * 61 * 2 * 64 * 7168 * 2 / 537.6e9, 1e-9);
  q = k25(KvRow::kFp8, 1);
  q.layout.ep = 64;
  EXPECT_GT(*curve("gb200-nvl72", q, {4096}).points.at(0).link_ms, 0);
}

TEST(Bound, CachesServeWhatFitsThem) {
  Hardware cpu;
  cpu.figure(Quantity::kMemoryBandwidth, Basis::kMeasured) = Figure{50e9, "test", "today", ""};
  cpu.caches = {{"L2", 2e6, 400e9}, {"L3", 32e6, 150e9}};
  EXPECT_DOUBLE_EQ(read_seconds(cpu, Basis::kMeasured, 1e6), 1e6 / 400e9);
  EXPECT_DOUBLE_EQ(read_seconds(cpu, Basis::kMeasured, 20e6), 18e6 / 150e9);
  EXPECT_DOUBLE_EQ(read_seconds(cpu, Basis::kMeasured, 134e6), 100e6 / 50e9);
}

TEST(Bound, RefusesWhatMakesNoSense) {
  const Shape shape = *find_shape("kimi-k2.5");
  const Hardware h200 = *find_hardware("h200");
  const auto message = [&](Question q, std::vector<double> at) {
    const auto result = bound(shape, h200, q, at);
    return result ? std::string("accepted") : result.error().message;
  };
  Question q = k25(KvRow::kBf16);
  EXPECT_EQ(message(q, {0.5}), "concurrency 0.5 is not 1 to 1000000000");
  q.layout.tp = 3;
  EXPECT_EQ(message(q, {4}), "tp=3: does not divide the 64 heads of Kimi K2.5 (text)");
  q.layout = {8, 5};
  EXPECT_THAT(message(q, {4}), testing::HasSubstr("the smaller divides the larger"));
  q.layout = {16, 1};
  EXPECT_EQ(message(q, {4}), "16 devices: the link of h200 joins 8");
  q = k25(KvRow::kBf16);
  q.context = 0;
  EXPECT_EQ(message(q, {4}), "context 0 is not 1 to 1000000000 tokens");
}

TEST(Bound, SaysWhenItDoesNotFit) {
  Question q = k25(KvRow::kBf16, 1);
  const Curve one = curve("h200", q, {4});
  EXPECT_THAT(one.notes, testing::Contains(testing::HasSubstr("do not fit its 141 GB")));
  const Curve eight = curve("h200", k25(KvRow::kBf16), {4, 256});
  EXPECT_THAT(eight.notes, testing::Contains(testing::HasSubstr("from concurrency 256 on")));
}

TEST(Bound, ABf16WeightIsBoundByTheBestRateThatTakesIt) {
  const auto shape = find_shape("deepseek-v2-lite");
  ASSERT_TRUE(shape);
  Hardware machine;
  machine.name = "a CPU";
  machine.figure(Quantity::kMemoryBandwidth, Basis::kMeasured) = Figure{1e15, "s", "d", ""};
  machine.figure(Quantity::kFlopsFp32, Basis::kMeasured) = Figure{1e11, "s", "d", ""};
  const auto compute_ms = [&](KvRow kv, std::optional<double> bf16) {
    auto& figure = machine.figure(Quantity::kFlopsBf16, Basis::kMeasured);
    figure = bf16 ? std::optional(Figure{*bf16, "s", "d", ""}) : std::nullopt;
    Question q;
    q.basis = Basis::kMeasured;
    q.kv = kv;
    q.context = 2048;
    return bound(*shape, machine, q, {4})->points.at(0).compute_ms;
  };
  const double fp32 = compute_ms(KvRow::kBf16, std::nullopt);
  EXPECT_DOUBLE_EQ(compute_ms(KvRow::kBf16, 2e11), fp32 / 2);
  EXPECT_DOUBLE_EQ(compute_ms(KvRow::kFp8, 2e11), fp32 / 2);  // widened
  EXPECT_DOUBLE_EQ(compute_ms(KvRow::kBf16, 5e10), fp32);     // slower dot products: fp32 wins
  const double attention = compute_ms(KvRow::kFp32, 2e11) - fp32 / 2;
  EXPECT_GT(attention, 0);  // fp32 rows are attended to in fp32
}

TEST(Bound, FiguresAreTold) {
  const Curve c = curve("h200", k25(KvRow::kBf16), {4});
  EXPECT_THAT(c.notes, testing::Contains(testing::StartsWith("memory_bandwidth 4.8 TB/s: ")));
  EXPECT_THAT(c.notes, testing::Contains(testing::StartsWith("memory_capacity 141 GB: ")));
  EXPECT_THAT(c.notes, testing::Contains(testing::StartsWith("flops_bf16 989 Tflop/s: ")));
}

}  // namespace
}  // namespace headroom::limit
