// The kernels of rms_norm, rope_query and kv_write, best first, and what each refuses.
#include "kernels/norm_rope/kernels.h"
#include "kernels/plan/isa.h"

namespace headroom::kernels {
namespace {

std::optional<Reason> norm_refuses(const RmsNormDesc&) {
  return std::nullopt;
}

std::optional<Reason> rope_refuses(const RopeQueryDesc& desc) {
  if (desc.heads < 1) return Reason::kHeadCount;
  if (desc.rope % 2 != 0) return Reason::kRopeWidth;
  return std::nullopt;
}

std::optional<Reason> rope_fast_refuses(const RopeQueryDesc& desc) {
  if (desc.rope % 16 != 0) return Reason::kRopeWidth;
  return rope_refuses(desc);
}

std::optional<Reason> write_refuses(const KvWriteDesc& desc) {
  if (desc.rope % 2 != 0) return Reason::kRopeWidth;
  if (desc.page_size < 1) return Reason::kPageSize;
  if (desc.kv == KvType::kFp8 && desc.latent % kFp8Group != 0) return Reason::kLatentWidth;
  return std::nullopt;
}

std::optional<Reason> write_fast_refuses(const KvWriteDesc& desc) {
  if (desc.latent % 16 != 0) return Reason::kLatentWidth;
  if (desc.rope % 16 != 0) return Reason::kRopeWidth;
  return write_refuses(desc);
}

constexpr RmsNormKernel kRmsNorm[] = {
    {"avx512", avx512_refuses<RmsNormDesc, norm_refuses>, rms_norm_avx512},
    {"avx2", avx2_refuses<RmsNormDesc, norm_refuses>, rms_norm_avx2},
    {"reference", norm_refuses, rms_norm_reference},
};

constexpr RopeQueryKernel kRopeQuery[] = {
    {"avx512", avx512_refuses<RopeQueryDesc, rope_fast_refuses>, rope_query_avx512},
    {"avx2", avx2_refuses<RopeQueryDesc, rope_fast_refuses>, rope_query_avx2},
    {"reference", rope_refuses, rope_query_reference},
};

constexpr KvWriteKernel kKvWrite[] = {
    {"avx512", avx512_refuses<KvWriteDesc, write_fast_refuses>, kv_write_avx512},
    {"avx2", avx2_refuses<KvWriteDesc, write_fast_refuses>, kv_write_avx2},
    {"reference", write_refuses, kv_write_reference},
};

}  // namespace

std::span<const RmsNormKernel> rms_norm_kernels() {
  return kRmsNorm;
}

std::span<const RopeQueryKernel> rope_query_kernels() {
  return kRopeQuery;
}

std::span<const KvWriteKernel> kv_write_kernels() {
  return kKvWrite;
}

}  // namespace headroom::kernels
