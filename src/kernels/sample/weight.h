// The exact arithmetic of sampling: integer token weights and the draw, equal in every kernel.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/rng.h"

// A sum of floats depends on its order, and then so would the token that a draw lands on. Weights
// are therefore integers: floor(2^40 · exp(x)), x = (logit - largest logit) / temperature. Sums of
// them are exact, and every kernel gets the same token whatever its order of summation.
// The functions are static so that a copy built with AVX flags never replaces the portable one.
namespace headroom::kernels::sampling {

constexpr int kWeightBits = 40;
constexpr float kSmallest = -30.0f;  // exp(-30) < 2^-40: the weight is 0
constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
constexpr float kRound = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer
// exp(r) ≈ 1 + r + r² · (c0 + r · (c1 + …)) on |r| ≤ ln2/2, relative error < 2e-7.
constexpr float kExp[] = {0.5f,           1.66666650e-1f, 4.16657962e-2f,
                          8.33345205e-3f, 1.39819994e-3f, 1.98756912e-4f};

/// floor(2^40 · exp(x)) for x ≤ 0, to the float precision of exp. Only +, - and · on floats, in
/// this order: the vector kernels do the same and agree in every bit.
static inline uint64_t weight(float x) {
  if (!(x >= kSmallest)) return 0;
  const float rounded = (x * kLog2E + kRound) - kRound;
  const float r = (x - rounded * kLn2High) - rounded * kLn2Low;
  float p = kExp[5];
  for (int i = 4; i >= 0; --i) p = p * r + kExp[i];
  const float value = (p * r * r + r) + 1.0f;  // exp(x) = value · 2^rounded
  const auto bits = std::bit_cast<uint32_t>(value);
  const int shift = 127 - static_cast<int>(bits >> 23) - static_cast<int>(rounded);  // ≥ 0
  const uint64_t mantissa = (bits & 0x7FFFFF) | 0x800000;
  return (mantissa << (kWeightBits - 23)) >> shift;
}

/// 64 uniform bits that depend on (seed, position) alone.
static inline uint64_t draw_bits(uint64_t seed, int32_t position) {
  uint64_t state = seed;
  state = base::splitmix64(state) ^ (uint64_t{static_cast<uint32_t>(position)} << 32 | 0x5A3Du);
  return base::splitmix64(state);
}

/// Uniform in [0, total).
static inline uint64_t draw_below(uint64_t bits, uint64_t total) {
  return static_cast<uint64_t>((__extension__ static_cast<unsigned __int128>(bits) * total) >> 64);
}

/// Mass that top_p asks of a set of mass `total`: in 1 … total.
static inline uint64_t mass_needed(float top_p, uint64_t total) {
  if (!(top_p < 1)) return total;
  const double need = std::ceil(static_cast<double>(top_p) * static_cast<double>(total));
  return need < 1 ? 1 : std::min(total, static_cast<uint64_t>(need));
}

/// log softmax of a logit from the sum of weights at temperature 1.
static inline float logprob(float logit, float top, uint64_t total) {
  return static_cast<float>(double{logit} - double{top} -
                            std::log(std::ldexp(static_cast<double>(total), -kWeightBits)));
}

}  // namespace headroom::kernels::sampling
