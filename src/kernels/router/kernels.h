// The implementations of router that list.cc ranks.
#pragma once

#include "kernels/router/desc.h"

namespace headroom::kernels {

/// Stops the program at a descriptor that asks for more experts or groups than there are.
void router_check(const RouterDesc& desc);

void router_avx512(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool);
void router_avx2(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool);
void router_reference(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
