// Element types of stored tensors and the exact conversions between the small ones and float.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom::tensor {

/// As named in safetensors headers.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kU8,
  kI8,
  kI32,
  kI64,
  kF64,
  kBool,
  kF8E5M2,
  kF8E8M0,
  kI16,
  kU16,
  kU32,
  kU64,
};
inline constexpr int kDTypeCount = 16;

/// Bytes of one element.
int dtype_bytes(DType type);
/// "BF16", "F8_E4M3", ...
std::string_view dtype_name(DType type);
/// The type of that name, if there is one.
std::optional<DType> parse_dtype(std::string_view name);

/// bfloat16: the upper half of a float.
using bf16 = uint16_t;

inline float bf16_to_float(bf16 b) {
  return std::bit_cast<float>(uint32_t{b} << 16);
}

/// Round to nearest even; NaN stays NaN.
inline bf16 float_to_bf16(float f) {
  const auto u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7FFFFFFF) > 0x7F800000) return static_cast<bf16>((u >> 16) | 0x40);
  return static_cast<bf16>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}

/// IEEE half precision: exact to float.
float f16_to_float(uint16_t h);

/// OCP E4M3 (no infinities, 0x7F and 0xFF are NaN, largest 448): exact to float.
float e4m3_to_float(uint8_t code);
/// Round to nearest even, saturating to ±448; NaN gives 0x7F.
uint8_t float_to_e4m3(float f);

}  // namespace headroom::tensor
