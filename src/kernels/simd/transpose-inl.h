// Transposition of a matrix of floats, a square of vectors at a time.
#pragma once

#include <cstdint>

namespace headroom::kernels {

/// out[c · out_stride + r] = element (r, c) for r < rows, c < columns, both multiples of the lanes;
/// load(r, c) gives the vector of elements (r, c) … (r, c + lanes - 1).
template <typename V, typename Load>
inline void transpose(int64_t rows, int64_t columns, const Load& load, float* out,
                      int64_t out_stride) {
  for (int64_t r = 0; r < rows; r += V::kLanes)
    for (int64_t c = 0; c < columns; c += V::kLanes) {
      typename V::F square[V::kLanes];
      for (int i = 0; i < V::kLanes; ++i) square[i] = load(r + i, c);
      V::transpose(square);
      for (int i = 0; i < V::kLanes; ++i) V::store(out + (c + i) * out_stride + r, square[i]);
    }
}

}  // namespace headroom::kernels
