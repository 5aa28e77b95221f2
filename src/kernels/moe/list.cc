// The kernels of moe, best first, and what each refuses.
#include "kernels/moe/kernels.h"
#include "kernels/plan/isa.h"

namespace headroom::kernels {
namespace {

std::optional<Reason> refuses(const MoeDesc& desc) {
  if (desc.weight != tensor::DType::kBF16 && desc.weight != tensor::DType::kF32)
    return Reason::kWeightType;
  return std::nullopt;
}

constexpr MoeKernel kKernels[] = {
    {"avx512", avx512_refuses<MoeDesc, refuses>, moe_avx512},
    {"avx2", avx2_refuses<MoeDesc, refuses>, moe_avx2},
    {"reference", refuses, moe_reference},
};

}  // namespace

std::span<const MoeKernel> moe_kernels() {
  return kKernels;
}

}  // namespace headroom::kernels
