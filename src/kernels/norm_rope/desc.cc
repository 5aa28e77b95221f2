// Text forms of the rms_norm, rope_query and kv_write descriptors.
#include "kernels/norm_rope/desc.h"

namespace headroom::kernels {

std::string RmsNormDesc::text() const {
  return fmt::format("rms_norm width={}", width);
}

std::string RopeQueryDesc::text() const {
  return fmt::format("rope_query heads={} nope={} rope={}", heads, nope, rope);
}

std::string KvWriteDesc::text() const {
  return fmt::format("kv_write latent={} rope={} kv={} page={}", latent, rope, kv_type_name(kv),
                     page_size);
}

}  // namespace headroom::kernels
