// mla_decode for AVX-512.
#include "kernels/simd/avx512.h"
#include "kernels/mla_decode/fast-inl.h"

namespace headroom::kernels {

void mla_decode_avx512(const MlaDecodeDesc& desc, const MlaDecodeArgs& args,
                       base::ThreadPool& pool) {
  mla_decode_fast<Avx512>(desc, args, pool);
}

}  // namespace headroom::kernels
