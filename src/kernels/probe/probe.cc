// Picks the probe loops for this machine, and holds the portable ones.
#include "kernels/probe/probe.h"

#include <cstring>

#include "base/cpu.h"

namespace headroom::kernels {
namespace {

uint64_t read(const std::byte* data, size_t bytes) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i < bytes; i += 64) {
    uint64_t words[8];
    std::memcpy(words, data + i, sizeof words);
    for (int k = 0; k < 8; ++k) sums[k] ^= words[k];
  }
  uint64_t all = 0;
  for (const uint64_t sum : sums) all ^= sum;
  return all;
}

constexpr int kLanes = 48;  // twelve 128-bit registers

float multiply_add(int64_t rounds) {
  float a[kLanes] = {};
  volatile float source = 0.999F;
  const float m = source;
  for (int64_t i = 0; i < rounds; ++i)
    for (float& x : a) x = x * m + m;
  float sum = 0;
  for (const float x : a) sum += x;
  return sum;
}

}  // namespace

const ProbeKernels kProbePortable = {"baseline", read, multiply_add, int64_t{2} * kLanes};

const ProbeKernels& probe_kernels() {
#if defined(__x86_64__)
  if (base::cpu_features().avx512) return kProbeAvx512;
  if (base::cpu_features().avx2) return kProbeAvx2;
#endif
  return kProbePortable;
}

const Bf16Probe* bf16_probe() {
#if defined(__x86_64__)
  if (base::cpu_features().avx512_bf16) return &kProbeAvx512Bf16;
#endif
  return nullptr;
}

}  // namespace headroom::kernels
