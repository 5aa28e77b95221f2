// The probe loop of BF16 dot products in AVX-512 (VDPBF16PS).
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/probe/probe.h"

namespace headroom::kernels {
namespace {

constexpr int kChains = 16;  // latency 6 times throughput 2, with room to spare

float multiply_add(int64_t rounds) {
  __m512 a[kChains];
  for (auto& x : a) x = _mm512_setzero_ps();
  volatile float source = 0.5F;  // exact in BF16
  const __m512bh m = _mm512_cvtne2ps_pbh(_mm512_set1_ps(source), _mm512_set1_ps(source));
  for (int64_t i = 0; i < rounds; ++i)
    for (auto& x : a) x = _mm512_dpbf16_ps(x, m, m);
  __m512 sum = a[0];
  for (int k = 1; k < kChains; ++k) sum = _mm512_add_ps(sum, a[k]);
  alignas(64) float lanes[sizeof(__m512) / 4];
  _mm512_store_ps(lanes, sum);
  float all = 0;
  for (const float lane : lanes) all += lane;
  return all;
}

}  // namespace

// Sixteen lanes, each with two multiply-adds an instruction.
const Bf16Probe kProbeAvx512Bf16 = {"avx512 bf16", multiply_add, int64_t{2} * kChains * 16 * 2};

}  // namespace headroom::kernels
#endif
