// Tiles of dot products: y[m, n] = Σ_k x[m, k] · w[n, k] with k along the vector lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace headroom::kernels {

// Every output has one accumulator that takes k in order and one reduction tree, whatever the tile:
// results are bit-equal for any m, n and tile shape.
// BF16 weights are widened two vectors at a time, even places then odd places, because each half
// costs one instruction; x is packed into the same order once (pack_row), padded with zeros.

/// k padded to whole steps of the inner loop.
template <typename V>
int64_t packed_width(int64_t k) {
  return (k + 2 * V::kLanes - 1) / (2 * V::kLanes) * (2 * V::kLanes);
}

/// x [k] in the order that tiles over weights of type W read.
template <typename V, typename W>
void pack_row(const float* x, int64_t k, float* out) {
  constexpr int64_t kStep = 2 * V::kLanes;
  for (int64_t i = 0; i < k; i += kStep) {
    const auto low = V::load_part(x + i, k - i);
    const auto high = V::load_part(x + i + V::kLanes, std::max<int64_t>(0, k - i - V::kLanes));
    if constexpr (sizeof(W) == 2) {
      V::split_pairs(low, high, out + i);
    } else {
      V::store(out + i, low);
      V::store(out + i + V::kLanes, high);
    }
  }
}

/// Two vectors of a row of w.
template <typename V, typename W>
struct WeightStep;

template <typename V>
struct WeightStep<V, tensor::bf16> {
  decltype(V::load_pairs(nullptr)) pairs;
  inline __attribute__((always_inline)) void load(const tensor::bf16* w) {
    pairs = V::load_pairs(w);
  }
  inline __attribute__((always_inline)) void load_part(const tensor::bf16* w, int64_t n) {
    pairs = V::load_pairs_part(w, n);
  }
  inline __attribute__((always_inline)) typename V::F first() const { return V::bf16_even(pairs); }
  inline __attribute__((always_inline)) typename V::F second() const { return V::bf16_odd(pairs); }
};

template <typename V>
struct WeightStep<V, float> {
  typename V::F low, high;
  inline __attribute__((always_inline)) void load(const float* w) {
    low = V::load(w);
    high = V::load(w + V::kLanes);
  }
  inline __attribute__((always_inline)) void load_part(const float* w, int64_t n) {
    low = V::load_part(w, n);
    high = V::load_part(w + V::kLanes, std::max<int64_t>(0, n - V::kLanes));
  }
  inline __attribute__((always_inline)) typename V::F first() const { return low; }
  inline __attribute__((always_inline)) typename V::F second() const { return high; }
};

template <typename V, typename W, int kRows, int kColumns>
inline __attribute__((always_inline)) void dot_tile(const float* x, int64_t x_stride, const W* w,
                                                    int64_t k, float* y, int64_t y_stride) {
  using F = typename V::F;
  constexpr int64_t kStep = 2 * V::kLanes;
  F sum[kRows][kColumns];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) sum[i][j] = V::zero();
  const auto step = [&](int64_t at, const WeightStep<V, W>* steps) __attribute__((always_inline)) {
    F half[kColumns];
    for (int j = 0; j < kColumns; ++j) half[j] = steps[j].first();
    for (int i = 0; i < kRows; ++i) {
      const F value = V::load(x + i * x_stride + at);
      for (int j = 0; j < kColumns; ++j) sum[i][j] = V::fma(value, half[j], sum[i][j]);
    }
    for (int j = 0; j < kColumns; ++j) half[j] = steps[j].second();
    for (int i = 0; i < kRows; ++i) {
      const F value = V::load(x + i * x_stride + at + V::kLanes);
      for (int j = 0; j < kColumns; ++j) sum[i][j] = V::fma(value, half[j], sum[i][j]);
    }
  };
  WeightStep<V, W> steps[kColumns];
  int64_t at = 0;
  for (; at + kStep <= k; at += kStep) {
    for (int j = 0; j < kColumns; ++j) steps[j].load(w + j * k + at);
    step(at, steps);
  }
  if (at < k) {
    for (int j = 0; j < kColumns; ++j) steps[j].load_part(w + j * k + at, k - at);
    step(at, steps);
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; j += 4) {
      const auto at_or_first = [&](int c) { return sum[i][c < kColumns ? c : j]; };
      const auto four =
          V::reduce4(sum[i][j], at_or_first(j + 1), at_or_first(j + 2), at_or_first(j + 3));
      constexpr int kWidth = kColumns < 4 ? kColumns : 4;
      std::memcpy(y + i * y_stride + j, &four, kWidth * sizeof(float));
    }
}

template <typename V, typename W, int kRows>
void dot_rows(const float* x, int64_t x_stride, const W* w, int64_t n, int64_t k, float* y,
              int64_t y_stride) {
  // One row of x alone needs more columns to keep the multipliers busy.
  constexpr int kColumns = kRows == 1 ? V::kSingleRowColumns : V::kDotColumns;
  int64_t j = 0;
  for (; j + kColumns <= n; j += kColumns)
    dot_tile<V, W, kRows, kColumns>(x, x_stride, w + j * k, k, y + j, y_stride);
  if constexpr (kColumns > 3)
    for (; j + 3 <= n; j += 3) dot_tile<V, W, kRows, 3>(x, x_stride, w + j * k, k, y + j, y_stride);
  for (; j < n; ++j) dot_tile<V, W, kRows, 1>(x, x_stride, w + j * k, k, y + j, y_stride);
}

/// x: m packed rows, x_stride apart; w [n, k]; y: m rows of n, y_stride apart.
template <typename V, typename W>
void dot_block(const float* x, int64_t x_stride, int64_t m, const W* w, int64_t n, int64_t k,
               float* y, int64_t y_stride) {
  constexpr int kRows = V::kDotRows;
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows)
    dot_rows<V, W, kRows>(x + i * x_stride, x_stride, w, n, k, y + i * y_stride, y_stride);
  const auto rest = [&]<int kRest>() {
    dot_rows<V, W, kRest>(x + i * x_stride, x_stride, w, n, k, y + i * y_stride, y_stride);
  };
  static_assert(kRows <= 6);
  switch (m - i) {
    case 1:
      return rest.template operator()<1>();
    case 2:
      return rest.template operator()<2>();
    case 3:
      return rest.template operator()<3>();
    case 4:
      return rest.template operator()<4>();
    case 5:
      return rest.template operator()<5>();
    default:
      return;
  }
}

}  // namespace headroom::kernels
