// mla_prefill for AVX2.
#include "kernels/simd/avx2.h"
#include "kernels/mla_prefill/fast-inl.h"

namespace headroom::kernels {

void mla_prefill_avx2(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                      base::ThreadPool& pool) {
  mla_prefill_fast<Avx2>(desc, args, pool);
}

}  // namespace headroom::kernels
