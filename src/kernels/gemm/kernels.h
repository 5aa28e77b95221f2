// The implementations of gemm that list.cc ranks.
#pragma once

#include "kernels/gemm/desc.h"

namespace headroom::kernels {

void gemm_avx512(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool);
void gemm_avx2(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool);
void gemm_reference(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
