// Element types of stored tensors and the exact conversions between the small ones and float.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace headroom::tensor {

/// As named in safetensors headers.
enum class DType : uint8_t { kF32, kF16, kBF16, kF8E4M3, kU8, kI8, kI32, kI64, kF64, kBool };

/// Bytes of one element.
int dtype_bytes(DType type);
/// "BF16", "F8_E4M3", ...
std::string_view dtype_name(DType type);

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

/// OCP E4M3 (no infinities, 0x7F and 0xFF are NaN, largest 448): exact to float.
float e4m3_to_float(uint8_t code);
/// Round to nearest even, saturating to ±448; NaN gives 0x7F.
uint8_t float_to_e4m3(float f);

}  // namespace headroom::tensor
