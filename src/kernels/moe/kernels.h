// The implementations of moe that list.cc ranks.
#pragma once

#include "kernels/moe/desc.h"

namespace headroom::kernels {

std::optional<Reason> moe_reference_refuses(const MoeDesc& desc);
void moe_reference(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
