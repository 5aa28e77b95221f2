// The implementations of router that list.cc ranks.
#pragma once

#include "kernels/router/desc.h"

namespace headroom::kernels {

std::optional<Reason> router_reference_refuses(const RouterDesc& desc);
void router_reference(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool);

}  // namespace headroom::kernels
