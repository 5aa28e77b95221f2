// gemm for AVX-512.
#include "kernels/simd/avx512.h"
#include "kernels/gemm/fast-inl.h"

namespace headroom::kernels {

void gemm_avx512(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool) {
  gemm_fast<Avx512>(desc, args, pool);
}

}  // namespace headroom::kernels
