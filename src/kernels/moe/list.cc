// The kernels of moe, best first.
#include "kernels/moe/kernels.h"

namespace headroom::kernels {

std::span<const MoeKernel> moe_kernels() {
  static constexpr MoeKernel kKernels[] = {
      {"reference", moe_reference_refuses, moe_reference},
  };
  return kKernels;
}

}  // namespace headroom::kernels
