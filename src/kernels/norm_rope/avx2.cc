// rms_norm, rope_query and kv_write for AVX2.
#include "kernels/simd/avx2.h"
#include "kernels/norm_rope/fast-inl.h"

namespace headroom::kernels {

void rms_norm_avx2(const RmsNormDesc& desc, const RmsNormArgs& args, base::ThreadPool& pool) {
  rms_norm_fast<Avx2>(desc, args, pool);
}

void rope_query_avx2(const RopeQueryDesc& desc, const RopeQueryArgs& args, base::ThreadPool& pool) {
  rope_query_fast<Avx2>(desc, args, pool);
}

void kv_write_avx2(const KvWriteDesc& desc, const KvWriteArgs& args, base::ThreadPool& pool) {
  kv_write_fast<Avx2>(desc, args, pool);
}

}  // namespace headroom::kernels
