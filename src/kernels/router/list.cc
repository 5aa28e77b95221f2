// The kernels of router, best first, and what each refuses.
#include "kernels/plan/isa.h"
#include "kernels/router/kernels.h"

namespace headroom::kernels {
namespace {

std::optional<Reason> refuses(const RouterDesc&) {
  return std::nullopt;
}

constexpr RouterKernel kKernels[] = {
    {"avx512", avx512_refuses<RouterDesc, refuses>, router_avx512},
    {"avx2", avx2_refuses<RouterDesc, refuses>, router_avx2},
    {"reference", refuses, router_reference},
};

}  // namespace

std::span<const RouterKernel> router_kernels() {
  return kKernels;
}

}  // namespace headroom::kernels
