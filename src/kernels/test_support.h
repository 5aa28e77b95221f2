// What the tests and benchmarks of the kernels share: random data and hostile paged caches.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.h"
#include "kernels/kv_cache.h"
#include "tensor/dtype.h"

namespace headroom::kernels::test {

constexpr double kUnit = 0x1.0p-24;  // half an ulp of 1.0f: one rounding's relative error

inline std::vector<float> random_floats(size_t count, uint64_t seed, double deviation = 1) {
  base::Rng rng(seed);
  std::vector<float> values(count);
  // Sums of uniforms are close enough to normal and much faster than Box-Muller.
  for (float& value : values)
    value =
        static_cast<float>(deviation * 2 * (rng.uniform() + rng.uniform() + rng.uniform() - 1.5));
  return values;
}

inline std::vector<tensor::bf16> random_bf16(size_t count, uint64_t seed, double deviation = 1) {
  const std::vector<float> values = random_floats(count, seed, deviation);
  std::vector<tensor::bf16> codes(count);
  for (size_t i = 0; i < count; ++i) codes[i] = tensor::float_to_bf16(values[i]);
  return codes;
}

/// Bit-equal, NaN included.
inline bool same_bits(const float* a, const float* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

/// A cache whose every row holds NaN or infinity until it is written; pages are handed out in
/// random order.
class PagedCache {
 public:
  PagedCache(KvType type, int latent, int rope, int page_size, int pages, uint64_t seed)
      : rng_(seed), free_(static_cast<size_t>(pages)) {
    view_ = {nullptr, kv_row_bytes(type, latent, rope), page_size, type, latent, rope};
    bytes_.resize(static_cast<size_t>(view_.row_bytes) * static_cast<size_t>(page_size) *
                  static_cast<size_t>(pages));
    view_.base = bytes_.data();
    // 0xFF… is NaN as float, BF16 and E4M3; 0x7F80 is +infinity as BF16.
    const uint8_t pattern[4] = {0xFF, 0xFF, 0x80, 0x7F};
    for (size_t i = 0; i < bytes_.size(); ++i)
      bytes_[i] = std::byte{type == KvType::kBf16 ? pattern[i % 4] : uint8_t{0xFF}};
    std::iota(free_.begin(), free_.end(), 0);
    for (size_t i = free_.size(); i > 1; --i) std::swap(free_[i - 1], free_[rng_.below(i)]);
  }

  const CacheView& view() const { return view_; }

  /// Pages for `length` rows.
  std::vector<int32_t> take(int64_t length) {
    std::vector<int32_t> pages;
    for (int64_t row = 0; row < length; row += view_.page_size) {
      pages.push_back(free_.back());
      free_.pop_back();
    }
    return pages;
  }

  /// Encodes rows [0, length) of `values` [length, latent + rope] into `pages`.
  void write(const std::vector<int32_t>& pages, const std::vector<float>& values, int64_t length) {
    for (int64_t row = 0; row < length; ++row)
      kv_encode_row(view_.type, view_.latent, view_.rope,
                    values.data() + row * (view_.latent + view_.rope),
                    view_.row(pages.data(), row));
  }

 private:
  base::Rng rng_;
  std::vector<int32_t> free_;
  std::vector<std::byte> bytes_;
  CacheView view_;
};

/// Rows [0, length) as an exact decoder reads them.
inline std::vector<float> decoded_rows(const CacheView& view, const int32_t* pages,
                                       int64_t length) {
  const int64_t width = view.latent + view.rope;
  std::vector<float> rows(static_cast<size_t>(length * width));
  for (int64_t row = 0; row < length; ++row)
    kv_decode_row(view.type, view.latent, view.rope, view.row(pages, row),
                  rows.data() + row * width);
  return rows;
}

}  // namespace headroom::kernels::test
