// The implementations of mla_prefill that list.cc ranks.
#pragma once

#include "kernels/mla_prefill/desc.h"

namespace headroom::kernels {

std::optional<Reason> mla_prefill_reference_refuses(const MlaPrefillDesc& desc);
void mla_prefill_reference(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                           base::ThreadPool& pool);

}  // namespace headroom::kernels
