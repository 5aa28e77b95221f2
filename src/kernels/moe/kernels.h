// The implementations of moe that list.cc ranks.
#pragma once

#include "kernels/moe/desc.h"

namespace headroom::kernels {

void moe_avx512(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool);
void moe_avx2(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool);
/// Stops the program at an id that names no expert.
void moe_check_ids(const MoeDesc& desc, const MoeArgs& args);

void moe_reference(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
