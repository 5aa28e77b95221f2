// router for AVX-512.
#include "kernels/simd/avx512.h"
#include "kernels/router/fast-inl.h"

namespace headroom::kernels {

void router_avx512(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool) {
  router_fast<Avx512>(desc, args, pool);
}

}  // namespace headroom::kernels
