// Text form of a gemm descriptor.
#include "kernels/gemm/desc.h"

namespace headroom::kernels {

std::string GemmDesc::text() const {
  return fmt::format("gemm n={} k={} batch={} w={} x=F32", n, k, batch, tensor::dtype_name(weight));
}

}  // namespace headroom::kernels
