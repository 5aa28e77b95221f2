// The kernels of gemm, best first, and what each refuses.
#include "kernels/gemm/kernels.h"
#include "kernels/plan/isa.h"

namespace headroom::kernels {
namespace {

std::optional<Reason> refuses_shape(const GemmDesc& desc) {
  if (desc.weight != tensor::DType::kBF16 && desc.weight != tensor::DType::kF32)
    return Reason::kWeightType;
  return std::nullopt;
}

constexpr GemmKernel kKernels[] = {
    {"avx512", avx512_refuses<GemmDesc, refuses_shape>, gemm_avx512},
    {"avx2", avx2_refuses<GemmDesc, refuses_shape>, gemm_avx2},
    {"reference", refuses_shape, gemm_reference},
};

}  // namespace

std::span<const GemmKernel> gemm_kernels() {
  return kKernels;
}

}  // namespace headroom::kernels
