// The implementations of rms_norm, rope_query and kv_write that list.cc ranks.
#pragma once

#include "kernels/norm_rope/desc.h"

namespace headroom::kernels {

std::optional<Reason> rms_norm_reference_refuses(const RmsNormDesc& desc);
void rms_norm_reference(const RmsNormDesc& desc, const RmsNormArgs& args, base::ThreadPool& pool);

std::optional<Reason> rope_query_reference_refuses(const RopeQueryDesc& desc);
void rope_query_reference(const RopeQueryDesc& desc, const RopeQueryArgs& args,
                          base::ThreadPool& pool);

std::optional<Reason> kv_write_reference_refuses(const KvWriteDesc& desc);
void kv_write_reference(const KvWriteDesc& desc, const KvWriteArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
