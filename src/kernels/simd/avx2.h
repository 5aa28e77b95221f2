// Avx2: the vector operations the fast kernels are written in, eight floats wide.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "tensor/dtype.h"

#define HEADROOM_SIMD static inline __attribute__((always_inline))

namespace headroom::kernels {

// Only avx2*.cc include this file; see avx512.h.
struct Avx2 {
  using F = __m256;
  static constexpr int kLanes = 8;
  // Register tiles for 16 registers: see avx512.h.
  static constexpr int kDotRows = 3, kDotColumns = 3, kSingleRowColumns = 4;
  static constexpr int kOuterRows = 6, kOuterVectors = 2;
  static constexpr int kHeads = 2, kHeadVectors = 4;

  HEADROOM_SIMD F zero() { return _mm256_setzero_ps(); }
  HEADROOM_SIMD F set(float v) { return _mm256_set1_ps(v); }
  HEADROOM_SIMD F load(const float* p) { return _mm256_loadu_ps(p); }
  HEADROOM_SIMD void store(float* p, F v) { _mm256_storeu_ps(p, v); }
  HEADROOM_SIMD __m256i first(int64_t n) {
    const int count = n >= 8 ? 8 : static_cast<int>(n);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  /// The first n floats, zeros behind them; nothing else is read. n ≥ 0.
  HEADROOM_SIMD F load_part(const float* p, int64_t n) { return _mm256_maskload_ps(p, first(n)); }
  /// The first n floats, `other` behind them.
  HEADROOM_SIMD F load_part_or(const float* p, int64_t n, float other) {
    return _mm256_blendv_ps(set(other), load_part(p, n), _mm256_castsi256_ps(first(n)));
  }
  HEADROOM_SIMD void store_part(float* p, F v, int64_t n) { _mm256_maskstore_ps(p, first(n), v); }
  HEADROOM_SIMD F add(F a, F b) { return _mm256_add_ps(a, b); }
  HEADROOM_SIMD F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  HEADROOM_SIMD F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  HEADROOM_SIMD F div(F a, F b) { return _mm256_div_ps(a, b); }
  HEADROOM_SIMD F max(F a, F b) { return _mm256_max_ps(a, b); }
  HEADROOM_SIMD F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }

  /// Widened halves of 16 BF16 values: those at even and at odd places.
  HEADROOM_SIMD F bf16_even(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
  }
  HEADROOM_SIMD F bf16_odd(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536)));
  }
  HEADROOM_SIMD __m256i load_pairs(const tensor::bf16* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  HEADROOM_SIMD __m256i load_pairs_part(const tensor::bf16* p, int64_t n) {
    if (n >= 16) return load_pairs(p);
    alignas(32) tensor::bf16 padded[16] = {};
    for (int64_t i = 0; i < n; ++i) padded[i] = p[i];
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(padded));
  }
  /// 16 floats in order → those at even places, then those at odd places.
  HEADROOM_SIMD void split_pairs(F low, F high, float* out) {
    const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0x88));
    const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0xDD));
    store(out, _mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xD8)));
    store(out + 8, _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xD8)));
  }
  HEADROOM_SIMD F load_bf16(const void* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
  HEADROOM_SIMD F load_bf16_part(const tensor::bf16* p, int64_t n) {
    if (n >= 8) return load_bf16(p);
    alignas(16) tensor::bf16 padded[8] = {};
    for (int64_t i = 0; i < n; ++i) padded[i] = p[i];
    return load_bf16(padded);
  }
  /// The low 16 bits of each lane.
  HEADROOM_SIMD __m128i narrow(__m256i v) {
    const __m256i packed = _mm256_packus_epi32(v, v);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
  }
  /// Rounds to nearest even as tensor::float_to_bf16 does, NaN included.
  HEADROOM_SIMD void store_bf16(void* p, F v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    _mm_storeu_si128(static_cast<__m128i*>(p),
                     narrow(_mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16)));
  }
  /// E4M3 codes as tensor::float_to_e4m3 gives them: see avx512.h.
  HEADROOM_SIMD void store_e4m3(void* p, F v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
    const F magnitude = _mm256_min_ps(abs(v), set(448.0f));
    const __m256i u = _mm256_castps_si256(magnitude);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 20), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFFF)));
    const __m256i normal = _mm256_sub_epi32(_mm256_srli_epi32(up, 20), _mm256_set1_epi32(120 << 3));
    const __m256i tiny = _mm256_and_si256(_mm256_castps_si256(add(magnitude, set(16384.0f))),
                                          _mm256_set1_epi32(0xF));
    const __m256i small = _mm256_castps_si256(_mm256_cmp_ps(magnitude, set(0x1.0p-6f), _CMP_LT_OQ));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    __m256i code = _mm256_or_si256(sign, _mm256_blendv_epi8(normal, tiny, small));
    code = _mm256_blendv_epi8(code, _mm256_set1_epi32(0x7F), nan);
    const __m128i words = narrow(code);
    _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
  /// a where the sign bit of x is set, b elsewhere.
  HEADROOM_SIMD F select_negative(F x, F a, F b) { return _mm256_blendv_ps(b, a, x); }
  HEADROOM_SIMD F abs(F a) { return _mm256_andnot_ps(set(-0.0f), a); }
  /// kLanes/2 floats, each twice.
  HEADROOM_SIMD F load_twice(const float* p) {
    const __m256i index = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), index);
  }
  HEADROOM_SIMD F swap_pairs(F a) { return _mm256_permute_ps(a, 0xB1); }
  /// a · b - c at even places, a · b + c at odd ones.
  HEADROOM_SIMD F fma_sub_add(F a, F b, F c) { return _mm256_fmaddsub_ps(a, b, c); }
  /// a where it is a number, else -inf.
  HEADROOM_SIMD F nan_to_lowest(F a) {
    return _mm256_blendv_ps(a, set(-__builtin_inff()), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  }
  /// A bit for each lane.
  HEADROOM_SIMD uint32_t equal(F a, F b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)));
  }
  HEADROOM_SIMD uint32_t not_below(F a, F b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ)));
  }

  /// 8 E4M3 codes times `scale256` = 256 · scale; see avx512.h.
  HEADROOM_SIMD F load_e4m3(const void* p, F scale256) {
    const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
    const __m128i half =
        _mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16(static_cast<short>(0xBFFF)));
    return _mm256_mul_ps(_mm256_cvtph_ps(half), scale256);
  }
  /// Whether any of 64 codes is a NaN.
  HEADROOM_SIMD bool e4m3_has_nan(const void* p) {
    const auto* codes = static_cast<const __m256i*>(p);
    const __m256i nan = _mm256_set1_epi8(0x7F);
    const __m256i a = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_loadu_si256(codes), nan), nan);
    const __m256i b = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_loadu_si256(codes + 1), nan), nan);
    return _mm256_movemask_epi8(_mm256_or_si256(a, b)) != 0;
  }

  /// Integer weights of sampling: see avx512.h.
  struct Weights {
    __m256i low, high;
  };
  HEADROOM_SIMD Weights no_weights() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  HEADROOM_SIMD Weights weights(F value, F rounded, uint32_t valid) {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i mantissa = _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFF)),
                                             _mm256_set1_epi32(0x800000));
    const __m256i shift =
        _mm256_sub_epi32(_mm256_sub_epi32(_mm256_set1_epi32(127), _mm256_srli_epi32(bits, 23)),
                         _mm256_cvtps_epi32(rounded));
    const __m256i lane_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i valid_bits =
        _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(valid)), lane_bits);
    const __m256i kept = _mm256_and_si256(mantissa, _mm256_cmpeq_epi32(valid_bits, lane_bits));
    const auto half = [](__m128i m, __m128i s) __attribute__((always_inline)) {
      return _mm256_srlv_epi64(_mm256_slli_epi64(_mm256_cvtepu32_epi64(m), 17),
                               _mm256_cvtepu32_epi64(s));
    };
    return {half(_mm256_castsi256_si128(kept), _mm256_castsi256_si128(shift)),
            half(_mm256_extracti128_si256(kept, 1), _mm256_extracti128_si256(shift, 1))};
  }
  HEADROOM_SIMD Weights add_weights(Weights a, Weights b) {
    return {_mm256_add_epi64(a.low, b.low), _mm256_add_epi64(a.high, b.high)};
  }
  HEADROOM_SIMD uint64_t sum_weights(Weights a) {
    alignas(32) uint64_t lanes[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_add_epi64(a.low, a.high));
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
  }
  HEADROOM_SIMD void store_weights(uint64_t* p, Weights w, int64_t n) {
    alignas(32) uint64_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), w.low);
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes + 4), w.high);
    for (int64_t i = 0; i < (n < 8 ? n : 8); ++i) p[i] = lanes[i];
  }

  /// The sums of four vectors. Each vector is added up along the same tree.
  HEADROOM_SIMD __m128 reduce4(F a, F b, F c, F d) {
    const F ab = add(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    const F cd = add(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    const F abcd = add(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));
    return _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1));
  }
  HEADROOM_SIMD float first_lane(F a) { return _mm256_cvtss_f32(a); }
  HEADROOM_SIMD float reduce(F a) { return _mm_cvtss_f32(reduce4(a, a, a, a)); }
  HEADROOM_SIMD float reduce_max(F a) {
    __m128 v = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)));
  }

  /// A square of eight vectors, in place.
  HEADROOM_SIMD void transpose(F* v) {
    F t[8];
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      v[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      v[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
      v[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      v[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x20);
      t[i + 4] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x31);
    }
    for (int i = 0; i < 8; ++i) v[i] = t[i];
  }

  /// exp(x) within 2 ulp for -87 ≤ x ≤ 88; 0 below; NaN stays NaN.
  HEADROOM_SIMD F exp(F x) {
    const F n =
        _mm256_round_ps(mul(x, set(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    F r = _mm256_fnmadd_ps(n, set(0.693359375f), x);
    r = _mm256_fnmadd_ps(n, set(-2.12194440e-4f), r);
    F p = set(1.98756912e-4f);
    p = fma(p, r, set(1.39819994e-3f));
    p = fma(p, r, set(8.33345205e-3f));
    p = fma(p, r, set(4.16657962e-2f));
    p = fma(p, r, set(1.66666650e-1f));
    p = fma(p, r, set(0.5f));
    p = fma(mul(r, r), p, add(r, set(1.0f)));
    // The exponent is added in two halves: 2^128 is no float, 2^64 · 2^64 · p may be one.
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    const F a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const F b = _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23));
    const F tiny = _mm256_cmp_ps(x, set(-87.0f), _CMP_LT_OQ);
    return _mm256_andnot_ps(tiny, mul(mul(p, a), b));
  }
};

}  // namespace headroom::kernels
