// The implementations of mla_prefill that list.cc ranks.
#pragma once

#include "kernels/mla_prefill/desc.h"

namespace headroom::kernels {

void mla_prefill_avx512(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                        base::ThreadPool& pool);
void mla_prefill_avx2(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                      base::ThreadPool& pool);
void mla_prefill_reference(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                           base::ThreadPool& pool);

}  // namespace headroom::kernels
