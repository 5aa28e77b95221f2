// Names and sizes of element types; E4M3 and half precision to float and back.
#include "tensor/dtype.h"

#include <array>
#include <cmath>
#include <limits>

namespace headroom::tensor {

namespace {

struct TypeRow {
  DType type;
  int bytes;
  std::string_view name;
};

constexpr std::array kTypes = {
    TypeRow{DType::kF32, 4, "F32"},        TypeRow{DType::kF16, 2, "F16"},
    TypeRow{DType::kBF16, 2, "BF16"},      TypeRow{DType::kF8E4M3, 1, "F8_E4M3"},
    TypeRow{DType::kF8E5M2, 1, "F8_E5M2"}, TypeRow{DType::kF8E8M0, 1, "F8_E8M0"},
    TypeRow{DType::kU8, 1, "U8"},          TypeRow{DType::kI8, 1, "I8"},
    TypeRow{DType::kI16, 2, "I16"},        TypeRow{DType::kU16, 2, "U16"},
    TypeRow{DType::kI32, 4, "I32"},        TypeRow{DType::kU32, 4, "U32"},
    TypeRow{DType::kI64, 8, "I64"},        TypeRow{DType::kU64, 8, "U64"},
    TypeRow{DType::kF64, 8, "F64"},        TypeRow{DType::kBool, 1, "BOOL"},
};

const TypeRow& row_of(DType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row;
  return kTypes[0];  // every enumerator has a row; dtype_test walks them all
}

}  // namespace

int dtype_bytes(DType type) {
  return row_of(type).bytes;
}

std::string_view dtype_name(DType type) {
  return row_of(type).name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return row.type;
  return std::nullopt;
}

float f16_to_float(uint16_t h) {
  const uint32_t sign = uint32_t{h & 0x8000u} << 16;
  const uint32_t exponent = (h >> 10) & 0x1F;
  const uint32_t mantissa = h & 0x3FF;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

float e4m3_to_float(uint8_t code) {
  const uint32_t sign = uint32_t{code & 0x80u} << 24;
  const uint32_t exponent = (code >> 3) & 0xF;
  const uint32_t mantissa = code & 7;
  if ((code & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-9f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 120) << 23) | (mantissa << 20));
}

uint8_t float_to_e4m3(float f) {
  if (std::isnan(f)) return 0x7F;
  const auto bits = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  const float magnitude = std::fabs(f);
  if (magnitude >= 448.0f) return sign | 0x7E;
  if (magnitude < 0x1.0p-6f)  // subnormal codes step by 2^-9; 8 of them make the least normal
    return sign | static_cast<uint8_t>(std::nearbyint(magnitude * 0x1.0p9f));
  uint32_t rounded = bits & 0x7FFFFFFF;
  rounded += 0x7FFFF + ((rounded >> 20) & 1);
  return sign | static_cast<uint8_t>((rounded >> 20) - (120 << 3));
}

}  // namespace headroom::tensor
