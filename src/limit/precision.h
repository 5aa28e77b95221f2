// Precision profiles: how a published checkpoint stores each part of the model, and the cache.
#pragma once

#include <cstdint>
#include <string_view>

#include "limit/hardware.h"
#include "limit/shape.h"

namespace headroom::limit {

enum class Precision : uint8_t {
  kBf16,
  kFp8,    // DeepSeek: E4M3 with one fp32 scale per 128 x 128 block; gate and lm_head BF16
  kMxfp4,  // amd/Kimi-K2.5-MXFP4: experts, shared, dense 4.25 bit; attention, gate, lm_head BF16
  kInt4,   // Kimi K2.5 as published: experts 4.5 bit, everything else BF16
};
/// Cache rows: fp32 (reference only), bf16 (1152 bytes), fp8 (656: E4M3 latent, four scales, BF16
/// rope), fp8-tensor (576: E4M3 with one scale for the whole tensor).
enum class KvRow : uint8_t { kFp32, kBf16, kFp8, kFp8Tensor };

std::string_view precision_name(Precision precision);
std::string_view kv_row_name(KvRow row);
base::Result<Precision> parse_precision(std::string_view name);
base::Result<KvRow> parse_kv_row(std::string_view name);
double kv_row_bytes(const Shape& shape, KvRow row);

/// One weight: its bytes with its share of the scales, and the fastest arithmetic that takes it.
struct StoredWeight {
  double bytes;
  Quantity rate;
};
struct Profile {
  StoredWeight experts, mlp, attention, rest;  // mlp: shared expert and dense layers
};
Profile profile(Precision precision);

}  // namespace headroom::limit
