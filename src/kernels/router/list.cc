// The kernels of router, best first.
#include "kernels/router/kernels.h"

namespace headroom::kernels {

std::span<const RouterKernel> router_kernels() {
  static constexpr RouterKernel kKernels[] = {
      {"reference", router_reference_refuses, router_reference},
  };
  return kKernels;
}

}  // namespace headroom::kernels
