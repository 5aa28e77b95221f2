// The probe loops in AVX2 with FMA.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/probe/probe.h"

namespace headroom::kernels {
namespace {

uint64_t read(const std::byte* data, size_t bytes) {
  constexpr size_t kStreams = 8;
  __m256i sums[kStreams];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  for (size_t i = 0; i < bytes; i += kStreams * sizeof(__m256i))
    for (size_t k = 0; k < kStreams; ++k)
      sums[k] = _mm256_xor_si256(
          sums[k],
          _mm256_load_si256(reinterpret_cast<const __m256i*>(data + i + k * sizeof(__m256i))));
  for (size_t k = 1; k < kStreams; ++k) sums[0] = _mm256_xor_si256(sums[0], sums[k]);
  alignas(64) uint64_t words[sizeof(__m256i) / 8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(words), sums[0]);
  uint64_t all = 0;
  for (const uint64_t word : words) all ^= word;
  return all;
}

constexpr int kChains = 12;  // latency 4 times throughput 2, with room to spare

float multiply_add(int64_t rounds) {
  __m256 a[kChains];
  for (auto& x : a) x = _mm256_setzero_ps();
  volatile float source = 0.999F;
  const __m256 m = _mm256_set1_ps(source);
  for (int64_t i = 0; i < rounds; ++i)
    for (auto& x : a) x = _mm256_fmadd_ps(x, m, m);
  __m256 sum = a[0];
  for (int k = 1; k < kChains; ++k) sum = _mm256_add_ps(sum, a[k]);
  alignas(64) float lanes[sizeof(__m256) / 4];
  _mm256_store_ps(lanes, sum);
  float all = 0;
  for (const float lane : lanes) all += lane;
  return all;
}

}  // namespace

const ProbeKernels kProbeAvx2 = {"avx2", read, multiply_add, int64_t{2} * kChains * 8};

}  // namespace headroom::kernels
#endif
