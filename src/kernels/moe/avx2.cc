// moe for AVX2.
#include "kernels/simd/avx2.h"
#include "kernels/moe/fast-inl.h"

namespace headroom::kernels {

void moe_avx2(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool) {
  moe_fast<Avx2>(desc, args, pool);
}

}  // namespace headroom::kernels
