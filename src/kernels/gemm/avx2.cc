// gemm for AVX2.
#include "kernels/simd/avx2.h"
#include "kernels/gemm/fast-inl.h"

namespace headroom::kernels {

void gemm_avx2(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool) {
  gemm_fast<Avx2>(desc, args, pool);
}

}  // namespace headroom::kernels
