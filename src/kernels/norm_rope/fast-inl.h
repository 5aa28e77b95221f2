// rms_norm, rope_query and kv_write over any vector type.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/norm_rope/kernels.h"
#include "kernels/scratch.h"

namespace headroom::kernels {

/// Calls fn(row) for every row; rows share tasks so that a task has some work to do.
template <typename Fn>
void for_rows(base::ThreadPool& pool, int64_t rows, int64_t row_floats, Fn&& fn) {
  constexpr int64_t kTaskFloats = 8192;
  const int64_t step = std::max<int64_t>(1, kTaskFloats / std::max<int64_t>(1, row_floats));
  pool.parallel_for((rows + step - 1) / step, [&](int64_t task, int) {
    const int64_t end = std::min(rows, (task + 1) * step);
    for (int64_t row = task * step; row < end; ++row) fn(row);
  });
}

/// y may be x.
template <typename V>
inline void norm_row(const float* x, const tensor::bf16* weight, float* y, int64_t width,
                     float eps) {
  using F = typename V::F;
  constexpr int64_t kStep = 2 * V::kLanes;
  F low = V::zero(), high = V::zero();
  int64_t i = 0;
  for (; i + kStep <= width; i += kStep) {
    const F a = V::load(x + i), b = V::load(x + i + V::kLanes);
    low = V::fma(a, a, low);
    high = V::fma(b, b, high);
  }
  for (; i < width; i += V::kLanes) {
    const F a = V::load_part(x + i, width - i);
    low = V::fma(a, a, low);
  }
  const float mean = V::reduce(V::add(low, high)) / static_cast<float>(width);
  const F factor = V::set(1.0f / __builtin_sqrtf(mean + eps));
  for (i = 0; i < width; i += V::kLanes) {
    const F scaled = V::mul(V::load_part(x + i, width - i), factor);
    V::store_part(y + i, V::mul(scaled, V::load_bf16_part(weight + i, width - i)), width - i);
  }
}

/// Rotates `rope` values, a multiple of the lanes, from x into y (which may be x).
template <typename V>
inline void rotate(const float* x, float* y, const RopeTables& tables, int64_t position,
                   int64_t rope) {
  const float* cos = tables.cos + position * (rope / 2);
  const float* sin = tables.sin + position * (rope / 2);
  for (int64_t i = 0; i < rope; i += V::kLanes) {
    const auto value = V::load(x + i);
    const auto turned = V::mul(V::swap_pairs(value), V::load_twice(sin + i / 2));
    V::store(y + i, V::fma_sub_add(value, V::load_twice(cos + i / 2), turned));
  }
}

template <typename V>
inline void encode_row(const KvWriteDesc& desc, const float* values, std::byte* row) {
  if (desc.kv == KvType::kFp32) {
    std::memcpy(row, values, static_cast<size_t>(desc.latent + desc.rope) * sizeof(float));
    return;
  }
  int width = desc.latent + desc.rope;
  if (desc.kv == KvType::kFp8) {
    std::byte* scales = row + desc.latent;
    for (int group = 0; group < desc.latent; group += kFp8Group) {
      auto largest = V::zero();
      for (int i = 0; i < kFp8Group; i += V::kLanes)  // a NaN in the first operand is dropped
        largest = V::max(V::abs(V::load(values + group + i)), largest);
      const float scale = fp8_scale(V::reduce_max(largest));
      const auto inverse = V::set(1.0f / scale);  // exact: a power of two
      for (int i = 0; i < kFp8Group; i += V::kLanes)
        V::store_e4m3(row + group + i, V::mul(V::load(values + group + i), inverse));
      std::memcpy(scales, &scale, sizeof scale);
      scales += sizeof scale;
    }
    row = scales;
    values += desc.latent;
    width = desc.rope;
  }
  for (int i = 0; i < width; i += V::kLanes) V::store_bf16(row + 2 * i, V::load(values + i));
}

template <typename V>
void rms_norm_fast(const RmsNormDesc& desc, const RmsNormArgs& args, base::ThreadPool& pool) {
  for_rows(pool, args.rows, desc.width, [&](int64_t row) {
    norm_row<V>(args.x + row * args.x_stride, args.weight, args.y + row * args.y_stride, desc.width,
                args.eps);
  });
}

template <typename V>
void rope_query_fast(const RopeQueryDesc& desc, const RopeQueryArgs& args, base::ThreadPool& pool) {
  const int64_t width = desc.nope + desc.rope;
  for_rows(pool, args.rows, desc.heads * int64_t{desc.rope}, [&](int64_t row) {
    float* q = args.q + row * desc.heads * width + desc.nope;
    for (int64_t head = 0; head < desc.heads; ++head, q += width)
      rotate<V>(q, q, args.tables, args.positions[row], desc.rope);
  });
}

template <typename V>
void kv_write_fast(const KvWriteDesc& desc, const KvWriteArgs& args, base::ThreadPool& pool) {
  const auto sequences = static_cast<int64_t>(args.sequences.size());
  const SequenceView* views = args.sequences.data();
  int64_t rows = 0;
  for (int64_t s = 0; s < sequences; ++s) rows += views[s].tokens;
  // Row i of the step's new rows: the (i - start)-th new token of the sequence it falls into.
  auto* starts = reinterpret_cast<int64_t*>(
      scratch(Scratch::kSharedIndex, static_cast<size_t>(2 * (sequences + 1))));
  starts[0] = 0;
  for (int64_t s = 0; s < sequences; ++s) starts[s + 1] = starts[s] + views[s].tokens;
  for_rows(pool, rows, desc.latent + desc.rope, [&](int64_t i) {
    int64_t low = 0, high = sequences;
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (starts[middle] <= i ? low : high) = middle;
    }
    const SequenceView& sequence = views[low];
    const int64_t token = i - starts[low];
    const int64_t position = int64_t{sequence.length} - sequence.tokens + token;
    const float* kv_a = args.kv_a + (sequence.first_row + token) * args.kv_a_stride;
    float* row = scratch(Scratch::kTaskA, static_cast<size_t>(desc.latent + desc.rope));
    norm_row<V>(kv_a, args.weight, row, desc.latent, args.eps);
    rotate<V>(kv_a + desc.latent, row + desc.latent, args.tables, position, desc.rope);
    encode_row<V>(desc, row, args.cache.row(sequence.pages, position));
  });
}

}  // namespace headroom::kernels
