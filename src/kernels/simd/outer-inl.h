// Tiles of outer products: c[i, j] = Σ_k a[i, k] · b[k, j] with j along the vector lanes.
#pragma once

#include <cstdint>

namespace headroom::kernels {

// Every output has one accumulator that takes k in order: results are bit-equal for any m, n and
// tile shape.

struct OuterArgs {
  const float* a;  // [m, k], a_stride apart
  int64_t a_stride;
  const float* b;  // [k, n], b_stride apart
  int64_t b_stride;
  float* c;  // [m, n], c_stride apart
  int64_t c_stride;
  int64_t m, n, k;  // n is a multiple of the lanes
};

/// `shrink(i)`: factor of the old c[i] that the sum starts from; kAdd = false starts from zero.
template <typename V, int kRows, int kVectors, bool kAdd, typename Shrink>
inline __attribute__((always_inline)) void outer_tile(const OuterArgs& args, int64_t i0, int64_t j0,
                                                      const Shrink& shrink) {
  using F = typename V::F;
  float* c = args.c + i0 * args.c_stride + j0;
  F sum[kRows][kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) {
      if constexpr (kAdd)
        sum[i][j] = V::mul(V::load(c + i * args.c_stride + j * V::kLanes), V::set(shrink(i0 + i)));
      else
        sum[i][j] = V::zero();
    }
  const float* a = args.a + i0 * args.a_stride;
  const float* b = args.b + j0;
  for (int64_t k = 0; k < args.k; ++k, b += args.b_stride) {
    F right[kVectors];
    for (int j = 0; j < kVectors; ++j) right[j] = V::load(b + j * V::kLanes);
    for (int i = 0; i < kRows; ++i) {
      const F left = V::set(a[i * args.a_stride + k]);
      for (int j = 0; j < kVectors; ++j) sum[i][j] = V::fma(left, right[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) V::store(c + i * args.c_stride + j * V::kLanes, sum[i][j]);
}

template <typename V, int kRows, bool kAdd, typename Shrink>
inline void outer_rows(const OuterArgs& args, int64_t i0, int64_t j0, int64_t j_end,
                       const Shrink& shrink) {
  constexpr int kVectors = V::kOuterVectors;
  int64_t j = j0;
  for (; j + kVectors * V::kLanes <= j_end; j += kVectors * V::kLanes)
    outer_tile<V, kRows, kVectors, kAdd>(args, i0, j, shrink);
  for (; j < j_end; j += V::kLanes) outer_tile<V, kRows, 1, kAdd>(args, i0, j, shrink);
}

template <typename V, bool kAdd, typename Shrink>
void outer_block(const OuterArgs& args, const Shrink& shrink) {
  constexpr int kRows = V::kOuterRows;
  static_assert(kRows == 6);
  // A panel of b as wide as a tile stays in the cache while all rows of a pass.
  constexpr int64_t kPanel = V::kOuterVectors * V::kLanes;
  for (int64_t j = 0; j < args.n; j += kPanel) {
    const int64_t j_end = j + kPanel < args.n ? j + kPanel : args.n;
    int64_t i = 0;
    for (; i + kRows <= args.m; i += kRows) outer_rows<V, kRows, kAdd>(args, i, j, j_end, shrink);
    switch (args.m - i) {
      case 1:
        outer_rows<V, 1, kAdd>(args, i, j, j_end, shrink);
        break;
      case 2:
        outer_rows<V, 2, kAdd>(args, i, j, j_end, shrink);
        break;
      case 3:
        outer_rows<V, 3, kAdd>(args, i, j, j_end, shrink);
        break;
      case 4:
        outer_rows<V, 4, kAdd>(args, i, j, j_end, shrink);
        break;
      case 5:
        outer_rows<V, 5, kAdd>(args, i, j, j_end, shrink);
        break;
      default:
        break;
    }
  }
}

}  // namespace headroom::kernels
