// sample for AVX-512.
#include "kernels/simd/avx512.h"
#include "kernels/sample/fast-inl.h"

namespace headroom::kernels {

void sample_avx512(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool) {
  sample_fast(desc, args, pool, sample_passes<Avx512>());
}

}  // namespace headroom::kernels
