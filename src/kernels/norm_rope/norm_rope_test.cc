// Tests of rms_norm, rope_query and kv_write, and of the row formats of the cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/norm_rope/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

constexpr float kEps = 1e-6f;

struct Tables {
  std::vector<float> cos, sin;
  Tables(int positions, int rope) {
    for (int p = 0; p < positions; ++p)
      for (int i = 0; i < rope / 2; ++i) {
        const double angle = p * std::pow(10000.0, -2.0 * i / rope);
        cos.push_back(static_cast<float>(std::cos(angle)));
        sin.push_back(static_cast<float>(std::sin(angle)));
      }
  }
  RopeTables view() const { return {cos.data(), sin.data()}; }
};

std::vector<double> exact_norm(const float* x, const tensor::bf16* weight, int width) {
  double squares = 0;
  for (int i = 0; i < width; ++i) squares += double{x[i]} * x[i];
  std::vector<double> y(static_cast<size_t>(width));
  for (int i = 0; i < width; ++i)
    y[static_cast<size_t>(i)] =
        x[i] / std::sqrt(squares / width + kEps) * tensor::bf16_to_float(weight[i]);
  return y;
}

std::vector<double> exact_rotation(const float* x, const Tables& tables, int position, int rope) {
  std::vector<double> y(static_cast<size_t>(rope));
  for (int i = 0; i < rope / 2; ++i) {
    const auto at = static_cast<size_t>(position * (rope / 2) + i);
    const double c = tables.cos[at], s = tables.sin[at], a = x[2 * i], b = x[2 * i + 1];
    y[static_cast<size_t>(2 * i)] = a * c - b * s;
    y[static_cast<size_t>(2 * i + 1)] = a * s + b * c;
  }
  return y;
}

// A sum of `width` squares (all positive) has relative error ≤ width·u; the square root halves it;
// quotient, root, products and eps add less than 8 roundings.
double norm_tolerance(double exact, int width) {
  return std::abs(exact) * (0.5 * width + 8) * test::kUnit;
}

TEST(RmsNorm, MatchesFloat64InPlaceAndAlone) {
  base::ThreadPool pool(2), five(5);
  for (const int width : {1, 7, 16, 40, 512, 1536, 2049}) {
    const auto x = test::random_floats(static_cast<size_t>(width) * 40, 1);
    const auto weight = test::random_bf16(static_cast<size_t>(width), 2);
    const RmsNormDesc desc{width};
    for (const RmsNormKernel& kernel : rms_norm_kernels()) {
      if (kernel.refuses(desc)) continue;
      std::vector<float> y = x;
      RmsNormArgs args{y.data(), width, weight.data(), y.data(), width, 40, kEps};
      kernel.run(desc, args, pool);
      for (int row = 0; row < 40; ++row) {
        const auto exact = exact_norm(x.data() + row * width, weight.data(), width);
        for (int i = 0; i < width; ++i)
          ASSERT_NEAR(y[static_cast<size_t>(row * width + i)], exact[static_cast<size_t>(i)],
                      norm_tolerance(exact[static_cast<size_t>(i)], width))
              << kernel.name << " width " << width;
        std::vector<float> alone(static_cast<size_t>(width));
        RmsNormArgs one{x.data() + row * width, width, weight.data(), alone.data(), width, 1, kEps};
        kernel.run(desc, one, five);
        EXPECT_TRUE(test::same_bits(alone.data(), y.data() + row * width, alone.size()));
      }
    }
  }
}

TEST(RopeQuery, RotatesPairsAndLeavesTheRest) {
  base::ThreadPool pool(2);
  const std::vector<int32_t> positions{0, 1, 99, 17, 42};
  for (const auto& [nope, rope] : {std::pair{128, 64}, {16, 16}, {5, 6}})
    for (const int heads : {1, 3, 8, 12}) {
      const Tables tables(100, rope);
      const int width = nope + rope;
      const auto q = test::random_floats(positions.size() * static_cast<size_t>(heads * width), 1);
      const RopeQueryDesc desc{heads, nope, rope};
      for (const RopeQueryKernel& kernel : rope_query_kernels()) {
        if (kernel.refuses(desc)) continue;
        std::vector<float> y = q;
        RopeQueryArgs args{y.data(), positions.data(), tables.view(),
                           static_cast<int64_t>(positions.size())};
        kernel.run(desc, args, pool);
        for (size_t row = 0; row < positions.size(); ++row)
          for (int head = 0; head < heads; ++head) {
            const auto at = (row * static_cast<size_t>(heads) + static_cast<size_t>(head)) *
                            static_cast<size_t>(width);
            ASSERT_TRUE(test::same_bits(&y[at], &q[at], static_cast<size_t>(nope)));
            const float* x = &q[at] + nope;
            const auto exact = exact_rotation(x, tables, positions[row], rope);
            for (int i = 0; i < rope; ++i)  // two products and a sum of values up to |x|√2
              ASSERT_NEAR(y[at + static_cast<size_t>(nope + i)], exact[static_cast<size_t>(i)],
                          3 * test::kUnit * (std::abs(x[i & ~1]) + std::abs(x[i | 1])))
                  << kernel.name << " heads " << heads;
          }
      }
    }
}

struct WriteCase {
  KvWriteDesc desc;
  std::vector<float> kv_a;
  std::vector<tensor::bf16> weight;
  Tables tables;
  static constexpr int kRows = 70, kPadding = 5;
  WriteCase(KvType kv, int page_size, int latent = 512, int rope = 64)
      : desc{latent, rope, kv, page_size},
        kv_a(test::random_floats(static_cast<size_t>(kRows * (latent + rope + kPadding)), 1)),
        weight(test::random_bf16(static_cast<size_t>(latent), 2)),
        tables(200, rope) {}
  int stride() const { return desc.latent + desc.rope + kPadding; }
};

/// A stored value is the nearest of its format to one within `slack` of the exact value.
void expect_stored(KvType kv, double stored, double exact, double scale, double slack) {
  double half_step = 0;
  if (kv == KvType::kBf16) half_step = std::abs(exact) * 0x1.0p-8;
  if (kv == KvType::kFp8)
    half_step = scale * std::max(0x1.0p-10, std::abs(exact) / scale * 0x1.0p-4);
  ASSERT_NEAR(stored, exact, half_step * 1.0001 + slack);
}

TEST(KvWrite, NormsRotatesAndEncodes) {
  base::ThreadPool pool(2);
  for (const auto& [latent, rope] : {std::pair{512, 64}, {128, 16}, {128, 6}})
    for (const KvType kv : {KvType::kFp32, KvType::kBf16, KvType::kFp8})
      for (const int page_size : {1, 16, 64}) {
        const WriteCase c(kv, page_size, latent, rope);
        for (const KvWriteKernel& kernel : kv_write_kernels()) {
          if (kernel.refuses(c.desc)) continue;
          test::PagedCache cache(kv, latent, rope, page_size, 300, 7);
          const auto a = cache.take(100), b = cache.take(40);
          // Rows 0…59 are positions 40…99 of a, rows 60…69 positions 3…12 of b.
          const std::vector<SequenceView> views{
              {a.data(), 100, 60, 0}, {nullptr, 0, 0, 0}, {b.data(), 13, 10, 60}};
          KvWriteArgs args;
          args.kv_a = c.kv_a.data();
          args.kv_a_stride = c.stride();
          args.weight = c.weight.data();
          args.eps = kEps;
          args.tables = c.tables.view();
          args.cache = cache.view();
          args.sequences = views;
          kernel.run(c.desc, args, pool);
          for (int row = 0; row < 70; ++row) {
            const bool first = row < 60;
            const int position = first ? 40 + row : 3 + row - 60;
            const float* x = c.kv_a.data() + row * c.stride();
            const auto norm = exact_norm(x, c.weight.data(), latent);
            const auto rotated = exact_rotation(x + latent, c.tables, position, rope);
            const std::byte* stored = cache.view().row(first ? a.data() : b.data(), position);
            std::vector<float> values(static_cast<size_t>(latent + rope));
            kv_decode_row(kv, latent, rope, stored, values.data());
            for (int i = 0; i < latent; ++i) {
              float scale = 1;
              if (kv == KvType::kFp8)
                std::memcpy(&scale, stored + latent + i / kFp8Group * 4, sizeof scale);
              const double exact = norm[static_cast<size_t>(i)];
              expect_stored(kv, values[static_cast<size_t>(i)], exact, scale,
                            norm_tolerance(exact, latent));
            }
            for (int i = 0; i < rope; ++i)  // the rope part is BF16 in an fp8 row
              expect_stored(kv == KvType::kFp32 ? kv : KvType::kBf16,
                            values[static_cast<size_t>(latent + i)],
                            rotated[static_cast<size_t>(i)], 1,
                            4 * test::kUnit *
                                (std::abs(x[latent + (i & ~1)]) + std::abs(x[latent + (i | 1)])));
          }
          // Rows outside the sequences' new tokens still hold what they held: NaN.
          for (const int position : {0, 39})
            for (int i = 0; i < 4; ++i)
              EXPECT_EQ(cache.view().row(a.data(), position)[i], cache.view().row(b.data(), 30)[i]);
        }
      }
}

TEST(KvWrite, KernelsEncodeAsTheRowEncoderDoes) {
  base::ThreadPool pool(1);
  // Latents of ±1, weights of 1 and eps = 0 make the norm the identity, and angle 0 the rotation:
  // the stored row is the encoding of the input.
  for (const KvType kv : {KvType::kBf16, KvType::kFp8}) {
    const KvWriteDesc desc{512, 64, kv, 16};
    const std::vector<tensor::bf16> weight(512, tensor::float_to_bf16(1.0f));
    std::vector<float> x(576, 0.0f);
    for (size_t i = 0; i < 512; ++i) x[i] = (i * 7919 % 512 < 256 ? 1.0f : -1.0f);
    for (size_t i = 512; i < 576; ++i) x[i] = 1.00390625f + static_cast<float>(i) * 0.001f;
    const std::vector<float> cos(32, 1.0f), sin(32, 0.0f);
    for (const KvWriteKernel& kernel : kv_write_kernels()) {
      if (kernel.refuses(desc)) continue;
      test::PagedCache cache(kv, 512, 64, 16, 1, 1);
      const int32_t page = 0;
      const SequenceView view{&page, 1, 1, 0};
      kernel.run(
          desc,
          {x.data(), 576, weight.data(), 0.0f, {cos.data(), sin.data()}, cache.view(), {&view, 1}},
          pool);
      std::vector<std::byte> expected(static_cast<size_t>(cache.view().row_bytes));
      kv_encode_row(kv, 512, 64, x.data(), expected.data());
      EXPECT_EQ(std::memcmp(expected.data(), cache.view().row(&page, 0), expected.size()), 0)
          << kernel.name;
    }
  }
}

/// Latents that a weight of many magnitudes spreads over the whole range of codes.
TEST(KvWrite, AllKernelsAgreeOnEveryMagnitude) {
  base::ThreadPool pool(1);
  const KvWriteDesc desc{512, 64, KvType::kFp8, 16};
  std::vector<tensor::bf16> weight(512);
  std::vector<float> x(576);
  const std::vector<float> cos(32, 1.0f), sin(32, 0.0f);
  for (size_t i = 0; i < 512; ++i) {
    x[i] = i % 2 ? 1.0f : -1.0f;
    weight[i] = tensor::float_to_bf16(
        std::ldexp(1.0f + static_cast<float>(i % 128) / 128.0f, static_cast<int>(i / 3 % 24) - 12));
  }
  for (size_t i = 512; i < 576; ++i)
    x[i] = std::ldexp(1.0f + static_cast<float>(i) * 0x1.01p-10f, static_cast<int>(i) - 540);
  const int32_t page = 0;
  const SequenceView view{&page, 1, 1, 0};
  std::vector<std::byte> expected;
  for (const KvWriteKernel& kernel : kv_write_kernels()) {
    if (kernel.refuses(desc)) continue;
    test::PagedCache cache(KvType::kFp8, 512, 64, 16, 1, 1);
    kernel.run(
        desc,
        {x.data(), 576, weight.data(), 0.0f, {cos.data(), sin.data()}, cache.view(), {&view, 1}},
        pool);
    const std::byte* row = cache.view().row(&page, 0);
    if (expected.empty()) expected.assign(row, row + 656);
    EXPECT_EQ(std::memcmp(expected.data(), row, 656), 0) << kernel.name;
  }
}

TEST(KvWrite, NanStaysNan) {
  base::ThreadPool pool(1);
  for (const KvType kv : {KvType::kBf16, KvType::kFp8}) {
    WriteCase c(kv, 16);
    c.kv_a[5] = std::numeric_limits<float>::quiet_NaN();
    c.kv_a[515] = std::numeric_limits<float>::quiet_NaN();
    for (const KvWriteKernel& kernel : kv_write_kernels()) {
      if (kernel.refuses(c.desc)) continue;
      test::PagedCache cache(kv, 512, 64, 16, 1, 1);
      const int32_t page = 0;
      const SequenceView view{&page, 1, 1, 0};
      KvWriteArgs args{c.kv_a.data(),   c.stride(),   c.weight.data(), kEps,
                       c.tables.view(), cache.view(), {&view, 1}};
      kernel.run(c.desc, args, pool);
      std::vector<float> values(576);
      kv_decode_row(kv, 512, 64, cache.view().row(&page, 0), values.data());
      for (int i = 0; i < 512; ++i) ASSERT_TRUE(std::isnan(values[static_cast<size_t>(i)]));
      EXPECT_TRUE(std::isnan(values[514]) && std::isnan(values[515]));
      EXPECT_FALSE(std::isnan(values[516]));
    }
  }
}

TEST(KvRow, SizesAndNames) {
  EXPECT_EQ(kv_row_bytes(KvType::kFp32, 512, 64), 2304);
  EXPECT_EQ(kv_row_bytes(KvType::kBf16, 512, 64), 1152);
  EXPECT_EQ(kv_row_bytes(KvType::kFp8, 512, 64), 656);
  for (const KvType type : {KvType::kFp32, KvType::kBf16, KvType::kFp8})
    EXPECT_EQ(parse_kv_type(kv_type_name(type)).value(), type);
  EXPECT_FALSE(parse_kv_type("fp16"));
  EXPECT_THAT(parse_kv_type("fp16").error().message, testing::HasSubstr("`fp16`"));
}

TEST(KvRow, Fp8ScaleFollowsTheRule) {
  EXPECT_EQ(fp8_scale(448.0f), 1.0f);
  EXPECT_EQ(fp8_scale(std::nextafter(448.0f, 500.0f)), 2.0f);
  EXPECT_EQ(fp8_scale(224.0f), 0.5f);
  EXPECT_EQ(fp8_scale(0.0f), 0x1.0p-13f);  // 2^ceil(log2(1e-4))
  base::Rng rng(1);
  for (int i = 0; i < 10000; ++i) {
    const float amax = static_cast<float>(std::exp(40 * rng.uniform() - 15));
    const double ratio = std::max(amax / 448.0f, 1e-4f);
    EXPECT_EQ(fp8_scale(amax), std::exp2(std::ceil(std::log2(ratio)))) << amax;
  }
}

TEST(KvRow, Fp8RowsLieAsSpecified) {
  std::vector<float> values(576);
  for (size_t i = 0; i < 512; ++i) values[i] = static_cast<float>(i / 128 + 1);
  for (size_t i = 512; i < 576; ++i) values[i] = -2.0f;
  std::byte row[656];
  kv_encode_row(KvType::kFp8, 512, 64, values.data(), row);
  for (size_t group = 0; group < 4; ++group) {
    float scale;
    std::memcpy(&scale, row + 512 + 4 * group, 4);
    const auto amax = static_cast<float>(group + 1);
    EXPECT_EQ(scale, fp8_scale(amax));
    EXPECT_EQ(row[128 * group], std::byte{tensor::float_to_e4m3(amax / scale)});
  }
  tensor::bf16 rope;
  std::memcpy(&rope, row + 528, 2);
  EXPECT_EQ(rope, 0xC000);
  std::vector<float> back(576);
  kv_decode_row(KvType::kFp8, 512, 64, row, back.data());
  EXPECT_EQ(back, values);  // 1 … 4 are E4M3 numbers times a power of two
}

}  // namespace
}  // namespace headroom::kernels
