// sample for AVX2.
#include "kernels/simd/avx2.h"
#include "kernels/sample/fast-inl.h"

namespace headroom::kernels {

void sample_avx2(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool) {
  sample_fast(desc, args, pool, sample_passes<Avx2>());
}

}  // namespace headroom::kernels
