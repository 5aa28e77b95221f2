// The kernels of mla_prefill, best first, what each refuses, and the rows each computes.
#include "kernels/mla_prefill/kernels.h"
#include "kernels/plan/isa.h"

namespace headroom::kernels {
namespace {

std::optional<Reason> refuses(const MlaPrefillDesc& desc) {
  if (desc.heads < 1) return Reason::kHeadCount;
  if (desc.page_size < 1) return Reason::kPageSize;
  if (desc.kv == KvType::kFp8 && desc.latent % kFp8Group != 0) return Reason::kLatentWidth;
  return std::nullopt;
}

std::optional<Reason> fast_refuses(const MlaPrefillDesc& desc) {
  if (desc.latent % 16 != 0) return Reason::kLatentWidth;
  if (desc.rope % 16 != 0) return Reason::kRopeWidth;
  if (desc.nope % 16 != 0 || desc.value % 16 != 0) return Reason::kWidthAlignment;
  return refuses(desc);
}

constexpr MlaPrefillKernel kKernels[] = {
    {"avx512", avx512_refuses<MlaPrefillDesc, fast_refuses>, mla_prefill_avx512},
    {"avx2", avx2_refuses<MlaPrefillDesc, fast_refuses>, mla_prefill_avx2},
    {"reference", refuses, mla_prefill_reference},
};

}  // namespace

std::span<const MlaPrefillKernel> mla_prefill_kernels() {
  return kKernels;
}

int32_t mla_prefill_kernel_rows(std::string_view name, const MlaPrefillDesc& desc) {
  return desc.heads;  // heads are separate tasks; none is padded
}

}  // namespace headroom::kernels
