// The implementations of mla_decode that list.cc ranks.
#pragma once

#include "kernels/mla_decode/desc.h"

namespace headroom::kernels {

void mla_decode_avx512(const MlaDecodeDesc& desc, const MlaDecodeArgs& args,
                       base::ThreadPool& pool);
void mla_decode_avx2(const MlaDecodeDesc& desc, const MlaDecodeArgs& args, base::ThreadPool& pool);
void mla_decode_reference(const MlaDecodeDesc& desc, const MlaDecodeArgs& args,
                          base::ThreadPool& pool);

}  // namespace headroom::kernels
