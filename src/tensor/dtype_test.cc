// Every code of every small format, against arithmetic written another way.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

namespace headroom::tensor {
namespace {

/// Value of a code with `e` exponent and `m` mantissa bits, specials left to the caller.
double decode(uint32_t code, int e, int m) {
  const int bias = (1 << (e - 1)) - 1;
  const uint32_t exponent = (code >> m) & ((1u << e) - 1);
  const double mantissa = code & ((1u << m) - 1);
  const double one = 1u << m;
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa / one, 1 - bias)
                               : std::ldexp(1 + mantissa / one, static_cast<int>(exponent) - bias);
  return (code >> (e + m)) & 1 ? -magnitude : magnitude;
}

TEST(DType, NamesAndSizesCoverEveryType) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(type)), type);
    names.insert(dtype_name(type));
    EXPECT_GE(dtype_bytes(type), 1);
  }
  EXPECT_EQ(names.size(), kDTypeCount);
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2);
  EXPECT_EQ(dtype_bytes(DType::kI64), 8);
  EXPECT_FALSE(parse_dtype("F4"));
}

TEST(DType, Bf16RoundTripsEveryCode) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float f = bf16_to_float(static_cast<bf16>(code));
    const bf16 back = float_to_bf16(f);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(bf16_to_float(back))) << code;
    } else {
      ASSERT_EQ(back, code);
      if ((code & 0x7F80) != 0x7F80) {
        ASSERT_EQ(f, decode(code, 8, 7));
      }
    }
  }
}

TEST(DType, Bf16RoundsToNearestEven) {
  for (uint32_t code = 0; code < 0x7F7F; ++code) {  // positive, finite, with a finite successor
    const uint32_t low = code << 16;
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(low + 0x7FFF)), code);
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(low + 0x8001)), code + 1);
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(low + 0x8000)), code + (code & 1));
  }
}

TEST(DType, F16EveryCode) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float f = f16_to_float(static_cast<uint16_t>(code));
    const uint32_t magnitude = code & 0x7FFF;
    if (magnitude > 0x7C00) {
      ASSERT_TRUE(std::isnan(f)) << code;
    } else if (magnitude == 0x7C00) {
      ASSERT_EQ(f, code & 0x8000 ? -INFINITY : INFINITY);
    } else {
      ASSERT_EQ(f, decode(code, 5, 10)) << code;
      ASSERT_EQ(std::signbit(f), (code & 0x8000) != 0);
    }
  }
}

TEST(DType, E4m3DecodesAndRoundTripsEveryCode) {
  for (uint32_t code = 0; code < 256; ++code) {
    const float f = e4m3_to_float(static_cast<uint8_t>(code));
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(f));
    } else {
      EXPECT_EQ(f, decode(code, 4, 3)) << code;
      EXPECT_EQ(float_to_e4m3(f), code);
    }
  }
  EXPECT_EQ(e4m3_to_float(0x7E), 448.0f);
}

/// The nearest finite code, ties to the even one, found by looking at all of them.
uint8_t nearest_e4m3(float f) {
  const double magnitude = std::min(std::fabs(static_cast<double>(f)), 448.0);
  uint32_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (uint32_t code = 0; code < 0x7F; ++code) {
    const double d = std::fabs(decode(code, 4, 3) - magnitude);
    if (d < distance || (d == distance && code % 2 == 0)) {
      best = code;
      distance = d;
    }
  }
  return static_cast<uint8_t>(best | (std::signbit(f) ? 0x80 : 0));
}

TEST(DType, E4m3EncodesEveryBf16ValueToTheNearestCode) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float f = bf16_to_float(static_cast<bf16>(code));
    if (std::isnan(f)) {
      ASSERT_EQ(float_to_e4m3(f), 0x7F);
    } else {
      ASSERT_EQ(float_to_e4m3(f), nearest_e4m3(f)) << code;
    }
  }
}

TEST(DType, E4m3TiesGoToEven) {
  for (uint32_t code = 0; code < 0x7E; ++code) {
    const auto middle = static_cast<float>((decode(code, 4, 3) + decode(code + 1, 4, 3)) / 2);
    EXPECT_EQ(float_to_e4m3(middle), code + (code & 1));
    EXPECT_EQ(float_to_e4m3(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(float_to_e4m3(std::nextafter(middle, 1e9f)), code + 1);
  }
}

}  // namespace
}  // namespace headroom::tensor
