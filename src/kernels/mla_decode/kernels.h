// The implementations of mla_decode that list.cc ranks.
#pragma once

#include "kernels/mla_decode/desc.h"

namespace headroom::kernels {

std::optional<Reason> mla_decode_reference_refuses(const MlaDecodeDesc& desc);
void mla_decode_reference(const MlaDecodeDesc& desc, const MlaDecodeArgs& args,
                          base::ThreadPool& pool);

}  // namespace headroom::kernels
