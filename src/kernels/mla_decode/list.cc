// The kernels of mla_decode, best first, and the rows each computes.
#include "kernels/mla_decode/kernels.h"

namespace headroom::kernels {

std::span<const MlaDecodeKernel> mla_decode_kernels() {
  static constexpr MlaDecodeKernel kKernels[] = {
      {"reference", mla_decode_reference_refuses, mla_decode_reference},
  };
  return kKernels;
}

int32_t mla_decode_kernel_rows(std::string_view name, const MlaDecodeDesc& desc) {
  return desc.heads;
}

}  // namespace headroom::kernels
