// Avx512: the vector operations the fast kernels are written in, sixteen floats wide.
#pragma once

// gcc 12 reads its own undefined-vector idiom as a use of an uninitialised variable.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>

#include "tensor/dtype.h"

#define HEADROOM_SIMD static inline __attribute__((always_inline))

namespace headroom::kernels {

// Only avx512*.cc include this file. Its functions are always inlined and kernels take the struct
// as a template argument, so no code built with these flags can stand in for portable code.
struct Avx512 {
  using F = __m512;
  static constexpr int kLanes = 16;
  // Register tiles: dot products (rows of x by rows of w), outer products (rows by vectors),
  // attention heads. 32 registers hold 24 accumulators and their operands.
  static constexpr int kDotRows = 6, kDotColumns = 4, kSingleRowColumns = 8;
  static constexpr int kOuterRows = 6, kOuterVectors = 4;
  static constexpr int kHeads = 4, kHeadVectors = 4;

  HEADROOM_SIMD F zero() { return _mm512_setzero_ps(); }
  HEADROOM_SIMD F set(float v) { return _mm512_set1_ps(v); }
  HEADROOM_SIMD F load(const float* p) { return _mm512_loadu_ps(p); }
  HEADROOM_SIMD void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  HEADROOM_SIMD __mmask16 first(int64_t n) {
    return n >= 16 ? __mmask16{0xFFFF} : static_cast<__mmask16>((1u << n) - 1);
  }
  /// The first n floats, zeros behind them; nothing else is read. n ≥ 0.
  HEADROOM_SIMD F load_part(const float* p, int64_t n) {
    return _mm512_maskz_loadu_ps(first(n), p);
  }
  /// The first n floats, `other` behind them.
  HEADROOM_SIMD F load_part_or(const float* p, int64_t n, float other) {
    return _mm512_mask_loadu_ps(set(other), first(n), p);
  }
  HEADROOM_SIMD void store_part(float* p, F v, int64_t n) { _mm512_mask_storeu_ps(p, first(n), v); }
  HEADROOM_SIMD F add(F a, F b) { return _mm512_add_ps(a, b); }
  HEADROOM_SIMD F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  HEADROOM_SIMD F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  HEADROOM_SIMD F div(F a, F b) { return _mm512_div_ps(a, b); }
  HEADROOM_SIMD F max(F a, F b) { return _mm512_max_ps(a, b); }
  HEADROOM_SIMD F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }

  /// Widened halves of 32 BF16 values: those at even and at odd places.
  HEADROOM_SIMD F bf16_even(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  }
  HEADROOM_SIMD F bf16_odd(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-65536)));
  }
  HEADROOM_SIMD __m512i load_pairs(const tensor::bf16* p) { return _mm512_loadu_si512(p); }
  HEADROOM_SIMD __m512i load_pairs_part(const tensor::bf16* p, int64_t n) {
    const __mmask32 mask = n >= 32 ? ~__mmask32{0} : (__mmask32{1} << n) - 1;
    return _mm512_maskz_loadu_epi16(mask, p);
  }
  /// 32 floats in order → those at even places, then those at odd places.
  HEADROOM_SIMD void split_pairs(F low, F high, float* out) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    store(out, _mm512_permutex2var_ps(low, even, high));
    store(out + 16, _mm512_permutex2var_ps(low, odd, high));
  }
  HEADROOM_SIMD F load_bf16(const void* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
  HEADROOM_SIMD F load_bf16_part(const tensor::bf16* p, int64_t n) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first(n), p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
  /// Rounds to nearest even as tensor::float_to_bf16 does, NaN included.
  HEADROOM_SIMD void store_bf16(void* p, F v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
    _mm256_storeu_si256(static_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
  /// E4M3 codes as tensor::float_to_e4m3 gives them: nearest even, saturated, NaN → 0x7F.
  HEADROOM_SIMD void store_e4m3(void* p, F v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i sign = _mm512_and_si512(_mm512_srli_epi32(bits, 24), _mm512_set1_epi32(0x80));
    const F magnitude = _mm512_min_ps(_mm512_abs_ps(v), set(448.0f));
    const __m512i u = _mm512_castps_si512(magnitude);
    // Normal codes: round the float's mantissa to three bits, then move the exponent's bias.
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 20), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFFF)));
    const __m512i normal = _mm512_sub_epi32(_mm512_srli_epi32(up, 20), _mm512_set1_epi32(120 << 3));
    // Below 2^-6 codes are multiples of 2^-9, the ulp of 2^14.
    const __m512i tiny = _mm512_and_si512(_mm512_castps_si512(add(magnitude, set(16384.0f))),
                                          _mm512_set1_epi32(0xF));
    const __mmask16 small = _mm512_cmp_ps_mask(magnitude, set(0x1.0p-6f), _CMP_LT_OQ);
    __m512i code = _mm512_or_si512(sign, _mm512_mask_blend_epi32(small, normal, tiny));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    code = _mm512_mask_blend_epi32(nan, code, _mm512_set1_epi32(0x7F));
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(code));
  }
  /// a where the sign bit of x is set, b elsewhere.
  HEADROOM_SIMD F select_negative(F x, F a, F b) {
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(x)), b, a);
  }
  HEADROOM_SIMD F abs(F a) { return _mm512_abs_ps(a); }
  /// kLanes/2 floats, each twice.
  HEADROOM_SIMD F load_twice(const float* p) {
    const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(index, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
  }
  HEADROOM_SIMD F swap_pairs(F a) { return _mm512_permute_ps(a, 0xB1); }
  /// a · b - c at even places, a · b + c at odd ones.
  HEADROOM_SIMD F fma_sub_add(F a, F b, F c) { return _mm512_fmaddsub_ps(a, b, c); }
  /// a where it is a number, else -inf.
  HEADROOM_SIMD F nan_to_lowest(F a) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a, set(-__builtin_inff()));
  }
  /// A bit for each lane.
  HEADROOM_SIMD uint32_t equal(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  HEADROOM_SIMD uint32_t not_below(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }

  /// 16 E4M3 codes times `scale256` = 256 · scale: the code's bits are those of a half float that
  /// is 2^8 too small. NaN codes come out as ±480 · scale: see e4m3_has_nan.
  HEADROOM_SIMD F load_e4m3(const void* p, F scale256) {
    const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    const __m256i half =
        _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(static_cast<short>(0xBFFF)));
    return _mm512_mul_ps(_mm512_cvtph_ps(half), scale256);
  }
  /// Whether any of 64 codes is a NaN.
  HEADROOM_SIMD bool e4m3_has_nan(const void* p) {
    const __m512i magnitude = _mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(0x7F));
    return _mm512_cmpeq_epi8_mask(magnitude, _mm512_set1_epi8(0x7F)) != 0;
  }

  /// Integer weights of sampling (sample/weight.h): 2^40 · value · 2^rounded where a bit of `valid`
  /// is set, else 0. value is in [1/2, 2), the product at most 1.
  struct Weights {
    __m512i low, high;
  };
  HEADROOM_SIMD Weights no_weights() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
  HEADROOM_SIMD Weights weights(F value, F rounded, uint32_t valid) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i mantissa = _mm512_or_si512(_mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFF)),
                                             _mm512_set1_epi32(0x800000));
    const __m512i shift =
        _mm512_sub_epi32(_mm512_sub_epi32(_mm512_set1_epi32(127), _mm512_srli_epi32(bits, 23)),
                         _mm512_cvtps_epi32(rounded));
    const __m512i kept = _mm512_maskz_mov_epi32(static_cast<__mmask16>(valid), mantissa);
    const auto half = [](__m256i m, __m256i s) __attribute__((always_inline)) {
      return _mm512_srlv_epi64(_mm512_slli_epi64(_mm512_cvtepu32_epi64(m), 17),
                               _mm512_cvtepu32_epi64(s));
    };
    return {half(_mm512_castsi512_si256(kept), _mm512_castsi512_si256(shift)),
            half(_mm512_extracti64x4_epi64(kept, 1), _mm512_extracti64x4_epi64(shift, 1))};
  }
  HEADROOM_SIMD Weights add_weights(Weights a, Weights b) {
    return {_mm512_add_epi64(a.low, b.low), _mm512_add_epi64(a.high, b.high)};
  }
  HEADROOM_SIMD uint64_t sum_weights(Weights a) {
    return static_cast<uint64_t>(_mm512_reduce_add_epi64(_mm512_add_epi64(a.low, a.high)));
  }
  HEADROOM_SIMD void store_weights(uint64_t* p, Weights w, int64_t n) {
    const __mmask16 mask = first(n);
    _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(mask), w.low);
    _mm512_mask_storeu_epi64(p + 8, static_cast<__mmask8>(mask >> 8), w.high);
  }

  /// The sums of four vectors. Each vector is added up along the same tree.
  HEADROOM_SIMD __m128 reduce4(F a, F b, F c, F d) {
    const F ab = add(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const F cd = add(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const F abcd = add(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE));
    const __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps(abcd, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  HEADROOM_SIMD float first_lane(F a) { return _mm512_cvtss_f32(a); }
  HEADROOM_SIMD float reduce(F a) { return _mm_cvtss_f32(reduce4(a, a, a, a)); }
  HEADROOM_SIMD float reduce_max(F a) { return _mm512_reduce_max_ps(a); }

  /// A square of sixteen vectors, in place.
  HEADROOM_SIMD void transpose(F* v) {
    F t[16];
    for (int i = 0; i < 16; i += 2) {  // pairs of rows, then fours, inside 128-bit lanes
      t[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
      v[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
      v[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xEE);
      v[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      v[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {  // then the 4 × 4 square of those lanes
      const F a = _mm512_shuffle_f32x4(v[i], v[i + 4], 0x88);
      const F b = _mm512_shuffle_f32x4(v[i], v[i + 4], 0xDD);
      const F c = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0x88);
      const F d = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0xDD);
      t[i] = _mm512_shuffle_f32x4(a, c, 0x88);
      t[i + 8] = _mm512_shuffle_f32x4(a, c, 0xDD);
      t[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
      t[i + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
    }
    for (int i = 0; i < 16; ++i) v[i] = t[i];
  }

  /// exp(x) within 2 ulp for x ≤ 88; 0 for -inf; NaN stays NaN.
  HEADROOM_SIMD F exp(F x) {
    const F n = _mm512_roundscale_ps(mul(x, set(1.44269504f)), _MM_FROUND_TO_NEAREST_INT);
    F r = _mm512_fnmadd_ps(n, set(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, set(-2.12194440e-4f), r);
    F p = set(1.98756912e-4f);
    p = fma(p, r, set(1.39819994e-3f));
    p = fma(p, r, set(8.33345205e-3f));
    p = fma(p, r, set(4.16657962e-2f));
    p = fma(p, r, set(1.66666650e-1f));
    p = fma(p, r, set(0.5f));
    p = fma(mul(r, r), p, add(r, set(1.0f)));
    // -inf - n·ln2 is NaN above; the mask keeps it out.
    const __mmask16 tiny = _mm512_cmp_ps_mask(x, set(-104.0f), _CMP_LT_OQ);
    return _mm512_mask_blend_ps(tiny, _mm512_scalef_ps(p, n), zero());
  }
};

}  // namespace headroom::kernels
