// mla_decode for AVX2.
#include "kernels/simd/avx2.h"
#include "kernels/mla_decode/fast-inl.h"

namespace headroom::kernels {

void mla_decode_avx2(const MlaDecodeDesc& desc, const MlaDecodeArgs& args, base::ThreadPool& pool) {
  mla_decode_fast<Avx2>(desc, args, pool);
}

}  // namespace headroom::kernels
