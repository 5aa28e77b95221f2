// moe for AVX-512.
#include "kernels/simd/avx512.h"
#include "kernels/moe/fast-inl.h"

namespace headroom::kernels {

void moe_avx512(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool) {
  moe_fast<Avx512>(desc, args, pool);
}

}  // namespace headroom::kernels
