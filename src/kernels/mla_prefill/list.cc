// The kernels of mla_prefill, best first, and the rows each computes.
#include "kernels/mla_prefill/kernels.h"

namespace headroom::kernels {

std::span<const MlaPrefillKernel> mla_prefill_kernels() {
  static constexpr MlaPrefillKernel kKernels[] = {
      {"reference", mla_prefill_reference_refuses, mla_prefill_reference},
  };
  return kKernels;
}

int32_t mla_prefill_kernel_rows(std::string_view name, const MlaPrefillDesc& desc) {
  return desc.heads;
}

}  // namespace headroom::kernels
