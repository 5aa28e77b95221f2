// router for AVX2.
#include "kernels/simd/avx2.h"
#include "kernels/router/fast-inl.h"

namespace headroom::kernels {

void router_avx2(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool) {
  router_fast<Avx2>(desc, args, pool);
}

}  // namespace headroom::kernels
