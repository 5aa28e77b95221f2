// Cache rows widened to floats, exactly, over any vector type.
#pragma once

#include <cstring>

#include "kernels/kv_cache.h"

namespace headroom::kernels {

/// One row → latent + rope floats at out. Both widths are multiples of 16, the latent of fp8 rows
/// is one of 128.
template <typename V>
inline void load_row(const CacheView& view, const std::byte* row, float* out) {
  if (view.type == KvType::kFp32) {
    std::memcpy(out, row, static_cast<size_t>(view.row_bytes));
    return;
  }
  int width = view.latent + view.rope;
  if (view.type == KvType::kFp8) {
    bool has_nan = false;
    for (int i = 0; i < view.latent; i += 64) has_nan |= V::e4m3_has_nan(row + i);
    if (has_nan) return kv_decode_row(view.type, view.latent, view.rope, row, out);
    const std::byte* scales = row + view.latent;
    for (int group = 0; group < view.latent; group += kFp8Group) {
      float scale;
      std::memcpy(&scale, scales, sizeof scale);
      scales += sizeof scale;
      const auto scale256 = V::set(256.0f * scale);
      for (int i = 0; i < kFp8Group; i += V::kLanes)
        V::store(out + group + i, V::load_e4m3(row + group + i, scale256));
    }
    row = scales;
    out += view.latent;
    width = view.rope;
  }
  for (int i = 0; i < width; i += V::kLanes) V::store(out + i, V::load_bf16(row + 2 * i));
}

}  // namespace headroom::kernels
