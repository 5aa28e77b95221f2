// gemm over any vector type: packs x once, then tiles of dot products.
#pragma once

#include <algorithm>

#include "kernels/gemm/kernels.h"
#include "kernels/scratch.h"
#include "kernels/simd/dot-inl.h"

namespace headroom::kernels {

template <typename V, typename W>
void gemm_fast_typed(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool) {
  const int64_t n = desc.n, k = desc.k, m = args.m, batch = desc.batch;
  if (m == 0 || n == 0) return;
  const int64_t stride = packed_width<V>(k);
  float* packed = scratch(Scratch::kSharedInput, static_cast<size_t>(batch * m * stride));
  const auto pack = [&](int64_t row) {
    pack_row<V, W>(args.x + row / m * args.x_batch + row % m * args.x_stride, k,
                   packed + row * stride);
  };
  // Multiplications below which waking another thread costs more than it brings.
  constexpr int64_t kTaskWork = 1 << 16;
  if (batch * m * k < kTaskWork) {
    for (int64_t row = 0; row < batch * m; ++row) pack(row);
  } else {
    constexpr int64_t kRows = 16;
    pool.parallel_for((batch * m + kRows - 1) / kRows, [&](int64_t task, int) {
      const int64_t end = std::min(batch * m, (task + 1) * kRows);
      for (int64_t row = task * kRows; row < end; ++row) pack(row);
    });
  }
  // A task is a slice of w, small enough to stay in the second-level cache while all rows of x
  // pass, and several of them for every thread.
  const int64_t slices_wanted =
      std::clamp<int64_t>(batch * m * n * k / kTaskWork, 1, int64_t{4} * pool.size());
  const int64_t by_threads = (batch * n + slices_wanted - 1) / slices_wanted;
  const int64_t by_cache = std::max<int64_t>(24, (256 << 10) / (k * int64_t{sizeof(W)}));
  const int64_t width =
      (std::min(by_threads, by_cache) + 23) / 24 * 24;  // whole tiles of 3, 4 and 8 columns
  const int64_t slices = (n + width - 1) / width;
  pool.parallel_for(batch * slices, [&](int64_t task, int) {
    const int64_t b = task / slices, begin = task % slices * width;
    const W* w = static_cast<const W*>(args.w) + (b * n + begin) * k;
    dot_block<V, W>(packed + b * m * stride, stride, m, w, std::min(width, n - begin), k,
                    args.y + b * args.y_batch + begin, args.y_stride);
  });
}

template <typename V>
void gemm_fast(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool) {
  if (desc.weight == tensor::DType::kF32) return gemm_fast_typed<V, float>(desc, args, pool);
  gemm_fast_typed<V, tensor::bf16>(desc, args, pool);
}

}  // namespace headroom::kernels
