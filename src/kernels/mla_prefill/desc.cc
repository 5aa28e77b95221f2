// Text form of an mla_prefill descriptor.
#include "kernels/mla_prefill/desc.h"

namespace headroom::kernels {

std::string MlaPrefillDesc::text() const {
  return fmt::format(
      "mla_prefill heads={} rows={} latent={} nope={} rope={} value={} q=F32 kv={} page={} "
      "max_tokens={} max_length={}",
      heads, kernel_rows, latent, nope, rope, value, kv_type_name(kv), page_size, max_tokens,
      max_length);
}

}  // namespace headroom::kernels
