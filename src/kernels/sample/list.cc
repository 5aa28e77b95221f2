// The kernels of sample, best first.
#include "kernels/sample/kernels.h"

namespace headroom::kernels {

std::span<const SampleKernel> sample_kernels() {
  static constexpr SampleKernel kKernels[] = {
      {"reference", sample_reference_refuses, sample_reference},
  };
  return kKernels;
}

}  // namespace headroom::kernels
