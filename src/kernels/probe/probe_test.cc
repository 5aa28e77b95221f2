// The probe loops of every instruction set here read all bytes and count what they say.
#include "kernels/probe/probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/cpu.h"

namespace headroom::kernels {
namespace {

std::vector<const ProbeKernels*> available() {
  std::vector<const ProbeKernels*> list = {&kProbePortable};
#if defined(__x86_64__)
  if (base::cpu_features().avx2) list.push_back(&kProbeAvx2);
  if (base::cpu_features().avx512) list.push_back(&kProbeAvx512);
#endif
  return list;
}

TEST(Probe, EveryByteCounts) {
  constexpr size_t kBytes = 4096;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  const std::unique_ptr<std::byte, Free> data(
      static_cast<std::byte*>(std::aligned_alloc(64, kBytes)));
  for (const ProbeKernels* kernels : available()) {
    std::fill_n(data.get(), kBytes, std::byte{0});
    ASSERT_EQ(kernels->read(data.get(), kBytes), 0U) << kernels->isa;
    for (size_t i = 0; i < kBytes; ++i) {
      data.get()[i] = std::byte{0x5A};
      ASSERT_NE(kernels->read(data.get(), kBytes), 0U) << kernels->isa << " byte " << i;
      data.get()[i] = std::byte{0};
    }
  }
}

TEST(Probe, MultiplyAddsAreReallyDone) {
  // x ← m·x + m from 0 reaches m (1 − mⁿ) / (1 − m) after n rounds, in each lane.
  for (const ProbeKernels* kernels : available()) {
    const double m = 0.999F;
    const double lane = m * (1 - std::pow(m, 100)) / (1 - m);
    const double lanes = static_cast<double>(kernels->flops_per_round) / 2;
    EXPECT_NEAR(kernels->multiply_add(100) / (lane * lanes), 1, 1e-4) << kernels->isa;
  }
}

TEST(Probe, Bf16DotProductsAreReallyDone) {
  const Bf16Probe* probe = bf16_probe();
  if (probe == nullptr) GTEST_SKIP() << "this machine has no BF16 dot products";
  // Each multiply-add adds 1/4, exactly.
  const double adds = 100.0 * static_cast<double>(probe->flops_per_round) / 2;
  EXPECT_EQ(probe->multiply_add(100), adds / 4);
}

TEST(Probe, PicksTheWidest) {
  EXPECT_EQ(&probe_kernels(), available().back());
}

}  // namespace
}  // namespace headroom::kernels
