// The kernels of rms_norm, rope_query and kv_write, best first.
#include "kernels/norm_rope/kernels.h"

namespace headroom::kernels {

std::span<const RmsNormKernel> rms_norm_kernels() {
  static constexpr RmsNormKernel kKernels[] = {
      {"reference", rms_norm_reference_refuses, rms_norm_reference},
  };
  return kKernels;
}

std::span<const RopeQueryKernel> rope_query_kernels() {
  static constexpr RopeQueryKernel kKernels[] = {
      {"reference", rope_query_reference_refuses, rope_query_reference},
  };
  return kKernels;
}

std::span<const KvWriteKernel> kv_write_kernels() {
  static constexpr KvWriteKernel kKernels[] = {
      {"reference", kv_write_reference_refuses, kv_write_reference},
  };
  return kKernels;
}

}  // namespace headroom::kernels
