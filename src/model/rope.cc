// Rotary frequencies, YaRN's ramp and magnitude.
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headroom::model {

double yarn_magnitude(double scale, double mscale) {
  return scale <= 1 ? 1.0 : 0.1 * mscale * std::log(scale) + 1.0;
}

std::vector<double> rope_frequencies(const Config& config) {
  const int pairs = config.rope / 2;
  std::vector<double> frequencies(static_cast<size_t>(pairs));
  for (int i = 0; i < pairs; ++i)
    frequencies[i] = std::pow(config.rope_theta, -2.0 * i / config.rope);
  if (!config.yarn) return frequencies;

  const Yarn& yarn = *config.yarn;
  // The pair whose wave turns `rotations` times within the original context.
  const auto pair_at = [&](double rotations) {
    return config.rope * std::log(yarn.original_positions / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(config.rope_theta));
  };
  const double low = std::max(std::floor(pair_at(yarn.beta_fast)), 0.0);
  double high = std::min(std::ceil(pair_at(yarn.beta_slow)), config.rope - 1.0);
  if (low == high) high += 0.001;  // the ramp's width divides
  for (int i = 0; i < pairs; ++i) {
    const double interpolated = std::clamp((i - low) / (high - low), 0.0, 1.0);
    frequencies[i] *= interpolated / yarn.factor + (1 - interpolated);
  }
  return frequencies;
}

double softmax_scale(const Config& config) {
  const double scale = 1 / std::sqrt(static_cast<double>(config.query_width()));
  if (!config.yarn) return scale;
  const double magnitude = yarn_magnitude(config.yarn->factor, config.yarn->mscale_all_dim);
  return scale * magnitude * magnitude;
}

RopeTable::RopeTable(const Config& config, int32_t positions) {
  const std::vector<double> frequencies = rope_frequencies(config);
  double magnitude = 1;
  if (config.yarn)
    magnitude = yarn_magnitude(config.yarn->factor, config.yarn->mscale) /
                yarn_magnitude(config.yarn->factor, config.yarn->mscale_all_dim);
  cos_.reserve(static_cast<size_t>(positions) * frequencies.size());
  sin_.reserve(static_cast<size_t>(positions) * frequencies.size());
  for (int32_t position = 0; position < positions; ++position) {
    for (const double frequency : frequencies) {
      cos_.push_back(static_cast<float>(std::cos(position * frequency) * magnitude));
      sin_.push_back(static_cast<float>(std::sin(position * frequency) * magnitude));
    }
  }
}

}  // namespace headroom::model
