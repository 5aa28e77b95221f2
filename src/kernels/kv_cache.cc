// Row formats of the latent cache: sizes, names, and the plain encoder and decoder of one row.
#include "kernels/kv_cache.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "tensor/dtype.h"

namespace headroom::kernels {
namespace {

/// Every E4M3 code as float.
const std::array<float, 256>& e4m3_table() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values{};
    for (size_t code = 0; code < 256; ++code)
      values[code] = tensor::e4m3_to_float(static_cast<uint8_t>(code));
    return values;
  }();
  return table;
}

}  // namespace

std::string_view kv_type_name(KvType type) {
  switch (type) {
    case KvType::kFp32:
      return "fp32";
    case KvType::kBf16:
      return "bf16";
    case KvType::kFp8:
      return "fp8";
  }
  return "unknown";
}

base::Result<KvType> parse_kv_type(std::string_view name) {
  for (const KvType type : {KvType::kFp32, KvType::kBf16, KvType::kFp8})
    if (kv_type_name(type) == name) return type;
  return base::fail(base::ErrorCode::kInvalidArgument,
                    "KV row type `{}` is unknown; there are bf16, fp8 and fp32", name);
}

int64_t kv_row_bytes(KvType type, int latent, int rope) {
  switch (type) {
    case KvType::kFp32:
      return (int64_t{latent} + rope) * 4;
    case KvType::kBf16:
      return (int64_t{latent} + rope) * 2;
    case KvType::kFp8:
      HEADROOM_CHECK(latent % kFp8Group == 0, "fp8 rows need a latent width in groups of {}: {}",
                     kFp8Group, latent);
      return int64_t{latent} + latent / kFp8Group * 4 + int64_t{rope} * 2;
  }
  return 0;
}

float fp8_scale(float amax) {
  if (!std::isfinite(amax)) return 1;  // the codes saturate or are NaN
  // Both bounds keep the scale normal and above zero: an all-zero group has scale 2^-13.
  const float ratio = std::max(amax / 448.0f, 1e-4f);
  int exponent = 0;
  const float mantissa = std::frexp(ratio, &exponent);  // ratio = mantissa · 2^exponent
  return std::ldexp(1.0f, mantissa == 0.5f ? exponent - 1 : exponent);
}

void kv_encode_row(KvType type, int latent, int rope, const float* values, std::byte* row) {
  if (type == KvType::kFp32) {
    std::memcpy(row, values, sizeof(float) * static_cast<size_t>(latent + rope));
    return;
  }
  if (type == KvType::kFp8) {
    std::byte* scales = row + latent;
    for (int group = 0; group < latent; group += kFp8Group) {
      float amax = 0;
      for (int i = 0; i < kFp8Group; ++i) amax = std::max(amax, std::fabs(values[group + i]));
      const float scale = fp8_scale(amax);
      for (int i = 0; i < kFp8Group; ++i)
        row[group + i] = std::byte{tensor::float_to_e4m3(values[group + i] / scale)};
      std::memcpy(scales, &scale, sizeof scale);
      scales += sizeof scale;
    }
    row = scales;
    values += latent;
    latent = 0;
  }
  for (int i = 0; i < latent + rope; ++i) {
    const tensor::bf16 code = tensor::float_to_bf16(values[i]);
    std::memcpy(row + 2 * i, &code, sizeof code);
  }
}

void kv_decode_row(KvType type, int latent, int rope, const std::byte* row, float* values) {
  if (type == KvType::kFp32) {
    std::memcpy(values, row, sizeof(float) * static_cast<size_t>(latent + rope));
    return;
  }
  if (type == KvType::kFp8) {
    const std::array<float, 256>& table = e4m3_table();
    const std::byte* scales = row + latent;
    for (int group = 0; group < latent; group += kFp8Group) {
      float scale;
      std::memcpy(&scale, scales, sizeof scale);
      scales += sizeof scale;
      for (int i = 0; i < kFp8Group; ++i)
        values[group + i] = table[static_cast<size_t>(row[group + i])] * scale;
    }
    row = scales;
    values += latent;
    latent = 0;
  }
  for (int i = 0; i < latent + rope; ++i) {
    tensor::bf16 code;
    std::memcpy(&code, row + 2 * i, sizeof code);
    values[i] = tensor::bf16_to_float(code);
  }
}

}  // namespace headroom::kernels
