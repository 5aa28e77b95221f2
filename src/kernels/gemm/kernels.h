// The implementations of gemm that list.cc ranks.
#pragma once

#include "kernels/gemm/desc.h"

namespace headroom::kernels {

std::optional<Reason> gemm_reference_refuses(const GemmDesc& desc);
void gemm_reference(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
