// The paged latent KV cache as kernels see it: one row per token and layer, shared by all heads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace headroom::kernels {

/// Row formats (latent = 512, rope = 64 in every published model):
///   kFp32  latent and rope as float                                            2304 bytes
///   kBf16  latent and rope as BF16                                             1152 bytes
///   kFp8   latent as E4M3, then one fp32 scale per 128 latents, then rope BF16  656 bytes
/// fp8 rule: scale = 2^ceil(log2(max(amax/448, 1e-4))) per 128 latents, stored =
/// RNE_E4M3(latent/scale).
enum class KvType : uint8_t { kFp32, kBf16, kFp8 };

/// "fp32", "bf16", "fp8" and back.
std::string_view kv_type_name(KvType type);
base::Result<KvType> parse_kv_type(std::string_view name);

/// Bytes of one row. kFp8 needs latent to be a multiple of 128.
int64_t kv_row_bytes(KvType type, int latent, int rope);

/// Latents that share one scale in a kFp8 row.
constexpr int kFp8Group = 128;
/// The scale of a group whose largest magnitude is amax, by the rule above.
float fp8_scale(float amax);
/// One row from and to latent + rope floats. Decoding is exact.
void kv_encode_row(KvType type, int latent, int rope, const float* values, std::byte* row);
void kv_decode_row(KvType type, int latent, int rope, const std::byte* row, float* values);

/// One layer's cache. Row r of page p starts at base + p * page_size * row_bytes + r * row_bytes,
/// in 64-bit arithmetic. Rows that no sequence covers may hold anything, NaN included: kernels must
/// neither read them into a result nor write them.
struct CacheView {
  std::byte* base = nullptr;
  int64_t row_bytes = 0;
  int32_t page_size = 0;  // rows of a page, ≥ 1
  KvType type = KvType::kBf16;
  int32_t latent = 0;
  int32_t rope = 0;

  std::byte* row(const int32_t* pages, int64_t position) const {
    return base +
           (int64_t{pages[position / page_size]} * page_size + position % page_size) * row_bytes;
  }
};

/// One sequence's part of a step: `tokens` new tokens whose activations are rows first_row… of the
/// step's matrices, at positions length - tokens … length - 1; their cache rows are already written
/// when attention runs. Query token t sees positions 0 … length - tokens + t (causal).
/// tokens = 0 (a padded slot) and length = 0 are legal: nothing is read or written.
struct SequenceView {
  const int32_t* pages = nullptr;  // page ids, ceil(length / page_size) of them
  int32_t length = 0;              // rows in the cache, the new ones included
  int32_t tokens = 0;
  int32_t first_row = 0;
};

}  // namespace headroom::kernels
