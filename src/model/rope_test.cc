// Softmax scales, ramp bounds and tables of the published models.
#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom::model {
namespace {

Config with(double theta, std::optional<Yarn> yarn) {
  Config config;
  config.nope = 128;
  config.rope = 64;
  config.rope_theta = theta;
  config.yarn = yarn;
  return config;
}

const Yarn kV2{40, 32, 1, 0.707, 0.707, 4096};
const Yarn kV3{40, 32, 1, 1, 1, 4096};
const Yarn kK2{32, 1, 1, 1, 1, 4096};
const Yarn kK25{64, 32, 1, 1, 1, 4096};

TEST(Rope, SoftmaxScaleOfPublishedModels) {
  EXPECT_NEAR(softmax_scale(with(1e4, kV2)), 0.114722, 1e-6);
  EXPECT_NEAR(softmax_scale(with(1e4, kV3)), 0.135234, 1e-6);
  EXPECT_NEAR(softmax_scale(with(5e4, kK2)), 0.130861, 1e-6);
  EXPECT_NEAR(softmax_scale(with(5e4, kK25)), 0.144680, 1e-6);
  EXPECT_NEAR(softmax_scale(with(5e4, std::nullopt)), 0.072169, 1e-6);
}

/// First pair that is not as without YaRN, and first that is fully interpolated.
std::pair<int, int> ramp(double theta, const Yarn& yarn) {
  const auto plain = rope_frequencies(with(theta, std::nullopt));
  const auto scaled = rope_frequencies(with(theta, yarn));
  int first = -1, full = -1;
  for (int i = 0; i < 32; ++i) {
    const double ratio = scaled[i] / plain[i];
    if (first < 0 && ratio < 1 - 1e-12) first = i;
    if (full < 0 && ratio < 1 / yarn.factor + 1e-12) full = i;
  }
  return {first, full};
}

TEST(Rope, RampBounds) {
  // Bounds low/high: 10/23, 19/20, 8/20; the ramp is still 0 at low itself.
  EXPECT_EQ(ramp(1e4, kV3), std::pair(11, 23));
  EXPECT_EQ(ramp(5e4, kK2), std::pair(20, 20));
  EXPECT_EQ(ramp(5e4, kK25), std::pair(9, 20));
}

TEST(Rope, TableHoldsCosAndSinOfThePosition) {
  const Config config = with(1e4, std::nullopt);
  const RopeTable table(config, 8);
  const auto frequencies = rope_frequencies(config);
  for (int p = 0; p < 8; ++p) {
    for (int i = 0; i < 32; ++i) {
      EXPECT_FLOAT_EQ(table.view().cos[p * 32 + i],
                      static_cast<float>(std::cos(p * frequencies[i])));
      EXPECT_FLOAT_EQ(table.view().sin[p * 32 + i],
                      static_cast<float>(std::sin(p * frequencies[i])));
    }
  }
  EXPECT_EQ(frequencies[0], 1.0);
}

TEST(Rope, MagnitudeOfTheTableIsTheQuotient) {
  Yarn yarn = kV3;
  yarn.mscale_all_dim = 0;  // then the whole of mscale goes into the table
  const RopeTable table(with(1e4, yarn), 1);
  EXPECT_FLOAT_EQ(table.view().cos[0], static_cast<float>(0.1 * std::log(40) + 1));
}

}  // namespace
}  // namespace headroom::model
