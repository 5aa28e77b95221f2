// Text form of an mla_decode descriptor and the merge of partial results.
#include "kernels/mla_decode/desc.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headroom::kernels {

std::string MlaDecodeDesc::text() const {
  return fmt::format(
      "mla_decode heads={} rows={} latent={} rope={} q=F32 kv={} page={} max_query={} max_batch={} "
      "max_length={}",
      heads, kernel_rows, latent, rope, kv_type_name(kv), page_size, max_query, max_batch,
      max_length);
}

void merge_partials(float* out, float* lse, const float* other, float other_lse, int width) {
  constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  if (other_lse == kEmpty) return;  // also when both are empty: (0, -inf) stays
  const float top = std::max(*lse, other_lse);
  const float mine = std::exp(*lse - top), theirs = std::exp(other_lse - top);
  const float sum = mine + theirs;
  const float a = mine / sum, b = theirs / sum;
  for (int i = 0; i < width; ++i) out[i] = a * out[i] + b * other[i];
  *lse = top + std::log(sum);
}

}  // namespace headroom::kernels
