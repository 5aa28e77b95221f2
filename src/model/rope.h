// Rotary position tables with YaRN, and the softmax scale that goes with them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/norm_rope/desc.h"
#include "model/config.h"

namespace headroom::model {

/// 1 for scale ≤ 1, else 0.1 · mscale · ln(scale) + 1.
double yarn_magnitude(double scale, double mscale);

/// Radians per position of each of the rope/2 pairs: theta^(-2i/rope), under YaRN blended with its
/// factor-th part along a ramp of the pair index.
std::vector<double> rope_frequencies(const Config& config);

/// (nope + rope)^-0.5, under YaRN times yarn_magnitude(factor, mscale_all_dim)². The same for the
/// absorbed and the plain form of attention.
double softmax_scale(const Config& config);

/// cos and sin of `positions` positions, times yarn_magnitude(factor, mscale) /
/// yarn_magnitude(factor, mscale_all_dim).
class RopeTable {
 public:
  RopeTable() = default;
  RopeTable(const Config& config, int32_t positions);
  kernels::RopeTables view() const { return {cos_.data(), sin_.data()}; }

 private:
  std::vector<float> cos_, sin_;  // [positions, rope/2]
};

}  // namespace headroom::model
