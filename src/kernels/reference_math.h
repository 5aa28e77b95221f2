// Portable inner loops that the reference kernels share.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/dtype.h"

namespace headroom::kernels::reference {

inline float widen(float value) {
  return value;
}
inline float widen(tensor::bf16 value) {
  return tensor::bf16_to_float(value);
}

/// Σ a[i] · b[i], in sixteen interleaved partial sums that are then added pairwise: the order is a
/// function of n alone, and a compiler may keep the partial sums in vector registers.
template <typename T>
float dot(const float* a, const T* b, int64_t n) {
  constexpr int kLanes = 16;
  float sum[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) sum[lane] += a[i + lane] * widen(b[i + lane]);
  for (int lane = 0; i < n; ++i, ++lane) sum[lane] += a[i] * widen(b[i]);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) sum[lane] += sum[lane + width];
  return sum[0];
}

inline float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

inline float silu(float x) {
  return x / (1.0f + std::exp(-x));
}

}  // namespace headroom::kernels::reference
