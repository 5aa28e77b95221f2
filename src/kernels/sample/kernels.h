// The implementations of sample that list.cc ranks.
#pragma once

#include "kernels/sample/desc.h"

namespace headroom::kernels {

std::optional<Reason> sample_reference_refuses(const SampleDesc& desc);
void sample_reference(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
