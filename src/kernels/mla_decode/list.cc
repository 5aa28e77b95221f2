// The kernels of mla_decode, best first, what each refuses, and the rows each computes.
#include "kernels/mla_decode/kernels.h"
#include "kernels/plan/isa.h"

namespace headroom::kernels {
namespace {

std::optional<Reason> refuses(const MlaDecodeDesc& desc) {
  if (desc.heads < 1) return Reason::kHeadCount;
  if (desc.max_query < 1) return Reason::kQueryLength;
  if (desc.page_size < 1) return Reason::kPageSize;
  if (desc.kv == KvType::kFp8 && desc.latent % kFp8Group != 0) return Reason::kLatentWidth;
  return std::nullopt;
}

std::optional<Reason> fast_refuses(const MlaDecodeDesc& desc) {
  if (desc.latent % 64 != 0) return Reason::kLatentWidth;  // four vectors of sixteen
  if (desc.rope % 16 != 0) return Reason::kRopeWidth;
  return refuses(desc);
}

constexpr MlaDecodeKernel kKernels[] = {
    {"avx512", avx512_refuses<MlaDecodeDesc, fast_refuses>, mla_decode_avx512},
    {"avx2", avx2_refuses<MlaDecodeDesc, fast_refuses>, mla_decode_avx2},
    {"reference", refuses, mla_decode_reference},
};

}  // namespace

std::span<const MlaDecodeKernel> mla_decode_kernels() {
  return kKernels;
}

int32_t mla_decode_kernel_rows(std::string_view name, const MlaDecodeDesc& desc) {
  // Every kernel here handles the rest of a tile with a smaller tile: no head count is padded.
  return desc.heads;
}

}  // namespace headroom::kernels
