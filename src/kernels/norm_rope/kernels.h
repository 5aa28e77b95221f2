// The implementations of rms_norm, rope_query and kv_write that list.cc ranks.
#pragma once

#include "kernels/norm_rope/desc.h"

namespace headroom::kernels {

void rms_norm_avx512(const RmsNormDesc& desc, const RmsNormArgs& args, base::ThreadPool& pool);
void rope_query_avx512(const RopeQueryDesc& desc, const RopeQueryArgs& args,
                       base::ThreadPool& pool);
void kv_write_avx512(const KvWriteDesc& desc, const KvWriteArgs& args, base::ThreadPool& pool);

void rms_norm_avx2(const RmsNormDesc& desc, const RmsNormArgs& args, base::ThreadPool& pool);
void rope_query_avx2(const RopeQueryDesc& desc, const RopeQueryArgs& args, base::ThreadPool& pool);
void kv_write_avx2(const KvWriteDesc& desc, const KvWriteArgs& args, base::ThreadPool& pool);

void rms_norm_reference(const RmsNormDesc& desc, const RmsNormArgs& args, base::ThreadPool& pool);
void rope_query_reference(const RopeQueryDesc& desc, const RopeQueryArgs& args,
                          base::ThreadPool& pool);
void kv_write_reference(const KvWriteDesc& desc, const KvWriteArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
