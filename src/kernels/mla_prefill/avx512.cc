// mla_prefill for AVX-512.
#include "kernels/simd/avx512.h"
#include "kernels/mla_prefill/fast-inl.h"

namespace headroom::kernels {

void mla_prefill_avx512(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                        base::ThreadPool& pool) {
  mla_prefill_fast<Avx512>(desc, args, pool);
}

}  // namespace headroom::kernels
