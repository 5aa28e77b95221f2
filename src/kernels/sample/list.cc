// The kernels of sample, best first, and what each refuses.
#include "kernels/plan/isa.h"
#include "kernels/sample/kernels.h"

namespace headroom::kernels {
namespace {

std::optional<Reason> refuses(const SampleDesc&) {
  return std::nullopt;
}

constexpr SampleKernel kKernels[] = {
    {"avx512", avx512_refuses<SampleDesc, refuses>, sample_avx512},
    {"avx2", avx2_refuses<SampleDesc, refuses>, sample_avx2},
    {"reference", refuses, sample_reference},
};

}  // namespace

std::span<const SampleKernel> sample_kernels() {
  return kKernels;
}

}  // namespace headroom::kernels
