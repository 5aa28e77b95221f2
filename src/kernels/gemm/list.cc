// The kernels of gemm, best first.
#include "kernels/gemm/kernels.h"

namespace headroom::kernels {

std::span<const GemmKernel> gemm_kernels() {
  static constexpr GemmKernel kKernels[] = {
      {"reference", gemm_reference_refuses, gemm_reference},
  };
  return kKernels;
}

}  // namespace headroom::kernels
