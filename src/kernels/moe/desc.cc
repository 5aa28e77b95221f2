// Text form of a moe descriptor.
#include "kernels/moe/desc.h"

namespace headroom::kernels {

std::string MoeDesc::text() const {
  return fmt::format("moe hidden={} inter={} experts={} top_k={} w={} x=F32 max_tokens={}", hidden,
                     inter, experts, top_k, tensor::dtype_name(weight), max_tokens);
}

}  // namespace headroom::kernels
